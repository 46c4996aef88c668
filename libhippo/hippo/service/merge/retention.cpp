#include "hippo/service/merge/retention.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "hippo/plan/schedule/scheduler.hpp"

namespace hippo {

std::vector<idle_checkpoint> collect_idle(const search_plan& plan,
                                          std::uint64_t bytes) {
  const time_estimates estimates{{}};
  const scheduler chooser{plan, estimates, policy::critical_path};
  std::vector<idle_checkpoint> result;
  for (auto& x : collect_checkpoints(plan, chooser.tree(), bytes)) {
    const auto& node = plan.node(x.node);
    const auto i = node.checkpoints.find(x.at);
    assert(i != node.checkpoints.end());
    const auto before
      = i == node.checkpoints.begin() ? node.begin : std::prev(i)->first;
    result.push_back({std::move(x), i->first - before});
  }
  return result;
}

std::uint64_t retention::slack() const {
  constexpr std::uint64_t slack_divisor = 10;
  return limit_ / slack_divisor;
}

void retention::set_limit(std::uint64_t bytes) {
  limit_ = bytes;
  needed_ = 0;
}

void retention::add(const checkpoint& checkpoint) {
  assert(bytes_ + checkpoint.bytes >= bytes_);
  bytes_ += checkpoint.bytes;
  if (base_.file.empty() && is_base(checkpoint))
    base_ = checkpoint;
}

void retention::remove(const checkpoint& checkpoint) {
  assert(bytes_ >= checkpoint.bytes);
  bytes_ -= checkpoint.bytes;
  if (base_.file == checkpoint.file)
    base_ = {};
}

bool retention::is_due() const { return bytes_ > std::max(limit_, needed_); }

std::vector<plan_checkpoint> retention::choose_victims(const search_plan& plan,
                                                       const stage_tree& tree,
                                                       bool spares_base) const {
  assert(is_due());
  return collect_checkpoints(plan, tree, bytes_ - limit_ + slack(),
                             spares_base ? base_.file : std::string{});
}

bool is_base(const checkpoint& checkpoint) {
  return checkpoint.table_bytes > 0 && checkpoint.part_files.empty();
}

void retention::note_evicted() {
  needed_ = bytes_ > limit_ ? bytes_ + slack() : 0;
}

void retention::check_invariants(
  [[maybe_unused]] const search_plan& plan) const {
#ifndef NDEBUG
  // O(nodes): for small plans alone.
  constexpr std::size_t nodes_checked_max = 256;
  if (plan.size() > nodes_checked_max)
    return;
  std::uint64_t sum = 0;
  plan_node room;
  for (auto id : id_range(root_node, plan.size()))
    for (const auto& [at, file] : plan.peek(id, room).checkpoints)
      sum += file.bytes;
  assert(sum == bytes_);
#endif
}

} // namespace hippo
