#include "hippo/train/torch/graph/sage_workload.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "hippo/base/portable_math.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/kernels/kernels.hpp"
#include "hippo/train/torch/networks/initial_weights.hpp"

namespace hippo {

node_sums sums_of(const at::Tensor& scores,
                  std::span<const std::uint32_t> labels, float* gradient) {
  const auto count = scores.size(0), classes = scores.size(1);
  std::vector<float> powers(static_cast<std::size_t>(classes));
  node_sums result;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto* score = scores.const_data_ptr<float>() + i * classes;
    const auto label = labels[static_cast<std::size_t>(i)];
    if (!std::all_of(score, score + classes,
                     [](float x) { return std::isfinite(x); }))
      return {NAN, 0}; // diverged
    const auto* best = std::max_element(score, score + classes);
    result.right += best == score + label ? 1 : 0;
    kernels::best().exponentials(score, *best, classes, powers.data());
    const auto sum = std::accumulate(powers.begin(), powers.end(), 0.0F);
    result.loss += portable_log(sum) - (score[label] - *best);
    if (gradient == nullptr)
      continue;
    auto* to = gradient + i * classes;
    const auto factor = 1 / (sum * static_cast<float>(count));
    for (std::size_t k = 0; k < powers.size(); ++k)
      to[k] = powers[k] * factor;
    to[label] -= 1 / static_cast<float>(count);
  }
  return result;
}

sage_workload::sage_workload(const workload_spec& spec, device_stream& stream,
                             std::shared_ptr<const graph_data> data,
                             named_tensors buffers)
  : stateful_workload(stream), seed_(whole(spec.options.at("seed"))),
    data_(std::move(data)),
    network_({data_->width, count_of(spec, "hidden"), data_->classes,
              count_of(spec, "layers")}),
    state_(spec.name, network_.parameters(), std::move(buffers), all_decay,
           averaging_of(spec)),
    values_(at::kCPU) {}

void sage_workload::init() {
  put_initial_weights(network_.parameters(), seed_);
  state_.restart(portable_log(static_cast<double>(data_->classes)));
}

workload_size sage_workload::size() const {
  double weights = 0;
  for (const auto& [name, x] : network_.parameters())
    weights += static_cast<double>(x.numel());
  return {6 * weights, weights, static_cast<double>(data_->training.size())};
}

metrics sage_workload::measure() {
  const auto& some = data_->validation;
  const auto rows =
    at::tensor(std::vector<std::int64_t>(some.begin(), some.end()));
  std::vector<std::uint32_t> labels;
  for (const auto node : some)
    labels.push_back(data_->labels[node]);
  return metrics_of(sums_of(
    network_.scores(features(), data_->edges).index_select(0, rows), labels));
}

metrics sage_workload::metrics_of(const node_sums& all) const {
  const auto size = static_cast<double>(data_->validation.size());
  return {{"val_accuracy", all.right / size},
          {"val_loss", all.loss / size},
          {"train_loss", state_.train_loss}};
}

at::Tensor sage_workload::features() const {
  return at::from_blob(const_cast<float*>(data_->features.data()),
                       {data_->edges.nodes(), data_->width}, at::kFloat);
}

} // namespace hippo
