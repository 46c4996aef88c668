#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/search/algorithm/algorithm.hpp"

namespace hippo {

/// Where a study stands, cheap enough to ask for often.
struct study_status {
  study_id id{};
  std::string name;
  std::string workload_key;
  study_phase state = study_phase::running;
  std::string reason; ///< why it is in that state; empty: nothing is odd
  /// The part of what it did in earlier runs that it has done again, 0 to 1.
  /// Below 1 little else is known of it.
  double caught_up = 1;
  double weight = 1;
  std::string metric;
  std::uint64_t trials = 0;
  std::uint64_t finished = 0; ///< neither pending, running nor paused
  std::uint64_t asked_steps = 0;
  std::uint64_t memory_bytes = 0; ///< that its books take, about
  double active_seconds = 0; ///< for how long it has been worked on
  std::optional<double> seconds_max; ///< of these, what its budget allows
  std::optional<double> deadline_left; ///< seconds; below 0: it is over
  std::uint64_t waiting_steps = 0; ///< asked for by its trials, and not there
  expected_work to_come; ///< beyond what its trials have been asked for
  std::optional<best_record> best;
  std::optional<front_so_far> front; ///< set if it has several metrics
};

/// The result of a command.
struct command_answer {
  trial_no trial = 0;            ///< that was asked for
  nlohmann::ordered_json params; ///< its values
  std::uint64_t retried = 0;     ///< trials that are tried again
};

/// A trial is at rest where a client wanted it, or has ended before.
struct trained_answer {
  trial_state state = trial_state::paused;
  step_t step = 0; ///< where it was asked for, else of the last result
  metrics values;  ///< that was measured there
  std::string failure;
};

/// A study has come to its end, and that is stored.
struct study_end {
  study_id id{};
  std::string name;
  study_phase state = study_phase::complete;
};

} // namespace hippo
