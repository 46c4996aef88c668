#include "hippo/train/torch/graph/graph_batches.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace hippo {

batch_pipeline<graph_batch>::preparer
make_batch_preparer(const graph_data& data, const batch_plan& plan) {
  return [&data, &plan,
          sampler =
            neighbour_sampler{data.edges, plan.fanouts, plan.seed, plan.use,
                              plan.epoch}](std::uint64_t number) mutable {
    const auto first = number * plan.batch_size;
    const auto nodes = std::span{plan.nodes}.subspan(
      first, std::min(plan.batch_size, plan.nodes.size() - first));
    graph_batch result;
    result.part = sampler.sample(number, nodes);
    const auto& rows = result.part.nodes;
    result.features.reserve(rows.size() * static_cast<std::size_t>(data.width));
    for (const auto node : rows) {
      const auto from = data.features_of(node);
      result.features.insert(result.features.end(), from.begin(), from.end());
    }
    for (const auto node : nodes)
      result.labels.push_back(data.labels[node]);
    return result;
  };
}

} // namespace hippo
