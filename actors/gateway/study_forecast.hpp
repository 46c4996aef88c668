#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/model/run_record.hpp"
#include "hippo/report/run_figures.hpp"
#include "hippo/service/merge/status.hpp"
#include "hippo/service/study/answers.hpp"

namespace hippo {

/// What a study has yet to do, and with whom.
struct study_forecast {
  work_left left;
  std::set<trainer_id> trainers; ///< that train for it
  /// All that can train: those that do, for whomever, and those that are idle.
  std::size_t all_trainers = 0;
  /// How many studies of its size and weight it would share them with, itself
  /// among them: others count as far as they have work while it has.
  double crowd = 1;

  /// How many trainers it may count on, along with the others. Who has none may
  /// have had no turn yet: nothing says then how long that takes.
  [[nodiscard]] std::size_t at_hand() const {
    return trainers.empty() ? 0 : all_trainers;
  }

  /// Estimates how long it takes yet if there are `count` trainers, of which it
  /// has its share: `seconds_left`.
  /// @returns seconds; nothing if there is nothing that says it
  [[nodiscard]] std::optional<double> seconds(std::size_t count) const {
    return seconds_left({left}, static_cast<double>(count) / crowd);
  }
};

/// Works out what is before each study that runs, from what they have asked for
/// and are expected to ask for, and the speeds that were measured. Trainers
/// divide their time among the studies by weight, and what one does not need
/// goes to the others (generalised processor sharing, Parekh and Gallager,
/// IEEE/ACM Transactions on Networking 1, 1993).
/// @param plans by workload key; of a study without one nothing is known
/// @complexity O(studies^2 + studies * leases)
std::map<study_id, study_forecast>
forecasts_of(const std::map<study_id, study_status>& studies,
             const std::map<std::string, const merger_status*>& plans,
             const std::vector<trainer_record>& trainers);

} // namespace hippo
