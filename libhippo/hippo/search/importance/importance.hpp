#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/types.hpp"

namespace hippo {

/// The best tenth of fewer trials is one at most, and says nothing.
inline constexpr std::size_t importance_trials_min = 10;

/// The share of the trials that are the best ones.
inline constexpr double importance_quantile = 0.1;

/// How much a hyper-parameter has to do with a trial being one of the best.
struct parameter_importance {
  std::string name;
  double importance = 0; ///< as of `ped_anova`
  double share = 0;      ///< of the sum of all; 0 if that is 0
  std::size_t trials = 0; ///< that have it
};

/// The common values of the best trials.
struct study_importance {
  std::size_t trials = 0; ///< that were compared
  std::size_t best = 0;   ///< of these
  std::vector<parameter_importance> parameters; ///< the greatest first
  std::vector<std::string> constant; ///< hyper-parameters that do not vary
  std::vector<std::string> left_out; ///< with too many words to say anything
};

/// A trial that was measured where trials are compared.
struct compared_trial {
  nlohmann::ordered_json params; ///< an object, by name
  double value = 0;              ///< finite
};

/// Says what the best tenth of trials have in common.
/// REQUIRES: at least `importance_trials_min` trials
study_importance importance_of(const std::vector<compared_trial>& trials,
                               direction better);

/// Returns where trials are best compared: the last step at which nine tenths
/// as many were measured as at the one with the most; nothing if there is none.
std::optional<step_t>
step_to_compare(const std::map<step_t, std::size_t>& measured);

} // namespace hippo
