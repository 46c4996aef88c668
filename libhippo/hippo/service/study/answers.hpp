#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/view/views.hpp"
#include "hippo/search/algorithm/algorithm.hpp"

namespace hippo {

/// Where a study stands, cheap enough to ask for often.
struct study_status {
  /// The study as clients see it, as far as it is known to the study itself:
  /// what is stored of it, and what its plan shows, is left out.
  study_view view;
  study_phase state = study_phase::running; ///< as in `view`
  /// The part of what it did in earlier runs that it has done again, 0 to 1.
  /// Below 1 little else is known of it.
  double caught_up = 1;
  std::uint64_t memory_bytes = 0; ///< that its books take, about
  /// Of the time during which it was running, what its budget allows.
  std::optional<double> seconds_max;
  std::uint64_t waiting_steps = 0; ///< asked for by its trials, and not there
  expected_work to_come; ///< beyond what its trials have been asked for

  [[nodiscard]] study_id id() const noexcept { return study_id{view.id}; }
};

/// The result of a command.
struct command_answer {
  trial_no trial = 0;            ///< that was asked for
  nlohmann::ordered_json params; ///< its values
  std::uint64_t retried = 0;     ///< trials that are tried again
  std::uint64_t trials = 0;      ///< of the study, once it is extended
  space_change_view space{};     ///< of `set_space`
  bool has_ended = false;        ///< whether the study has ended all the same
};

/// A study has come to its end, and that is stored.
struct study_end {
  study_id id{};
  std::string name;
  study_phase state = study_phase::complete;
};

} // namespace hippo
