#include "hippo/sequence/family/one_cycle.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "hippo/base/number.hpp"
#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

namespace {

/// PyTorch's OneCycleLR has these defaults too.
constexpr double default_start = 25;
constexpr double default_fall = 10'000;
constexpr double default_rise = 0.3;

} // namespace

std::vector<piece> one_cycle(const argument& in) {
  const auto max = in["max"].number();
  const auto horizon = in["horizon"].steps(3);
  const bool three = in["three_phase"].truth_or(false);
  const auto usual = static_cast<step_t>(
    std::llround(default_rise * static_cast<double>(horizon)));
  auto rise = in["rise"].steps_or(std::max<step_t>(usual, 1), 1);
  const auto phases = three ? 2 * rise : rise;
  if (phases >= horizon) {
    in["rise"].error(
      std::string{"must be below "} + (three ? "half of " : "")
      + "the horizon, " + std::to_string(horizon) + ", found "
      + std::to_string(rise));
    rise = 1;
  }
  const auto initial
    = in["initial"].given() || in.starts_from_something()
        ? in["initial"].initial()
        : canonical(max / default_start);
  const auto end = in["end"].number_or(canonical(initial / default_fall));
  const bool line = in["anneal"].word_or("cosine", {"cosine", "linear"})
                    == "linear";
  const auto go = [line](double from, double to, step_t steps) {
    return line ? ramp(from, to, steps) : half_cosine(from, to, steps);
  };
  auto result = go(initial, max, rise);
  if (three)
    append(result, go(max, initial, rise), rise);
  const auto begin = three ? 2 * rise : rise;
  append(result, go(three ? initial : max, end, horizon - begin), begin);
  result.push_back({horizon, form::constant(end)});
  return result;
}

} // namespace hippo::family
