#pragma once

#include <set>
#include <string>

#include "hippo/model/front_text.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/view/views.hpp"
#include "hippo/space/study.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

// Views of what is stored.

/// A study as its row alone shows it.
study_view view_of(const stored_study& row);

trial_view view_of(const stored_trial& row);
event_view view_of(const stored_event& event);
front_view view_of(told_front told);

/// Returns the hyper-parameters that trials of a study differ in, in whatever
/// space it has had.
/// @complexity O(events of the study)
expected<std::set<std::string>> varied_by(state_reader& store, study_id study,
                                          const study_spec& spec);

} // namespace hippo
