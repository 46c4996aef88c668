#pragma once

#include <torch/types.h>

#include <cstddef>

namespace hippo {

/// Returns what lane `i` of `lanes` has of a tensor that holds the lanes' own
/// ones behind each other along dimension 0. It shares memory with `x`, and has
/// no part in its gradient.
inline at::Tensor lane_of(const at::Tensor& x, std::size_t i,
                          std::size_t lanes) {
  const auto size = x.size(0) / static_cast<std::int64_t>(lanes);
  return x.detach().narrow(0, static_cast<std::int64_t>(i) * size, size);
}

} // namespace hippo
