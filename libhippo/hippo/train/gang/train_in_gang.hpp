#pragma once

#include "hippo/train/gang/connected_gang.hpp"
#include "hippo/train/run.hpp"

namespace hippo {

/// Trains a lease as a member of a gang: the lead runs it (`run`), and the
/// others follow (`follow`). The workload is one of a single trainer again when
/// this returns.
/// @returns the end of the lease, which `members.finish` is to be told; that is
///          `errc::gang_lost` if the workload has no parts to share
lease_end train_in_gang(connected_gang& members, workload& work,
                        std::optional<checkpoint>& present, recent_states& kept,
                        const lease& lease, state_store& store,
                        const std::string& device, lease_control& control,
                        lease_progress& progress,
                        const std::function<std::uint64_t()>& now_ns,
                        const std::function<void(const stop_report&)>& report);

} // namespace hippo
