#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "hippo/core/error.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

// What a page shows of a study, by columns: `x[i]` of all lists of an answer
// belong together. Compact JSON, docs/http.md. Each reads the store once:
// O(trials + results of the study), the tree also O(stages of the workload).

/// The trials of a study and their hyper-parameters.
expected<std::string> table_columns(state_reader& store, std::uint64_t study);

/// What was measured of the objective, by trial and step, in the order in which
/// it came; of more than `exported_results_max` the first ones.
expected<std::string> curve_columns(state_reader& store,
                                    const stored_study& study);

/// The part of the stage tree that a study's trials pass, of nodes by number,
/// parents first; of more than `shown_stages_max` the first ones. Where each
/// trial is: the node and the step of its last result.
/// @param varied the hyper-parameters that labels tell of
expected<std::string> tree_columns(state_reader& store, std::uint64_t study,
                                   const std::string& workload_key,
                                   const std::set<std::string>& varied);

/// What the best tenth of the trials that were measured at a step have in
/// common: hippo/importance. Of more than `exported_results_max` trials the
/// first ones.
/// @param step 0: the last one at which nine tenths of the trials were measured
/// @returns `errc::invalid_argument` if fewer than `importance_trials_min` were
expected<std::string> importance_text(state_reader& store,
                                      const stored_study& study, step_t step);

} // namespace hippo
