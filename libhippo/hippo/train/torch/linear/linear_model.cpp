#include "hippo/train/torch/linear/linear_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "hippo/base/portable_math.hpp"

namespace hippo {

std::vector<float> class_targets(const std::vector<std::int64_t>& classes,
                                 std::size_t count) {
  std::vector<float> result(classes.size() * count);
  for (std::size_t i = 0; i < classes.size(); ++i)
    result[i * count + static_cast<std::size_t>(classes[i])] = 1;
  return result;
}

linear_examples part_of(const linear_examples& all,
                        std::vector<std::uint32_t> numbers) {
  linear_examples result;
  result.count = static_cast<std::int64_t>(numbers.size());
  result.features = all.features;
  result.outputs = all.outputs;
  for (const auto number : numbers) {
    const auto first = all.targets.begin() + number * all.outputs;
    result.targets.insert(result.targets.end(), first, first + all.outputs);
  }
  result.features_of = [from = all.features_of, numbers = std::move(numbers)](
                         std::int64_t example, float* to) {
    from(numbers[static_cast<std::size_t>(example)], to);
  };
  return result;
}

std::int64_t drawn_example(const linear_examples& examples,
                           std::int64_t machine, std::int64_t machines,
                           random_numbers numbers) {
  const auto begin = examples.count * machine / machines,
             end = examples.count * (machine + 1) / machines;
  return begin
         + static_cast<std::int64_t>(
           numbers.below(static_cast<std::uint64_t>(end - begin)));
}

void put_outputs(const std::vector<double>& weights, const float* features,
                 std::int64_t feature_count, double* to, std::int64_t outputs) {
  const auto* weight = weights.data();
  std::fill(to, to + outputs, 0);
  for (std::int64_t f = 0; f <= feature_count; ++f) {
    const double feature = f < feature_count ? features[f] : 1;
    for (std::int64_t k = 0; k < outputs; ++k)
      to[k] += *weight++ * feature;
  }
}

double take_derivatives(linear_loss loss, const float* targets, double* outputs,
                        std::int64_t count) {
  double result = 0;
  if (loss == linear_loss::least_squares) {
    for (std::int64_t k = 0; k < count; ++k) {
      outputs[k] -= targets[k];
      result += outputs[k] * outputs[k] / 2;
    }
    return result;
  }
  const auto most = *std::max_element(outputs, outputs + count);
  if (!std::all_of(outputs, outputs + count,
                   [](double x) { return std::isfinite(x); })) { // diverged
    std::fill(outputs, outputs + count, NAN);
    return NAN;
  }
  double sum = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    result -= targets[k] * (outputs[k] - most);
    outputs[k] = portable_exp(outputs[k] - most);
    sum += outputs[k];
  }
  for (std::int64_t k = 0; k < count; ++k)
    outputs[k] = outputs[k] / sum - targets[k];
  return result + portable_log(sum);
}

std::vector<double>& linear_gradient::at(const linear_examples& examples,
                                         linear_loss loss,
                                         const std::vector<double>& weights,
                                         std::int64_t example) {
  features_.resize(static_cast<std::size_t>(examples.features));
  derivatives_.resize(static_cast<std::size_t>(examples.outputs));
  examples.features_of(example, features_.data());
  put_outputs(weights, features_.data(), examples.features, derivatives_.data(),
              examples.outputs);
  take_derivatives(loss, examples.targets.data() + example * examples.outputs,
                   derivatives_.data(), examples.outputs);
  return derivatives_;
}

void linear_gradient::add_to(std::vector<double>& change) const {
  auto* to = change.data();
  for (std::size_t f = 0; f <= features_.size(); ++f) {
    const double feature = f < features_.size() ? features_[f] : 1;
    for (const auto derivative : derivatives_)
      *to++ += derivative * feature;
  }
}

linear_quality measured(const linear_examples& examples, linear_loss loss,
                        const std::vector<double>& weights) {
  std::vector<float> features(static_cast<std::size_t>(examples.features));
  std::vector<double> outputs(static_cast<std::size_t>(examples.outputs));
  linear_quality result;
  for (std::int64_t i = 0; i < examples.count; ++i) {
    const auto* targets = examples.targets.data() + i * examples.outputs;
    examples.features_of(i, features.data());
    put_outputs(weights, features.data(), examples.features, outputs.data(),
                examples.outputs);
    const auto best = std::ranges::max_element(outputs) - outputs.begin();
    result.right += targets[best];
    result.loss +=
      take_derivatives(loss, targets, outputs.data(), examples.outputs);
  }
  const auto count = static_cast<double>(examples.count);
  return {result.loss / count, result.right / count};
}

} // namespace hippo
