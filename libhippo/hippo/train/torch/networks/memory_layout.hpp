#pragma once

#include <torch/types.h>

#include <cstdint>

namespace hippo {

/// Returns a tensor as kernels for GPUs take activations: in channels-last
/// order or not, from a multiple of 16 bytes on.
inline at::Tensor laid_out(const at::Tensor& tensor, bool channels_last) {
  constexpr std::uintptr_t alignment = 16;
  const auto format = channels_last ? at::MemoryFormat::ChannelsLast
                                    : at::MemoryFormat::Contiguous;
  auto result = tensor.contiguous(format);
  if (reinterpret_cast<std::uintptr_t>(result.const_data_ptr()) % alignment
      != 0)
    result = result.clone(format);
  return result;
}

} // namespace hippo
