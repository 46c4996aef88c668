#pragma once

#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/model/run_record.hpp"

namespace hippo {

/// Returns a trial as TensorBoard reads it, the bytes of an event file: a
/// scalar for each metric at each step, and the hyper-parameters with what
/// became of the trial, for its HParams tab. Schedules are texts, in short.
/// @param wall_time that the events have, in seconds since 1970
std::string tensorboard_events(const trial_record& trial, double wall_time);

} // namespace hippo
