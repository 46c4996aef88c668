#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/service/study/trials.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The end of a study by its own results: `stop_when`.
class gain_watch {
public:
  /// @param spec outlives it
  /// @param last_rung how far a whole trial goes
  gain_watch(const study_spec& spec, step_t last_rung)
    : spec_(spec), last_rung_(last_rung) {}

  /// Trials have got further.
  void add_steps(step_t steps) { steps_without_gain_ += steps; }
  /// Whole trials go farther.
  void lengthen(step_t last_rung) { last_rung_ = last_rung; }
  /// The best measurement, or the front, has got better.
  void note_gain() { steps_without_gain_ = 0; }

  /// Says why the study is to end, if it is.
  [[nodiscard]] std::optional<std::string>
  reason_to_stop(const study_trials& trials) const;

private:
  [[nodiscard]] bool is_without_gain() const;

  const study_spec& spec_;
  step_t last_rung_;
  std::uint64_t steps_without_gain_ = 0;
};

/// Looks out for a study whose first trials all fail with one error: what is
/// wrong with its code is wrong with all of them.
class failure_watch {
public:
  /// @param watches whether that is to be told
  explicit failure_watch(bool watches) : only_failed_(watches) {}

  /// More is known of the trials, or somebody looks after them: nothing is told
  /// from now on.
  void end() { only_failed_ = false; }
  /// A trial has failed.
  /// @returns once, what the first trials have failed with
  std::optional<std::string> note(const error& why);

private:
  /// Whether nothing is known of its trials but that the first ones failed, as
  /// `first_failure_` says.
  bool only_failed_;
  std::string first_failure_;
  std::uint64_t failed_alike_ = 0;
};

} // namespace hippo
