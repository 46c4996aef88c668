#include "hippo/train/gang/train_in_gang.hpp"

#include <exception>

#include "hippo/train/failures.hpp"
#include "hippo/train/gang/follow_ranks.hpp"
#include "hippo/train/gang/gang_workload.hpp"
#include "hippo/train/gang/ranks_workload.hpp"
#include "hippo/train/shareable.hpp"

namespace hippo {

namespace {

/// Has a workload compute the parts of one member, until it is destroyed.
class sharing {
public:
  /// Throws what `shareable::share` throws.
  sharing(shareable& work, gang& members) : work_(work) {
    work_.share(&members);
  }
  ~sharing() { work_.share(nullptr); }
  sharing(const sharing&) = delete;
  sharing& operator=(const sharing&) = delete;

private:
  shareable& work_;
};

/// The lead of members that have ranks each.
lease_end lead_ranks(connected_gang& members, workload& work,
                     world_member& ranks, std::optional<checkpoint>& present,
                     recent_states& kept, const lease& lease,
                     state_store& store, const std::string& device,
                     lease_control& control, lease_progress& progress,
                     const std::function<std::uint64_t()>& now_ns,
                     const std::function<void(const stop_report&)>& report) {
  ranks_workload all{work, ranks, members, [&](step_t at) {
                       control.add({.at = at, .save = true, .last = true});
                     }};
  std::optional<error> failure = guarded([&] {
    if (!all.greet())
      present.reset();
  });
  if (failure)
    return {lease.number, lease.stages.front().begin,
            control.cancelled() ? error{errc::cancelled, "cancelled"}
                                : std::move(*failure)};
  return run(all, present, kept, lease, store, device, control, progress,
             now_ns, report);
}

} // namespace

lease_end train_in_gang(connected_gang& members, workload& work,
                        std::optional<checkpoint>& present, recent_states& kept,
                        const lease& lease, state_store& store,
                        const std::string& device, lease_control& control,
                        lease_progress& progress,
                        const std::function<std::uint64_t()>& now_ns,
                        const std::function<void(const stop_report&)>& report) {
  // Nobody's failure: one trainer alone can train it.
  const auto refused = [&](const std::string& why) {
    return lease_end{lease.number, lease.stages.front().begin,
                     error{errc::gang_lost, "workload " + lease.workload.name
                                              + " is not for a gang: " + why}};
  };
  if (ranks_of(lease.workload) > 1) {
    auto* const ranks = dynamic_cast<world_member*>(&work);
    if (ranks == nullptr)
      return refused("it has no ranks of its own");
    if (members.rank() != 0)
      return follow_ranks(members, work, *ranks, lease, store, control,
                          progress);
    return lead_ranks(members, work, *ranks, present, kept, lease, store,
                      device, control, progress, now_ns, report);
  }
  auto* const parts = dynamic_cast<shareable*>(&work);
  if (parts == nullptr)
    return refused("it has no parts to share");
  std::optional<sharing> shared;
  try {
    shared.emplace(*parts, members);
  } catch (const std::exception& e) {
    return refused(e.what());
  }
  if (members.rank() != 0)
    return follow(work, present, kept, lease, store, device, control, progress,
                  now_ns, members);
  gang_workload all{work, members, [&](step_t at) {
                      control.add({.at = at, .save = true, .last = true});
                    }};
  return run(all, present, kept, lease, store, device, control, progress,
             now_ns, report);
}

} // namespace hippo
