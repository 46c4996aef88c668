#include "hippo/train/torch/dropout.hpp"

#include "hippo/train/torch/step_kernels.hpp"

namespace hippo {

at::Tensor dropped(const at::Tensor& x, const lane_table* rows,
                   std::uint64_t layer) {
  if (rows == nullptr || !rows->drops())
    return x;
  const auto mask = at::empty(x.sizes(), x.options().dtype(at::kFloat));
  step_kernels::of(x.device()).put_mask(*rows, layer, mask);
  return x * mask.to(x.scalar_type());
}

} // namespace hippo
