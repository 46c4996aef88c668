#include "hippo/train/torch/clicks/dlrm.hpp"

#include <cmath>

#include "hippo/train/torch/clicks/click_log.hpp"
#include "hippo/train/torch/networks/initial_weights.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

namespace {

/// Layers of the network of numbers, and of the one that ends in the logit.
constexpr std::size_t bottom_layers = 2, top_layers = 3;

/// The vectors of an impression: that of its numbers, and its rows.
constexpr std::int64_t vector_count = 1 + click_log::category_count;
constexpr std::int64_t pair_count = vector_count * (vector_count - 1) / 2;

/// Returns the layer's outputs of all parts.
at::Tensor layer(const named_tensors& weights, std::size_t index,
                 const at::Tensor& in) {
  const auto& weight = weights[2 * index].second;
  const auto& bias = weights[2 * index + 1].second;
  return at::baddbmm(bias.unsqueeze(1), in, weight.transpose(1, 2));
}

} // namespace

dlrm::dlrm(const dlrm_sizes& sizes, at::Device device)
  : sizes_(sizes), device_(device),
    tables_(at::empty({click_log::category_count * sizes.rows, sizes.dimension},
                      at::TensorOptions(device).dtype(at::kFloat))) {
  const auto pairs =
    at::tril_indices(vector_count, vector_count, -1, at::kLong);
  pairs_ = (pairs[0] * vector_count + pairs[1]).to(device);
  add_layer("bot_l.0", click_log::number_count, sizes.hidden);
  add_layer("bot_l.2", sizes.hidden, sizes.dimension);
  add_layer("top_l.0", sizes.dimension + pair_count, sizes.hidden);
  add_layer("top_l.2", sizes.hidden, sizes.hidden);
  add_layer("top_l.4", sizes.hidden, 1);
}

void dlrm::add_layer(const std::string& name, std::int64_t in,
                     std::int64_t out) {
  const auto add = [&](const char* what, at::IntArrayRef shape) {
    auto weight =
      at::empty(shape, at::TensorOptions(device_).dtype(at::kFloat));
    weight.set_requires_grad(true);
    parameters_.emplace_back(name + what, std::move(weight));
  };
  add(".weight", {sizes_.parts, out, in});
  add(".bias", {sizes_.parts, out});
}

void dlrm::init(std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::uint64_t index = 0;
  for (const auto& [name, weight] : parameters_) {
    // As PyTorch begins with its Linear; the reference has no other reason for
    // its own numbers.
    const auto inputs = parameters_[index / 2 * 2].second.size(2);
    const auto first = weight[0];
    put_uniform(first, 1 / std::sqrt(static_cast<double>(inputs)),
                {seed, purpose::weights, {++index}});
    weight.copy_(first.unsqueeze(0).expand_as(weight).clone());
  }
  put_uniform(tables_, 1 / std::sqrt(static_cast<double>(sizes_.rows)),
              {seed, purpose::weights, {++index}});
}

at::Tensor dlrm::rows_of(const click_batch& batch) const {
  auto shape = batch.rows.sizes().vec();
  shape.push_back(sizes_.dimension);
  auto result = tables_.index_select(0, batch.rows.flatten()).view(shape);
  return result.set_requires_grad(at::GradMode::is_enabled());
}

at::Tensor dlrm::logits(const named_tensors& weights, const at::Tensor& numbers,
                        const at::Tensor& rows) const {
  auto first = numbers;
  for (std::size_t i = 0; i < bottom_layers; ++i)
    first = layer(weights, i, first).relu();
  const auto parts = rows.size(0), count = rows.size(1), size = rows.size(3);
  const auto vectors = at::cat({first.unsqueeze(2), rows}, 2)
                         .view({parts * count, vector_count, size});
  const auto products = at::bmm(vectors, vectors.transpose(1, 2))
                          .view({parts * count, vector_count * vector_count})
                          .index_select(1, pairs_)
                          .view({parts, count, pair_count});
  auto top = at::cat({first, products}, 2);
  for (std::size_t i = 0; i < top_layers; ++i) {
    top = layer(weights, bottom_layers + i, top);
    if (i + 1 < top_layers)
      top = top.relu();
  }
  return top.squeeze(2);
}

void dlrm::step_rows(const click_batch& batch, const at::Tensor& gradients,
                     double lr) const {
  const at::NoGradGuard no_grad;
  tables_.index_put_({batch.rows.flatten()},
                     gradients.reshape({-1, sizes_.dimension}).mul(-lr),
                     /*accumulate=*/true);
}

named_tensors dlrm::exported(const named_tensors& weights) const {
  const at::NoGradGuard no_grad;
  named_tensors result;
  for (const auto& [name, weight] : weights)
    result.emplace_back(name, weight[0].detach().clone());
  for (std::int64_t c = 0; c < click_log::category_count; ++c)
    result.emplace_back(
      "emb_l." + std::to_string(c) + ".weight",
      tables_.narrow(0, c * sizes_.rows, sizes_.rows).clone());
  return result;
}

double dlrm::operations() const {
  double forward =
    2.0 * vector_count * vector_count * static_cast<double>(sizes_.dimension);
  for (const auto& [name, weight] : parameters_)
    if (weight.dim() == 3)
      forward += 2.0 * static_cast<double>(weight[0].numel());
  return 3 * forward;
}

} // namespace hippo
