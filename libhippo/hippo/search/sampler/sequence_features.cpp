#include "hippo/search/sampler/sequence_features.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

#include "hippo/base/portable_math.hpp"

namespace hippo {

namespace {

constexpr std::uint64_t sampled_combinations = 256;
constexpr step_t points_max = 16;

constexpr double decade = 10;

struct number_moments {
  double mean = 0;
  double variance = 0;
  double lopsidedness = 0; ///< the skewness, without its sign
};

number_moments moments_of(const std::vector<double>& xs) {
  const auto count = static_cast<double>(xs.size());
  number_moments result;
  for (auto x : xs)
    result.mean += x / count;
  double cubes = 0;
  for (auto x : xs) {
    const auto off = x - result.mean;
    result.variance += off * off / count;
    cubes += off * off * off / count;
  }
  if (result.variance > 0)
    result.lopsidedness =
      std::abs(cubes) / (result.variance * std::sqrt(result.variance));
  return result;
}

std::vector<step_t> even_steps(step_t max) {
  const auto count = std::min(points_max, max);
  std::vector<step_t> result;
  for (step_t i = 0; i < count; ++i)
    result.push_back(i * max / count);
  return result;
}

/// Returns the number that rules a step; nothing if it is a word.
std::optional<double> number_at(const sequence& x, step_t at) {
  const auto& shape = x.form_at(at);
  if (shape.kind == form_kind::text)
    return std::nullopt;
  return shape.exact_at(at);
}

} // namespace

sequence_features::sequence_features(const search_space& space,
                                     std::map<std::string, sequence> defaults,
                                     step_t max_steps, std::uint64_t seed)
  : defaults_(std::move(defaults)), max_steps_(max_steps) {
  std::vector<trial_parameters> combinations;
  for (std::uint64_t i = 0; i < sampled_combinations; ++i)
    combinations.push_back(space.sample(seed, i));
  for (const auto& name : space.varied()) {
    parameter x;
    x.name = name;
    const bool changes
      = std::any_of(combinations.begin(), combinations.end(),
                    [&](const trial_parameters& each) {
                      const auto* found = find(each.sequences, name);
                      return found != nullptr
                             && (found->pieces().size() > 1
                                 || !found->form_at(0).is_plateau());
                    });
    x.grid = changes ? even_steps(max_steps) : std::vector<step_t>{0};
    measure(x, combinations);
    add(std::move(x));
  }
  ++groups_; // of the step
}

const sequence*
sequence_features::find(const std::map<std::string, sequence>& values,
                        const std::string& name) const {
  for (const auto* from : {&values, &defaults_})
    if (const auto found = from->find(name); found != from->end())
      return &found->second;
  return nullptr;
}

/// Looks at how a hyper-parameter varies over the space.
void sequence_features::measure(
  parameter& dimension,
  const std::vector<trial_parameters>& combinations) const {
  std::vector<double> numbers;
  for (const auto& each : combinations)
    if (const auto* found = find(each.sequences, dimension.name))
      for (auto at : dimension.grid) {
        if (const auto number = number_at(*found, at))
          numbers.push_back(*number);
        else
          dimension.words.insert(found->form_at(at).word);
      }
  if (numbers.empty())
    return;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  dimension.low = *low;
  auto found = moments_of(numbers);
  // Numbers that span a decade are seen by their logarithms if these are spread
  // more evenly, as those of a logarithmic range are, and not those of
  // `uniform: [0, 1]`.
  if (*low > 0 && *high / *low >= decade) {
    for (auto& number : numbers)
      number = portable_log(number);
    const auto of_logarithms = moments_of(numbers);
    dimension.is_logarithmic = of_logarithms.lopsidedness < found.lopsidedness;
    if (dimension.is_logarithmic)
      found = of_logarithms;
  }
  dimension.mean = found.mean;
  // What is left of equal numbers is rounding.
  if (found.variance > 1e-24 * dimension.mean * dimension.mean)
    dimension.deviation = std::sqrt(found.variance);
}

void sequence_features::add(parameter dimension) {
  const auto columns =
    (dimension.deviation > 0 ? 1 : 0) + dimension.words.size();
  if (columns == 0)
    return;
  const auto half = max_steps_ - max_steps_ / 2;
  std::size_t late = 0;
  for (auto at : dimension.grid)
    late += at >= half;
  for (auto at : dimension.grid) {
    const auto count = at >= half ? late : dimension.grid.size() - late;
    for (std::size_t i = 0; i < columns; ++i) {
      steps_.push_back(at);
      group_.push_back(groups_ + (at >= half ? 1 : 0));
      scale_.push_back(1 / std::sqrt(static_cast<double>(count)));
    }
  }
  groups_ += late > 0 ? 2 : 1;
  parameters_.push_back(std::move(dimension));
}

std::vector<std::uint32_t> sequence_features::group_of() const {
  auto result = group_;
  result.push_back(groups_ - 1);
  return result;
}

std::vector<double> sequence_features::of(
  const std::map<std::string, sequence>& values) const {
  std::vector<double> result;
  result.reserve(size());
  for (const auto& x : parameters_) {
    const auto* found = find(values, x.name);
    for (auto at : x.grid) {
      const auto number
        = found != nullptr ? number_at(*found, at) : std::nullopt;
      if (x.deviation > 0) {
        auto seen = number.value_or(x.mean);
        if (number && x.is_logarithmic)
          seen = portable_log(std::max(*number, x.low));
        result.push_back((seen - x.mean) / x.deviation);
      }
      for (const auto& word : x.words)
        result.push_back(found != nullptr && !number
                           && found->form_at(at).word == word);
    }
  }
  assert(result.size() == scale_.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] *= scale_[i];
  result.push_back(0);
  return result;
}

std::vector<double> sequence_features::cut(std::vector<double> whole,
                                           step_t at) const {
  assert(whole.size() == size() && 0 < at);
  for (std::size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i] >= at)
      whole[i] = 0;
  whole.back() =
    portable_log(static_cast<double>(at) / static_cast<double>(max_steps_));
  return whole;
}

} // namespace hippo
