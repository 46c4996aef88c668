#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/view/views.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/service/study/commands.hpp"
#include "hippo/service/study/study_books.hpp"

namespace hippo {

/// The effects of a new space on a study.
struct space_change {
  space_plan plan;
  /// Of the trials that lie in the new space, in order.
  std::vector<trial_history> histories;
  space_change_view view;
  /// Whether a study that has ended has trials to go on with.
  bool goes_on = false;
};

/// Plans the effects of a new space.
/// @param ended_fresh trials that had not begun when the study ended, if it has
/// @returns `errc::invalid_argument`: the algorithm cannot take the space
/// @complexity O(trials * leaves + results)
expected<space_change> plan_change(const study_books& books,
                                   const command::set_space& command,
                                   const std::set<trial_no>& ended_fresh);

} // namespace hippo
