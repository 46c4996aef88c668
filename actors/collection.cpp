#include "collection.hpp"

#include <iterator>
#include <utility>

#include "hippo/schedule/scheduler.hpp"

namespace hippo {

std::uint64_t restore(search_plan& plan, stored_plan known) {
  std::uint64_t bytes = 0;
  for (auto& x : known.nodes)
    plan.restore_node(x.id, x.parent, x.begin, x.config, x.strand);
  for (auto& x : known.results)
    plan.restore_result(x.node, x.step, std::move(x.values));
  for (auto& x : known.checkpoints) {
    bytes += x.file.bytes;
    plan.restore_checkpoint(x.node, x.step, std::move(x.file));
  }
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
    const auto before
      = i == node.checkpoints.begin() ? node.begin : std::prev(i)->first;
    result.push_back({std::move(x), i->first - before});
  }
  return result;
}

} // namespace hippo
