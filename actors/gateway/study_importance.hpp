#pragma once

#include "hippo/base/error.hpp"
#include "hippo/model/view/views.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

/// What the best tenth of the trials that were measured at a step have in
/// common: docs/http.md#importance. Of more than
/// `values_per_read_max` trials the first ones.
/// @param step 0: the last one at which nine tenths of the trials were measured
/// @returns `errc::invalid_argument` if fewer than `importance_trials_min` were
/// @complexity reads all trials and results of the study
expected<importance_view> importance_view_of(state_reader& store,
                                             const stored_study& study,
                                             step_t step);

} // namespace hippo
