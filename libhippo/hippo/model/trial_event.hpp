#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/types.hpp"
#include "hippo/model/run_record.hpp"

namespace hippo {

/// The best value so far, and the trial that has it.
struct best_so_far {
  std::uint64_t trial = 0;
  double value = 0;
};

/// Something that happened to a trial.
struct trial_event {
  std::string study; ///< empty if there is only one study
  std::uint64_t trial = 0;
  trial_state state = trial_state::complete;
  step_t step = 0;             ///< how far it was trained
  std::optional<double> value; ///< its best, or for a pruned one its last
  nlohmann::ordered_json params;
  std::string failure;
  std::string violated; ///< constraints that its value breaks: `ms <= 5, ...`
  std::optional<best_so_far> best; ///< of the study, this trial included
  /// If the study has several metrics, instead of `value` and `best`:
  std::vector<double> values{};
  std::optional<front_so_far> front{};
};

} // namespace hippo
