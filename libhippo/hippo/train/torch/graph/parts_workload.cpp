#include "hippo/train/torch/graph/parts_workload.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/graph/delayed_sums.hpp"
#include "hippo/train/torch/graph/sage_workload.hpp"
#include "hippo/train/torch/kernels/step_kernels.hpp"

namespace hippo {

namespace {

at::Tensor indices_of(const std::vector<std::uint32_t>& numbers) {
  return at::tensor(std::vector<std::int64_t>(numbers.begin(), numbers.end()));
}

/// The messages about each layer, whose inputs are of these widths.
std::vector<part_messages> make_messages(const graph_parts& parts,
                                         std::int64_t features,
                                         const workload_spec& spec) {
  const auto rows = static_cast<std::int64_t>(parts.split().list.size());
  std::vector<part_messages> result;
  for (std::int64_t i = 0; rows > 0 && i < count_of(spec, "layers"); ++i) {
    const auto width = i == 0 ? features : count_of(spec, "hidden");
    const auto none = [&] { return at::zeros({rows, width}, at::kFloat); };
    result.push_back({none(), none(), none()});
  }
  return result;
}

named_tensors named(const std::vector<part_messages>& messages) {
  named_tensors result;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto name = "parts." + std::to_string(i) + '.';
    result.emplace_back(name + "remote", messages[i].remote);
    result.emplace_back(name + "up", messages[i].up);
    result.emplace_back(name + "down", messages[i].down);
  }
  return result;
}

/// Trains all clones of all parts, one after another.
class parts_workload final : public sage_workload {
public:
  parts_workload(const workload_spec& spec, device_stream& stream,
                 std::shared_ptr<const graph_data> data, graph_parts parts,
                 std::vector<part_messages> messages)
    : sage_workload(spec, stream, std::move(data), named(messages)),
      parts_(std::move(parts)), messages_(std::move(messages)),
      clones_(indices_of(parts_.nodes())),
      shares_(at::tensor(parts_.shares()).view({-1, 1})),
      inputs_(features().index_select(0, clones_)) {
    std::vector<std::uint32_t> rows;
    for (const auto node : data_->training) {
      rows.push_back(parts_.roots()[node]);
      labels_.push_back(data_->labels[node]);
    }
    trained_ = indices_of(rows);
    init();
  }

  void init() override {
    sage_workload::init();
    for (const auto& x : messages_)
      x.clear();
  }

private:
  /// A step is an epoch of one update by all nodes whose labels are trained on.
  void train_step(const configuration& config, step_t step) override {
    values_.reset({seed_, step, 0, number_at(config, "dropout", step)});
    state_.plan(update_rule_at(config, step), values_);
    const auto delay = whole(number_at(config, "delay", step));
    std::vector<sage_layer::inputs> inputs;
    const auto scores = forward(step, delay, inputs).index_select(0, trained_);
    auto gradient = at::full_like(scores, NAN);
    const auto sums =
      sums_of(scores, labels_, gradient.mutable_data_ptr<float>());
    go_back(at::zeros({clones_.size(0), scores.size(1)}, at::kFloat)
              .index_copy_(0, trained_, gradient),
            delay, inputs);
    state_.apply(values_);
    state_.train_loss = sums.loss / static_cast<double>(labels_.size());
  }

  /// Returns the scores of all clones. @param inputs gets those of each layer
  at::Tensor forward(step_t step, step_t delay,
                     std::vector<sage_layer::inputs>& inputs) {
    const auto& layers = network_.layers();
    auto rows = inputs_;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      inputs.push_back(sage_layer::gathered(rows, parts_.rows()));
      const auto& means = inputs.back().means.mul_(shares_);
      if (delay == 1)
        add_clones(parts_, means);
      else if (delay > 1 && !messages_.empty())
        add_delayed(parts_, step, delay, messages_[i], means);
      rows = layers[i].forward(inputs.back());
      if (i + 1 == layers.size())
        break;
      rows.relu_();
      if (values_.drops())
        rows.mul_(mask(i, rows.size(1)));
    }
    return rows;
  }

  /// Returns the dropout of a layer, the same for all clones of a node.
  at::Tensor mask(std::size_t layer, std::int64_t width) {
    auto all = at::ones({data_->edges.nodes(), width}, at::kFloat);
    step_kernels::of(at::kCPU).drop(values_, layer, all, all);
    return all.index_select(0, clones_);
  }

  /// Sets the gradients of all weights. Between parts they flow only if sums of
  /// the same epoch do.
  void go_back(at::Tensor gradient, step_t delay,
               const std::vector<sage_layer::inputs>& inputs) {
    const auto& layers = network_.layers();
    for (auto i = layers.size(); i-- > 0;) {
      layers[i].put_gradients(inputs[i], gradient);
      if (i == 0)
        break;
      gradient = layers[i].input_gradient(inputs[i], parts_.rows(), gradient,
                                          [&](const at::Tensor& means) {
                                            if (delay == 1)
                                              add_clones(parts_, means);
                                            means.mul_(shares_);
                                          });
      sage_network::pass_back(gradient, inputs[i].all, values_);
    }
  }

  const graph_parts parts_;
  const std::vector<part_messages> messages_;
  const at::Tensor clones_; ///< their nodes
  const at::Tensor shares_; ///< of each clone
  const at::Tensor inputs_; ///< the features of each clone
  at::Tensor trained_;      ///< the roots of nodes that are trained on
  std::vector<std::uint32_t> labels_; ///< of these
};

} // namespace

std::unique_ptr<workload> make_parts_workload(const workload_spec& spec,
                                              device_stream& stream) {
  auto data = graph_data_of(spec);
  graph_parts parts{data->edges, count_of(spec, "parts"),
                    whole(spec.options.at("seed"))};
  auto messages = make_messages(parts, data->width, spec);
  return std::make_unique<parts_workload>(
    spec, stream, std::move(data), std::move(parts), std::move(messages));
}

} // namespace hippo
