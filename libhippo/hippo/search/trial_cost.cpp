#include "hippo/search/trial_cost.hpp"

#include <algorithm>
#include <vector>

namespace hippo {

namespace {

/// As the plan of a service takes it, measured: a node, its place in the stage
/// tree, what waits for it, and for each hyper-parameter its form on the way
/// there.
constexpr std::uint64_t trial_bytes = 1024;
constexpr std::uint64_t piece_bytes = 2560;
constexpr std::uint64_t form_bytes = 96;

/// Trials that are looked at, and pieces of them: then it is known.
constexpr std::uint64_t looked_at_max = 64;
constexpr std::uint64_t pieces_looked_at_max = 20'000;

} // namespace

std::uint64_t trial_cost::bytes() const {
  return trial_bytes + pieces * (piece_bytes + hyper_parameters * form_bytes);
}

trial_cost cost_of_trial(const study_spec& spec, std::uint64_t further) {
  trial_cost result{1, further};
  if (spec.space.empty())
    return result;
  std::uint64_t seen = 0;
  for (std::uint64_t i = 0; i < looked_at_max && seen < pieces_looked_at_max;
       ++i) {
    const auto values = spec.space.sample(spec.seed, i);
    std::vector<step_t> begins;
    for (const auto& kvp : values.sequences)
      for (const auto& y : kvp.second.pieces())
        begins.push_back(y.begin);
    seen += begins.size();
    std::ranges::sort(begins);
    const auto same = std::ranges::unique(begins);
    begins.erase(same.begin(), same.end());
    result.pieces = std::max(result.pieces, begins.size());
    result.hyper_parameters
      = std::max(result.hyper_parameters, further + values.sequences.size());
  }
  return result;
}

std::uint64_t trials_ahead_of(const trial_cost& cost, std::uint64_t bytes) {
  return std::clamp<std::uint64_t>(bytes / cost.bytes(), 1, trials_ahead_max);
}

} // namespace hippo
