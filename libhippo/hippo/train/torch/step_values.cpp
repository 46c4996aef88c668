#include "hippo/train/torch/step_values.hpp"

#include <cstring>
#include <limits>

namespace hippo {

step_values::step_values(at::Device device) {
  reset();
  if (!device.is_cpu())
    published_ = at::empty({static_cast<std::int64_t>(sizeof values_)},
                           at::TensorOptions(device).dtype(at::kByte));
}

void step_values::reset(const dropout_source& drop) {
  values_ = {};
  values_.seed = drop.seed;
  values_.step = drop.step;
  values_.iteration = drop.iteration;
  values_.dropout_limit = static_cast<std::uint32_t>(drop.share * 0x1p32);
  values_.dropout_scale = static_cast<float>(1 / (1 - drop.share));
  values_.clip = std::numeric_limits<float>::infinity();
}

void step_values::publish() {
  if (!published_.defined())
    return;
  // A copy that is the allocator's: it stays until the device has read it,
  // while the values go on.
  const auto staged =
    at::empty(published_.sizes(),
              at::TensorOptions().dtype(at::kByte).pinned_memory(true));
  std::memcpy(staged.mutable_data_ptr(), &values_, sizeof values_);
  published_.copy_(staged, /*non_blocking=*/true);
}

const hippo_cuda_step* step_values::published() const {
  return published_.defined()
           ? static_cast<const hippo_cuda_step*>(published_.const_data_ptr())
           : &values_;
}

at::Tensor step_values::clip() const {
  return at::from_blob(const_cast<float*>(&published()->clip), {},
                       published_.defined()
                         ? published_.options().dtype(at::kFloat)
                         : at::TensorOptions().dtype(at::kFloat));
}

} // namespace hippo
