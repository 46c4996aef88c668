#include "hippo/model/repeats.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "hippo/model/workload_seed.hpp"

namespace hippo {

namespace {

/// The name of the seed in a configuration. Names of hyper-parameters begin
/// with no white space (`refused_name`), so none is like it.
constexpr auto seed_name = " seed";

double finite_or_nan(double x) {
  return std::isfinite(x) ? x : std::numeric_limits<double>::quiet_NaN();
}

double mean_of(const std::vector<double>& xs) {
  return std::accumulate(xs.begin(), xs.end(), 0.0)
         / static_cast<double>(xs.size());
}

double median_of(std::vector<double> xs) {
  std::sort(xs.begin(), xs.end());
  const auto half = xs.size() / 2;
  return xs.size() % 2 == 1 ? xs[half]
                            : xs[half - 1] + (xs[half] - xs[half - 1]) / 2;
}

double deviation_of(const std::vector<double>& xs) {
  const auto mean = mean_of(xs);
  double squares = 0;
  for (const auto x : xs)
    squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(xs.size() - 1));
}

/// Whether less of a metric is better; nothing: the study wants neither.
std::optional<bool> wants_less(const goals& wanted, const std::string& metric) {
  for (const auto& x : wanted.metrics)
    if (x.metric == metric)
      return x.direction == direction::minimize;
  for (const auto& x : wanted.constraints)
    if (x.metric == metric)
      return x.is_at_most;
  return std::nullopt;
}

double sum_up(const std::vector<double>& xs, repeat_summary how,
              std::optional<bool> less) {
  if (how == repeat_summary::median)
    return median_of(xs);
  if (how == repeat_summary::worst && less)
    return *less ? *std::max_element(xs.begin(), xs.end())
                 : *std::min_element(xs.begin(), xs.end());
  return mean_of(xs);
}

} // namespace

std::vector<segment> with_seed(std::vector<segment> segments,
                               const repeat_plan& plan, std::uint32_t index) {
  assert(index < plan.spec.seeds);
  if (index > 0)
    for (auto& x : segments)
      x.config.insert_or_assign(seed_name, form::constant(static_cast<double>(
                                             plan.first_seed + index)));
  return segments;
}

void take_seed(lease& work) {
  for (auto& x : work.stages)
    if (auto seed = x.config.extract(seed_name))
      work.workload.options[seed_option] = seed.mapped().a[0];
}

std::string to_text(const seed_failure& failure) {
  return failure.seed + ": " + failure.message;
}

seed_failure seed_failure_from(const std::string& message) {
  const auto begin = std::string{"seed "}.size();
  const auto end = message.find_first_not_of("0123456789", begin);
  if (!message.starts_with("seed ") || end == begin || end == message.npos
      || message.compare(end, 2, ": ") != 0)
    return {{}, message};
  return {message.substr(0, end), message.substr(end + 2)};
}

std::string spread_of(const std::string& metric) {
  return metric + ".std";
}

metrics summarize(const repeat_plan& plan,
                  const std::vector<metrics>& by_seed) {
  assert(by_seed.size() == plan.spec.seeds && !plan.is_one());
  metrics result;
  metrics further;
  std::vector<double> values(by_seed.size());
  for (const auto& first : by_seed.front()) {
    const auto& name = first.first;
    const bool is_everywhere =
      std::all_of(by_seed.begin(), by_seed.end(),
                  [&](const metrics& x) { return x.count(name) > 0; });
    if (!is_everywhere)
      continue;
    bool is_finite = true;
    for (std::size_t i = 0; i < by_seed.size(); ++i) {
      values[i] = finite_or_nan(by_seed[i].at(name));
      is_finite &= std::isfinite(values[i]);
    }
    const auto of_finite = [&](auto&& f) {
      return is_finite ? finite_or_nan(f())
                       : std::numeric_limits<double>::quiet_NaN();
    };
    const auto less = wants_less(plan.wanted, name);
    result[name] =
      of_finite([&] { return sum_up(values, plan.spec.summary, less); });
    if (!less)
      continue;
    further[spread_of(name)] = of_finite([&] { return deviation_of(values); });
    for (std::size_t i = 0; i < values.size(); ++i)
      further[name + ".seed" + std::to_string(plan.first_seed + i)] = values[i];
  }
  result.merge(further); // a metric of the workload keeps its name
  return result;
}

} // namespace hippo
