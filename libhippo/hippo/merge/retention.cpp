#include "hippo/merge/retention.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "hippo/schedule/scheduler.hpp"

namespace hippo {

std::uint64_t
restore(search_plan& plan, stored_plan known,
        const std::function<void(node_id, const std::string&)>& on_kept) {
  std::uint64_t bytes = 0;
  auto result = known.results.begin();
  auto file = known.checkpoints.begin();
  auto delivered = known.delivered.begin();
  // Node by node, so that each is packed once, with all that it has.
  const auto restore_kept = [&](node_id id) {
    for (; result != known.results.end() && result->node == id; ++result) {
      plan.restore_result(id, result->step, result->values);
      on_kept(id, result->device);
    }
    for (; file != known.checkpoints.end() && file->node == id; ++file) {
      bytes += file->file.bytes;
      plan.restore_checkpoint(id, file->step, std::move(file->file));
      on_kept(id, file->device);
    }
    for (; delivered != known.delivered.end() && delivered->first == id;
         ++delivered)
      plan.restore_delivered(id, delivered->second);
    plan.pack_idle();
  };
  restore_kept(root_node);
  for (const auto& x : known.nodes) {
    plan.restore_node(x.id, x.parent, x.begin, x.config, x.strand);
    restore_kept(x.id);
  }
  assert(result == known.results.end() && file == known.checkpoints.end()
         && delivered == known.delivered.end());
  return bytes;
}

std::vector<idle_checkpoint> collect_idle(stored_plan known,
                                          std::uint64_t bytes) {
  search_plan plan;
  restore(plan, std::move(known));
  const time_estimates estimates{{}};
  scheduler chooser{plan, estimates, policy::critical_path};
  chooser.update(plan.take_changed());
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

void retention::add(const checkpoint& x) {
  assert(bytes_ + x.bytes >= bytes_);
  bytes_ += x.bytes;
}

void retention::remove(const checkpoint& x) {
  assert(bytes_ >= x.bytes);
  bytes_ -= x.bytes;
}

bool retention::is_due() const { return bytes_ > std::max(limit_, needed_); }

std::vector<plan_checkpoint>
retention::choose_victims(const search_plan& plan,
                          const stage_tree& tree) const {
  assert(is_due());
  return collect_checkpoints(plan, tree, bytes_ - limit_ + slack());
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
