#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "hippo/merge/status.hpp"
#include "hippo/report/record.hpp"
#include "hippo/report/run_figures.hpp"
#include "hippo/study/answers.hpp"

namespace hippo {

/// What a study has yet to do, and with whom.
struct outlook {
  work_left left;
  std::set<trainer_id> trainers; ///< that train for it
  std::size_t idle = 0;          ///< others that train nothing

  /// How many trainers it may count on: those that it has, and those that are
  /// idle. Who has none may have had no turn yet: idle ones say nothing then.
  [[nodiscard]] std::size_t at_hand() const {
    return trainers.empty() ? 0 : trainers.size() + idle;
  }

  /// Estimates how long it takes yet with `n` trainers: `seconds_left`.
  /// @returns seconds; nothing if there is nothing that says it
  [[nodiscard]] std::optional<double> seconds(std::size_t n) const {
    return seconds_left({left}, n);
  }
};

/// Works out what is before a study, from what it has asked for and is expected
/// to ask for, and the speed that was measured.
/// @param plan of its workload
/// @param idle how many trainers train nothing
outlook outlook_of(const study_status& study, const merger_status& plan,
                   std::size_t idle);

/// Counts the trainers that are there and train nothing.
std::size_t idle_trainers(const std::vector<trainer_record>& all,
                          const std::vector<merger_status>& plans);

} // namespace hippo
