#include "hippo/merge/retry_policy.hpp"

#include <algorithm>
#include <cassert>
#include <string>

namespace hippo {

namespace {

/// The node that the state which a lease started from belongs to: the first
/// stage's, or the one that it leaves.
node_id start_node(const lease& x, const search_plan& plan) {
  const auto& first = x.stages.front();
  const auto& node = plan.node(first.node);
  return first.begin > node.begin ? first.node : node.parent;
}

} // namespace

retry_policy::retry_policy(unsigned attempts_max)
  : attempts_max_(attempts_max) {
  assert(attempts_max > 0);
}

verdict retry_policy::judge(const running_lease& x, const lease_end& end,
                            const search_plan& plan, moment now) {
  assert(end.failure);
  const auto& stages = x.work.stages;
  switch (end.failure->code) {
    case errc::cancelled:
      return retry{end.at == stages.front().begin};
    case errc::io_failed: {
      auto& span = cool_downs_.try_emplace(x.trainer, cool_down_first,
                                           cool_down_last).first->second;
      return cool_down{span.next()};
    }
    case errc::diverged:
      return mark_diverged{stages[stage_index(x.work, end.at)].node, end.at};
    case errc::bad_checkpoint:
      if (!x.work.start.file.empty()) {
        const auto node = start_node(x.work, plan);
        const auto at = stages.front().begin;
        if (plan.node(node).checkpoints.count(at) > 0)
          return forget_checkpoint{node, at};
        return retry{};
      }
      [[fallthrough]];
    default:
      return judge_training(x, end, now);
  }
}

verdict retry_policy::judge_training(const running_lease& x,
                                     const lease_end& end, moment now) {
  const auto& stages = x.work.stages;
  // The stage that could not be left.
  const auto i = std::find_if(stages.begin(), stages.end(), [&](auto& s) {
    return end.at < s.end;
  });
  const auto& where = i == stages.end() ? stages.back() : *i;
  const auto since = std::max(x.progress.saved, where.begin);
  auto& failed = failures_[{where.node, since}];
  failed.trainers.insert(x.trainer);
  failed.last = now;
  ++failed.attempts;
  check_invariants();
  if (failed.attempts < attempts_max_)
    return retry{};
  auto reason = *end.failure;
  if (!end.log.empty())
    reason.message += "\nlog of trainer "
                      + std::to_string(number_of(x.trainer)) + ":\n" + end.log;
  return fail_from{where.node, std::min(end.at + 1, where.end),
                   std::move(reason)};
}

bool retry_policy::is_left_to_others(trainer_id x, const path& what,
                                     const lease_table& leases,
                                     moment now) const {
  const auto others_work = [&](const failed_state& failed) {
    return std::any_of(leases.leases().begin(), leases.leases().end(),
                       [&](const auto& kvp) {
                         return failed.trainers.count(kvp.second.trainer) == 0;
                       });
  };
  return std::any_of(
    what.stages.begin(), what.stages.end(), [&](const stage& s) {
      for (auto i = failures_.lower_bound({s.node, 0});
           i != failures_.end() && i->first.first == s.node; ++i) {
        const auto& failed = i->second;
        if (i->first.second < s.end && failed.trainers.count(x) > 0
            && seconds_between(failed.last, now) < other_trainer_seconds
            && others_work(failed))
          return true;
      }
      return false;
    });
}

void retry_policy::check_invariants() const {
#ifndef NDEBUG
  for (const auto& [where, failed] : failures_) {
    assert(failed.attempts > 0);
    assert(!failed.trainers.empty());
    assert(failed.trainers.size() <= failed.attempts);
  }
#endif
}

} // namespace hippo
