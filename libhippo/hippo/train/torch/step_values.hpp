#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/train/torch/cuda/kernels.h"

namespace hippo {

/// Where the dropout masks of one iteration come from.
struct dropout_source {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t iteration = 0;
  double share = 0; ///< of activations dropped
};

/// Values that a training step reads and that change at every step: those of
/// the hyper-parameters above all. On a GPU they lie in device memory, always
/// in the same place: a step that was recorded once is run again with other
/// values.
class step_values {
public:
  explicit step_values(at::Device device);

  /// A change counts from the next `publish` on; on a CPU at once.
  hippo_cuda_step* operator->() { return &values_; }
  const hippo_cuda_step* operator->() const { return &values_; }
  const hippo_cuda_step& operator*() const { return values_; }

  /// Begins anew: with that dropout, and nothing else.
  void reset(const dropout_source& drop = {});

  /// Has what is launched from now on read the values as they are.
  void publish();

  /// Whether anything drops out.
  [[nodiscard]] bool drops() const { return values_.dropout_scale != 1; }

  /// The values, for kernels on the device.
  [[nodiscard]] const hippo_cuda_step* published() const;

  /// Returns `hippo_cuda_step::clip` as a tensor that follows what is
  /// published.
  [[nodiscard]] at::Tensor clip() const;

private:
  hippo_cuda_step values_{};
  at::Tensor published_; ///< bytes on the device; undefined on a CPU
};

} // namespace hippo
