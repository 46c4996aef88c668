#include "hippo/train/torch/linear/table_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/train/torch/epoch.hpp"

namespace hippo {

namespace {

constexpr std::size_t classes_max = 1000;

/// Targets of all rows together: a training row has a number for each class in
/// memory and in every checkpoint.
constexpr std::size_t targets_max = 100'000'000;

using row_numbers = std::vector<std::uint32_t>;

/// Returns the training and the validation rows.
std::pair<row_numbers, row_numbers>
split_rows(std::size_t rows, double training, double validation) {
  const auto order = random_order(rows, {0, purpose::order, {}});
  const auto count_of = [rows](double share) {
    return static_cast<std::ptrdiff_t>(
      std::floor(share * static_cast<double>(rows)));
  };
  const auto first = count_of(training), last = count_of(validation);
  const auto shares = "data.train " + to_text(training)
                      + " and data.validation " + to_text(validation);
  if (first + last > static_cast<std::ptrdiff_t>(rows))
    throw std::invalid_argument(shares
                                + " overlap: together they may be at most 1");
  if (first == 0 || last == 0)
    throw std::invalid_argument(shares + " of " + std::to_string(rows)
                                + " rows: each part needs one row");
  return {{order.begin(), order.begin() + first},
          {order.end() - last, order.end()}};
}

/// Returns the targets of all rows, and how many outputs they are for.
std::pair<std::vector<float>, std::size_t> targets_of(const csv_table& table,
                                                      linear_loss loss) {
  std::vector<float> numbers;
  if (loss == linear_loss::least_squares) {
    for (std::size_t row = 0; row < table.rows(); ++row)
      numbers.push_back(target_number(table, row));
    return {std::move(numbers), 1};
  }
  const std::set<std::string> names{table.targets.begin(), table.targets.end()};
  if (names.size() < 2 || names.size() > classes_max)
    throw std::invalid_argument(
      "data.target: column '" + table.target_name + "' of " + table.path
      + " has " + std::to_string(names.size())
      + " distinct values: loss: logistic takes from 2 to "
      + std::to_string(classes_max)
      + " as classes, loss: least_squares takes numbers");
  if (names.size() > targets_max / table.rows())
    throw std::invalid_argument(
      "data.target: column '" + table.target_name + "' of " + table.path
      + " has " + std::to_string(names.size()) + " classes in "
      + std::to_string(table.rows()) + " rows, more than "
      + std::to_string(targets_max) + " together");
  std::vector<std::int64_t> classes;
  for (const auto& target : table.targets)
    classes.push_back(std::distance(names.begin(), names.find(target)));
  return {class_targets(classes, names.size()), names.size()};
}

/// Sets the means and deviations of the features in some rows.
void measure_features(const csv_table& table, const row_numbers& rows,
                      table_examples& to) {
  const auto width = table.names.size();
  const auto count = static_cast<double>(rows.size());
  to.means.assign(width, 0);
  to.deviations.assign(width, 0);
  for (const auto row : rows)
    for (std::size_t i = 0; i < width; ++i)
      to.means[i] += table.features[row * width + i];
  for (auto& mean : to.means) // exact for a constant feature
    mean /= count;
  for (const auto row : rows)
    for (std::size_t i = 0; i < width; ++i) {
      const auto distance = table.features[row * width + i] - to.means[i];
      to.deviations[i] += distance * distance / count;
    }
  for (auto& deviation : to.deviations)
    deviation = std::sqrt(deviation);
}

/// Returns a feature without its unit. A constant one has no deviation.
float scaled(float value, double mean, double deviation) {
  return deviation > 0 ? static_cast<float>((value - mean) / deviation) : 0;
}

} // namespace

std::vector<double>
table_examples::unscaled(std::vector<double> weights) const {
  const auto outputs = static_cast<std::size_t>(training.outputs);
  const auto bias = means.size() * outputs;
  for (std::size_t i = 0; i < bias; ++i) {
    const auto feature = i / outputs;
    weights[i] = deviations[feature] > 0 ? weights[i] / deviations[feature] : 0;
    weights[bias + i % outputs] -= weights[i] * means[feature];
  }
  return weights;
}

table_examples examples_of(const csv_table& table, linear_loss loss,
                           double training_share, double validation_share) {
  auto [training, validation] =
    split_rows(table.rows(), training_share, validation_share);
  auto [targets, outputs] = targets_of(table, loss);
  table_examples result;
  measure_features(table, training, result);
  const auto width = table.names.size();
  auto values = std::make_shared<std::vector<float>>(table.features);
  for (std::size_t i = 0; i < values->size(); ++i)
    (*values)[i] = scaled((*values)[i], result.means[i % width],
                          result.deviations[i % width]);
  linear_examples all;
  all.count = static_cast<std::int64_t>(table.rows());
  all.features = static_cast<std::int64_t>(width);
  all.outputs = static_cast<std::int64_t>(outputs);
  all.targets = std::move(targets);
  all.features_of = [values, width](std::int64_t example, float* to) {
    const auto* from =
      values->data() + static_cast<std::size_t>(example) * width;
    std::copy(from, from + width, to);
  };
  result.training = part_of(all, std::move(training));
  result.validation = part_of(all, std::move(validation));
  return result;
}

} // namespace hippo
