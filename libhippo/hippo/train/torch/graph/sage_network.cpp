#include "hippo/train/torch/graph/sage_network.hpp"

#include <cassert>
#include <string>
#include <utility>

#include "hippo/train/torch/kernels/kernels.hpp"
#include "hippo/train/torch/kernels/step_kernels.hpp"

namespace hippo {

namespace {

kernels::matrix matrix_of(const at::Tensor& rows) {
  return {rows.const_data_ptr<float>(), rows.size(1)};
}

/// Adds a product to a tensor (rows x columns).
void add_product(const kernels::matrix& left, const kernels::matrix& right,
                 std::int64_t inner, const at::Tensor& to) {
  kernels::best().add_product(left, right, to.size(0), inner, to.size(1),
                              to.mutable_data_ptr<float>());
}

/// Sets a weight's gradient to gradient^T inputs.
void put_product(const at::Tensor& weight, const at::Tensor& gradient,
                 const at::Tensor& inputs) {
  auto result = at::zeros_like(weight);
  add_product(matrix_of(gradient).transposed(), matrix_of(inputs),
              gradient.size(0), result);
  weight.mutable_grad() = std::move(result);
}

/// Calls `layer(i, edges)` for each layer, with the output of the one before
/// after its ReLU, and returns the last output.
template <class Edges>
at::Tensor scores_by(const std::vector<sage_layer>& layers, at::Tensor rows,
                     const Edges& edges_of) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    rows = layers[i].forward(sage_layer::gathered(rows, edges_of(i)));
    if (i + 1 < layers.size())
      rows.relu_();
  }
  return rows;
}

} // namespace

sage_layer::inputs sage_layer::gathered(const at::Tensor& all,
                                        const edge_rows& edges) {
  auto means = at::empty({edges.rows(), all.size(1)}, at::kFloat);
  kernels::best().mean_rows(all.const_data_ptr<float>(), all.size(1),
                            edges.offsets.data(), edges.list.data(),
                            edges.rows(), means.mutable_data_ptr<float>());
  return {all, std::move(means)};
}

at::Tensor sage_layer::forward(const inputs& of) const {
  auto result = bias_.expand({of.means.size(0), bias_.size(0)}).contiguous();
  add_product(matrix_of(of.means), matrix_of(left_).transposed(), left_.size(1),
              result);
  add_product(matrix_of(of.all), matrix_of(right_).transposed(), right_.size(1),
              result);
  return result;
}

void sage_layer::put_gradients(const inputs& of,
                               const at::Tensor& gradient) const {
  put_product(left_, gradient, of.means);
  put_product(right_, gradient, of.all);
  auto sums = at::zeros_like(bias_);
  constexpr float one = 1;
  // A row of ones, which lies in one place.
  kernels::best().add_product({&one, 0, 0}, matrix_of(gradient), 1,
                              gradient.size(0), sums.size(0),
                              sums.mutable_data_ptr<float>());
  bias_.mutable_grad() = std::move(sums);
}

at::Tensor sage_layer::input_gradient(
  const inputs& of, const edge_rows& edges, const at::Tensor& gradient,
  const std::function<void(const at::Tensor&)>& change) const {
  auto result = at::zeros_like(of.all), means = at::zeros_like(of.means);
  add_product(matrix_of(gradient), matrix_of(right_), gradient.size(1),
              result.narrow(0, 0, gradient.size(0)));
  add_product(matrix_of(gradient), matrix_of(left_), gradient.size(1), means);
  if (change)
    change(means);
  kernels::best().add_mean_gradient(
    means.mutable_data_ptr<float>(), means.size(1), edges.offsets.data(),
    edges.list.data(), edges.rows(), result.mutable_data_ptr<float>());
  return result;
}

sage_network::sage_network(const form& sizes) {
  const auto add = [this](const std::string& name, at::IntArrayRef shape) {
    parameters_.emplace_back(name, at::empty(shape, at::kFloat));
    return parameters_.back().second;
  };
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const auto in = i == 0 ? sizes.features : sizes.hidden,
               out = i + 1 == sizes.layers ? sizes.classes : sizes.hidden;
    const auto name = "convs." + std::to_string(i) + ".lin_";
    auto left = add(name + "l.weight", {out, in});
    auto bias = add(name + "l.bias", {out});
    auto right = add(name + "r.weight", {out, in});
    layers_.emplace_back(std::move(left), std::move(bias), std::move(right));
  }
}

at::Tensor sage_network::forward(const at::Tensor& features,
                                 const std::vector<layer_edges>& layers,
                                 const step_values& values) {
  assert(layers.size() == layers_.size());
  inputs_.clear();
  auto rows = features;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    inputs_.push_back(sage_layer::gathered(rows, layers[i].rows()));
    rows = layers_[i].forward(inputs_.back());
    if (i + 1 == layers_.size())
      break;
    rows.relu_();
    if (values.drops())
      step_kernels::of(at::kCPU).drop(values, i, rows, rows);
  }
  return rows;
}

void sage_network::go_back(at::Tensor gradient,
                           const std::vector<layer_edges>& layers,
                           const step_values& values) {
  for (auto i = layers_.size(); i-- > 0;) {
    layers_[i].put_gradients(inputs_[i], gradient);
    if (i == 0)
      break;
    gradient =
      layers_[i].input_gradient(inputs_[i], layers[i].rows(), gradient);
    pass_back(gradient, inputs_[i].all, values);
  }
  inputs_.clear(); // whose memory may be the caller's
}

void sage_network::pass_back(const at::Tensor& gradient,
                             const at::Tensor& output,
                             const step_values& values) {
  gradient.mul_(values->dropout_scale).masked_fill_(output.le(0), 0);
}

at::Tensor sage_network::scores(const at::Tensor& features,
                                const std::vector<layer_edges>& layers) const {
  return scores_by(layers_, features,
                   [&](std::size_t i) { return layers[i].rows(); });
}

at::Tensor sage_network::scores(const at::Tensor& features,
                                const graph& edges) const {
  return scores_by(layers_, features,
                   [&](std::size_t) { return edges.rows(); });
}

} // namespace hippo
