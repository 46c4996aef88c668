#include "hippo/search/trial_states.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace hippo {

namespace {

/// @param at index of the rung by whose states the trials are told apart
/// REQUIRES: `equals` is in the order of numbers
std::vector<trial_no> spread_from(std::vector<trial_no> equals,
                                  const std::vector<step_t>& rungs,
                                  std::size_t at, const trial_states& states) {
  if (equals.size() < 2 || at == rungs.size())
    return equals;
  std::vector<std::vector<trial_no>> groups; // by their lowest number
  std::map<std::uint64_t, std::size_t> group_of;
  for (auto trial : equals) {
    const auto [i, is_new]
      = group_of.emplace(states.of(trial, rungs[at]), groups.size());
    if (is_new)
      groups.emplace_back();
    groups[i->second].push_back(trial);
  }
  std::size_t longest = 0;
  for (auto& x : groups) {
    x = spread_from(std::move(x), rungs, at + 1, states);
    longest = std::max(longest, x.size());
  }
  std::vector<trial_no> result;
  for (std::size_t i = 0; i < longest; ++i)
    for (const auto& x : groups)
      if (i < x.size())
        result.push_back(x[i]);
  return result;
}

} // namespace

std::vector<trial_no> spread(std::vector<trial_no> equals,
                             const std::vector<step_t>& rungs,
                             const trial_states* states) {
  std::sort(equals.begin(), equals.end());
  return states == nullptr
           ? equals
           : spread_from(std::move(equals), rungs, 0, *states);
}

} // namespace hippo
