#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/train/torch/random.hpp"

namespace hippo {

/// Returns numbers of [-1, 1) by address.
inline at::Tensor random_tensor(at::IntArrayRef shape, std::uint64_t address) {
  random_numbers numbers{5, purpose::example, {address}};
  auto result = at::empty(shape, at::kFloat);
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data_ptr<float>()[i] =
      static_cast<float>(2 * numbers.uniform() - 1);
  return result;
}

inline bool same(const at::Tensor& one, const at::Tensor& two) {
  return one.equal(two);
}

} // namespace hippo
