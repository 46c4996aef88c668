#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/search/importance/ped_anova.hpp"

namespace hippo {

/// The hyper-parameters of trials, taken apart: a schedule is the kind that it
/// is of (`lr`), and what that has (`lr.cosine.horizon`), which trials with
/// another kind do not have. A number is a `constant` where other trials have
/// schedules; lists of up to 8 items are taken apart by place.
struct trials_apart {
  /// By name, only those that vary.
  std::map<std::string, varied_parameter> varied;
  /// Names of those that are the same in all trials that have them.
  std::vector<std::string> constant;
  /// Names of those with too many different words or lists to say anything.
  std::vector<std::string> left_out;
};

/// Takes hyper-parameters of trials apart, each a JSON object by name.
///
/// Numbers are categories where there are few of them, else they have a range
/// from the least to the greatest: whole, or of logarithms where the middle one
/// is nearer to the middle of that.
/// @complexity O(values × log)
trials_apart
take_apart(const std::vector<nlohmann::ordered_json>& trials);

} // namespace hippo
