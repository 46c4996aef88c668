#include "hippo/train/torch/graph/graph_workload.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/graph/graph_batches.hpp"
#include "hippo/train/torch/graph/parts_workload.hpp"
#include "hippo/train/torch/graph/sage_workload.hpp"

namespace hippo {

namespace {

/// Nodes at a time where neighbours are drawn to measure: fixed, since the
/// neighbours depend on it.
constexpr std::uint64_t evaluation_batch = 250;

/// The features of a batch as a tensor in their memory.
at::Tensor features_of(graph_batch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.part.nodes.size());
  return at::from_blob(
    batch.features.data(),
    {rows, static_cast<std::int64_t>(batch.features.size()) / rows},
    at::kFloat);
}

/// Trains by batches of nodes and neighbours that are drawn.
class batch_workload final : public sage_workload {
public:
  batch_workload(const workload_spec& spec, device_stream& stream,
                 unsigned prepare_threads)
    : sage_workload(spec, stream, graph_data_of(spec)),
      layers_(count_of(spec, "layers")),
      inference_(
        fanouts_from("inference", word_of(spec, "inference"), layers_)),
      prepare_threads_(prepare_threads) {
    init();
  }

private:
  /// A step is one epoch; a last batch that is not full counts as any other.
  void train_step(const configuration& config, step_t step) override {
    const auto size = data_->training.size();
    check_batch_size(config, step, size);
    const auto epoch = epoch_values_at(config, step);
    batch_plan plan{
      {},
      epoch.batch_size,
      fanouts_from("fanouts",
                   std::get<std::string>(config.at("fanouts").at(step)),
                   layers_),
      seed_,
      purpose::neighbours,
      step};
    for (const auto i : epoch_order(seed_, step, size))
      plan.nodes.push_back(data_->training[i]);
    values_.reset({seed_, step, 0, epoch.dropout});
    double loss = 0;
    note_wait(each_batch(plan, [&](graph_batch& batch) {
      state_.plan(epoch.rule, values_);
      loss += train_batch(batch);
      ++values_->iteration;
    }));
    state_.train_loss = loss / static_cast<double>(size);
  }

  /// @returns the time for which it has waited for batches
  template <class F>
  std::chrono::nanoseconds each_batch(const batch_plan& plan, const F& use) {
    batch_pipeline<graph_batch> batches{
      plan.batches(), prepare_threads_,
      [&] { return make_batch_preparer(*data_, plan); }};
    while (auto batch = batches.next())
      use(*batch);
    return batches.waited();
  }

  /// Trains by a batch. @returns the sum of its losses
  double train_batch(graph_batch& batch) {
    const auto& layers = batch.part.layers;
    const auto scores = network_.forward(features_of(batch), layers, values_);
    auto gradient = at::full_like(scores, NAN);
    const auto result =
      sums_of(scores, batch.labels, gradient.mutable_data_ptr<float>());
    network_.go_back(std::move(gradient), layers, values_);
    state_.apply(values_);
    return result.loss;
  }

  metrics measure() override {
    if (std::ranges::all_of(inference_,
                            [](auto x) { return x == all_neighbours; }))
      return sage_workload::measure();
    node_sums result;
    const batch_plan plan{data_->validation, evaluation_batch, inference_,
                          seed_, purpose::measured_neighbours};
    each_batch(plan, [&](graph_batch& batch) {
      result += sums_of(network_.scores(features_of(batch), batch.part.layers),
                        batch.labels);
    });
    return metrics_of(result);
  }

  const std::int64_t layers_;
  const std::vector<std::int64_t> inference_;
  const unsigned prepare_threads_;
};

} // namespace

bool is_graph_workload(const workload_spec& spec) {
  return spec.name.starts_with("graph-");
}

std::unique_ptr<workload> make_graph_workload(const workload_spec& spec,
                                              device_stream& stream,
                                              unsigned prepare_threads) {
  if (spec.name == "graph-sage-full")
    return make_parts_workload(spec, stream);
  return std::make_unique<batch_workload>(spec, stream, prepare_threads);
}

} // namespace hippo
