#pragma once

#include "hippo/train/gang/connected_gang.hpp"
#include "hippo/train/run.hpp"
#include "hippo/train/world_member.hpp"

namespace hippo {

/// Has the ranks of a member that is not the lead carry out the lead's orders,
/// until it says that the lease has ended. Parameters are those of `run`.
///
/// A failure of a rank's code is the lead's to tell, and no failure of this
/// lease; the ranks are ended then. If the ranks cannot start, or the lease's
/// first state cannot be read, it is one of this lease alone.
/// @param ranks the other side of `work`
lease_end follow_ranks(connected_gang& lead, workload& work,
                       world_member& ranks, const lease& lease,
                       state_store& store, lease_control& control,
                       lease_progress& progress);

} // namespace hippo
