#pragma once

#include <cstddef>
#include <optional>
#include <set>

#include "hippo/merge/status.hpp"
#include "hippo/report/run_figures.hpp"
#include "hippo/study/answers.hpp"

namespace hippo {

/// What a study has yet to do, and with whom.
struct outlook {
  work_left left;
  std::set<trainer_id> trainers; ///< that train for it

  /// Estimates how long it takes yet with `n` trainers: `seconds_left`.
  /// @returns seconds; nothing if there is nothing that says it
  [[nodiscard]] std::optional<double> seconds(std::size_t n) const {
    return seconds_left({left}, n);
  }
};

/// Works out what is before a study, from what it has asked for and is expected
/// to ask for, and the speed that was measured.
/// @param plan of its workload
outlook outlook_of(const study_status& study, const merger_status& plan);

} // namespace hippo
