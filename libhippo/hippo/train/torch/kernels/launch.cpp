#include "hippo/train/torch/kernels/launch.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <stdexcept>
#include <string>

namespace hippo {

std::int32_t type_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return hippo_cuda_float32;
    case at::kBFloat16:
      return hippo_cuda_bfloat16;
    case at::kHalf:
      return hippo_cuda_float16;
    default:
      throw std::invalid_argument(
        std::string{"kernels for GPUs: they cannot compute with type "}
        + c10::toString(type));
  }
}

void* stream_of(const at::Tensor& tensor) {
  const auto device = tensor.device();
  if (device.is_cpu())
    return nullptr;
  return c10::impl::VirtualGuardImpl{device.type()}
    .getStream(device)
    .native_handle();
}

const cuda_kernels& needed_cuda_kernels() {
  const auto& table = own_cuda_kernels();
  if (!table)
    throw std::runtime_error(table.failure().message);
  return *table;
}

void check_launch(const cuda_kernels& table, int result) {
  if (result != 0)
    throw std::runtime_error(std::string{"a kernel for GPUs: "}
                             + table.error_text(result));
}

} // namespace hippo
