#include "hippo/store/weights_recipe.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/model/repeats.hpp"

namespace hippo {

namespace {

/// Returns the stages that lead to state `step` of a node from the initial one.
std::vector<stage> stages_to(const stored_plan& plan, node_id last,
                             step_t step) {
  std::unordered_map<node_id, const stored_node*> nodes;
  for (const auto& x : plan.nodes)
    nodes.emplace(x.id, &x);
  std::vector<stage> result;
  auto end = step;
  for (auto i = nodes.find(last); i != nodes.end();
       i = nodes.find(i->second->parent)) {
    const auto& node = *i->second;
    if (node.begin < end)
      result.push_back({node.id, node.begin, end, node.config});
    end = std::min(end, node.begin);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

} // namespace

weights_recipe
make_weights_recipe(const stored_plan& plan, node_id node, step_t step,
                    workload_spec workload, std::string code,
                    const std::function<bool(const checkpoint&)>& is_kept) {
  weights_recipe result;
  result.code = std::move(code);
  for (const auto& x : plan.results)
    if (x.node == node && x.step == step)
      result.kind = x.device;
  auto& path = result.path;
  path.number = lease_id{1};
  path.workload = std::move(workload);
  path.stages = stages_to(plan, node, step);
  path.stops = {{step, false, false}};
  // The later the state that is kept, the less is to be trained again.
  for (auto i = path.stages.size(); i-- > 0 && path.start.file.empty();) {
    const auto whole = path.stages[i];
    for (auto x = plan.checkpoints.rbegin(); x != plan.checkpoints.rend(); ++x)
      if (x->node == whole.node && x->step <= whole.end && is_kept(x->file)) {
        path.start = x->file;
        path.stages.erase(path.stages.begin(),
                          path.stages.begin() + static_cast<std::ptrdiff_t>(i));
        path.stages.front().begin = x->step;
        break;
      }
  }
  take_seed(path);
  return result;
}

} // namespace hippo
