#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"

namespace hippo {

class state_reader;
struct stored_trial;

/// A part of what a workload has printed while a trial was trained.
struct trial_output {
  std::string text;
  step_t next = 0;    ///< the step from which to ask on
  bool ended = false; ///< whether the trial has
};

/// @returns the trial, or `errc::invalid_argument` if there is no such
expected<stored_trial> find_trial(state_reader& state, study_id study,
                                  trial_no trial);

/// Reads what `state_reader::load_output` gives, at most so many outputs.
/// @returns it put together, or errors as of `find_trial`
expected<trial_output> read_output(state_reader& state, study_id study,
                                   trial_no trial, step_t first,
                                   std::size_t most);

} // namespace hippo
