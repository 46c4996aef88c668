#include "hippo/train/torch/graph/graph_workload.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/graph/graph_batches.hpp"
#include "hippo/train/torch/graph/sage_network.hpp"
#include "hippo/train/torch/linear/linear_model.hpp"
#include "hippo/train/torch/networks/initial_weights.hpp"
#include "hippo/train/torch/stateful_workload.hpp"

namespace hippo {

namespace {

constexpr auto graph_name = "graph-sage";

/// Nodes at a time where neighbours are drawn to measure: fixed, since the
/// neighbours depend on it.
constexpr std::uint64_t evaluation_batch = 250;

const std::string& word(const scalar& value) {
  return std::get<std::string>(value);
}

std::int64_t count_of(const workload_spec& spec, const char* option) {
  return static_cast<std::int64_t>(whole(spec.options.at(option)));
}

/// Sums over nodes.
struct sums {
  double loss = 0;
  double right = 0;

  void operator+=(const sums& other) {
    loss += other.loss;
    right += other.right;
  }
};

/// Returns the sums of nodes by their scores.
/// @param gradient unless null gets the gradient of the mean loss
template <class Label>
sums sums_of(const at::Tensor& scores, const Label& label_of,
             float* gradient = nullptr) {
  const auto count = scores.size(0), classes = scores.size(1);
  std::vector<double> outputs(static_cast<std::size_t>(classes));
  std::vector<float> targets(outputs.size());
  const auto* score = scores.const_data_ptr<float>();
  sums result;
  for (std::int64_t i = 0; i < count; ++i, score += classes) {
    const std::size_t label = label_of(static_cast<std::size_t>(i));
    std::copy(score, score + classes, outputs.begin());
    const auto best = std::ranges::max_element(outputs) - outputs.begin();
    result.right += static_cast<std::size_t>(best) == label ? 1 : 0;
    targets[label] = 1;
    result.loss += take_derivatives(linear_loss::logistic, targets.data(),
                                    outputs.data(), classes);
    targets[label] = 0;
    if (gradient != nullptr)
      for (const auto x : outputs)
        *gradient++ = static_cast<float>(x / static_cast<double>(count));
  }
  return result;
}

/// The features of a batch as a tensor in their memory.
at::Tensor features_of(graph_batch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.part.nodes.size());
  return at::from_blob(
    batch.features.data(),
    {rows, static_cast<std::int64_t>(batch.features.size()) / rows},
    at::kFloat);
}

class graph_workload final : public stateful_workload {
public:
  graph_workload(const workload_spec& spec, device_stream& stream,
                 unsigned prepare_threads)
    : stateful_workload(stream), seed_(whole(spec.options.at("seed"))),
      layers_(count_of(spec, "layers")),
      inference_(
        fanouts_from("inference", word(spec.options.at("inference")), layers_)),
      prepare_threads_(prepare_threads), data_(graph_data_of(spec)),
      network_(
        {data_->width, count_of(spec, "hidden"), data_->classes, layers_}),
      state_(spec.name, network_.parameters(), {}, all_decay,
             averaging_of(spec)),
      values_(at::kCPU) {
    init();
  }

  void init() override {
    put_initial_weights(network_.parameters(), seed_);
    state_.restart(std::log(static_cast<double>(data_->classes)));
  }

  [[nodiscard]] workload_size size() const override {
    double weights = 0;
    for (const auto& [name, x] : network_.parameters())
      weights += static_cast<double>(x.numel());
    return {6 * weights, weights, static_cast<double>(data_->training.size())};
  }

private:
  training_state& state() override { return state_; }

  /// A step is one epoch; a last batch that is not full counts as any other.
  void train_step(const configuration& config, step_t step) override {
    const auto size = data_->training.size();
    check_batch_size(config, step, size);
    const auto epoch = epoch_values_at(config, step);
    batch_plan plan{
      {},
      epoch.batch_size,
      fanouts_from("fanouts", word(config.at("fanouts").at(step)), layers_),
      seed_,
      purpose::neighbours,
      step};
    for (const auto i : epoch_order(seed_, step, size))
      plan.nodes.push_back(data_->training[i]);
    values_.reset({seed_, step, 0, epoch.dropout});
    double loss = 0;
    each_batch(plan, [&](graph_batch& batch) {
      state_.plan(epoch.rule, values_);
      loss += train_batch(batch);
      ++values_->iteration;
    });
    state_.train_loss = loss / static_cast<double>(size);
  }

  template <class F>
  void each_batch(const batch_plan& plan, const F& use) {
    batch_pipeline<graph_batch> batches{
      plan.batches(), prepare_threads_,
      [&] { return make_batch_preparer(*data_, plan); }};
    while (auto batch = batches.next())
      use(*batch);
    note_wait(batches.waited());
  }

  /// Trains by a batch. @returns the sum of its losses
  double train_batch(graph_batch& batch) {
    const auto& layers = batch.part.layers;
    const auto scores = network_.forward(features_of(batch), layers, values_);
    auto gradient = at::empty_like(scores);
    const auto result = sums_of(
      scores, [&](std::size_t i) { return batch.labels[i]; },
      gradient.mutable_data_ptr<float>());
    network_.go_back(std::move(gradient), layers, values_);
    state_.apply(values_);
    return result.loss;
  }

  metrics measure() override {
    const bool whole_graph = std::ranges::all_of(
      inference_, [](auto x) { return x == all_neighbours; });
    const auto all = whole_graph ? measured_by_all() : measured_by_some();
    const auto size = static_cast<double>(data_->validation.size());
    return {{"val_accuracy", all.right / size},
            {"val_loss", all.loss / size},
            {"train_loss", state_.train_loss}};
  }

  /// Computes layer by layer for all nodes.
  sums measured_by_all() {
    const auto nodes = data_->edges.nodes();
    const auto features =
      at::from_blob(const_cast<float*>(data_->features.data()),
                    {nodes, data_->width}, at::kFloat);
    const auto& some = data_->validation;
    const auto rows =
      at::tensor(std::vector<std::int64_t>(some.begin(), some.end()));
    return sums_of(
      network_.scores(features, data_->edges).index_select(0, rows),
      [&](std::size_t i) { return data_->labels[some[i]]; });
  }

  sums measured_by_some() {
    sums result;
    const batch_plan plan{data_->validation, evaluation_batch, inference_,
                          seed_, purpose::measured_neighbours};
    each_batch(plan, [&](graph_batch& batch) {
      result += sums_of(network_.scores(features_of(batch), batch.part.layers),
                        [&](std::size_t i) { return batch.labels[i]; });
    });
    return result;
  }

  const std::uint64_t seed_;
  const std::int64_t layers_;
  const std::vector<std::int64_t> inference_;
  const unsigned prepare_threads_;
  const std::shared_ptr<const graph_data> data_;
  sage_network network_;
  training_state state_;
  step_values values_;
};

} // namespace

bool is_graph_workload(const workload_spec& spec) {
  return spec.name == graph_name;
}

std::unique_ptr<workload> make_graph_workload(const workload_spec& spec,
                                              device_stream& stream,
                                              unsigned prepare_threads) {
  return std::make_unique<graph_workload>(spec, stream, prepare_threads);
}

} // namespace hippo
