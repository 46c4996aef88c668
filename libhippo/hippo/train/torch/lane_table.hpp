#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hippo/train/torch/cuda/kernels.h"

namespace hippo {

/// Where a lane's dropout masks of one iteration come from.
struct dropout_source {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t iteration = 0;
  double share = 0; ///< of activations dropped
};

/// What a training step reads of each lane, the values of its hyper-parameters
/// above all. On a GPU it lies in device memory, always in the same place: a
/// step that was recorded once is run again with other values.
class lane_table {
public:
  lane_table(at::Device device, std::size_t lanes);

  [[nodiscard]] std::size_t lanes() const { return rows_.size(); }

  /// What is written here counts from the next `publish` on; on a CPU at once.
  hippo_cuda_lane& operator[](std::size_t lane) { return rows_[lane]; }
  const hippo_cuda_lane& operator[](std::size_t lane) const {
    return rows_[lane];
  }

  /// Lets a lane train, with that dropout.
  void activate(std::size_t lane, const dropout_source& drop);

  /// Lets all lanes rest.
  void clear();

  /// Has what is launched from now on read the rows as they are.
  void publish();

  /// Whether anything drops out in any lane.
  [[nodiscard]] bool drops() const;

  /// The rows, for kernels on the device.
  [[nodiscard]] const hippo_cuda_lane* published() const;

  /// Returns the lanes' `hippo_cuda_lane::clip` as a tensor that follows what is
  /// published.
  [[nodiscard]] at::Tensor clip() const;

private:
  std::vector<hippo_cuda_lane> rows_;
  at::Tensor published_; ///< bytes on the device; undefined on a CPU
};

} // namespace hippo
