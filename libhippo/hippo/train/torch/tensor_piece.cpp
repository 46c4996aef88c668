#include "hippo/train/torch/tensor_piece.hpp"

#include <stdexcept>

namespace hippo {

namespace {

/// Tensors begin at multiples of so many floats: 512 bytes, as what LibTorch
/// allocates on a GPU does.
constexpr std::int64_t alignment = 128;

} // namespace

void tensor_piece::lay_out(const std::vector<at::Tensor>& xs) {
  std::int64_t size = 0;
  for (const auto& x : xs) {
    if (x.scalar_type() != at::kFloat || x.device() != xs.front().device())
      throw std::invalid_argument("weights and what belongs to them are floats "
                                  "on one device");
    places_.push_back({x.sizes().vec(), x.strides().vec(), size});
    size += (x.numel() + alignment - 1) / alignment * alignment;
  }
  if (!xs.empty())
    all_ = at::zeros({size}, xs.front().options().requires_grad(false));
}

tensor_piece::tensor_piece(const std::vector<at::Tensor>& xs) : tensors_(xs) {
  lay_out(xs);
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto there = places_[i].of(all_);
    there.copy_(xs[i]);
    xs[i].set_data(there);
  }
}

tensor_piece tensor_piece::zeros_like(const std::vector<at::Tensor>& xs) {
  tensor_piece result;
  result.lay_out(xs);
  for (const auto& x : result.places_)
    result.tensors_.push_back(x.of(result.all_));
  return result;
}

} // namespace hippo
