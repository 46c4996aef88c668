#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/train/torch/kernels/cuda_kernels.hpp"

namespace hippo {

/// Returns the `hippo_cuda_type` of numbers. Throws `std::invalid_argument` if
/// they have none.
std::int32_t type_of(at::ScalarType type);

/// The same of a tensor's.
inline std::int32_t type_of(const at::Tensor& tensor) {
  return type_of(tensor.scalar_type());
}

/// Returns the stream that LibTorch uses now on a tensor's device; null on a
/// CPU.
void* stream_of(const at::Tensor& tensor);

/// Returns this program's kernels. Throws `std::runtime_error` if they cannot
/// be loaded.
const cuda_kernels& needed_cuda_kernels();

/// Throws `std::runtime_error` if a kernel's result is an error.
void check_launch(const cuda_kernels& table, int result);

} // namespace hippo
