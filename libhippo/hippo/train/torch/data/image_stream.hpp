#pragma once

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hippo/train/batch_pipeline.hpp"
#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/epoch_parts.hpp"

namespace hippo {

/// Training images that are too many for memory: threads read those of the next
/// batches, or parts of batches, while the ones before train.
class image_stream {
public:
  /// @param data whose training images are read; outlives this
  /// @param threads as for `batch_pipeline`
  /// REQUIRES: `data.make_reader`
  image_stream(const image_data& data, unsigned threads, at::Device device);

  /// Begins to read the parts of an epoch.
  void begin(const std::vector<std::uint32_t>& order, const epoch_parts& parts);

  /// Waits for the next part: the bytes of its images, in their order. Throws
  /// what reading one of them throws.
  at::Tensor next() { return *batches_->next(); }

  /// How long `next` has waited since `begin`.
  [[nodiscard]] std::chrono::nanoseconds waited() const {
    return batches_->waited();
  }

  /// Puts a part where kernels that are launched later read it: those of one
  /// size always in the same place.
  void put(const at::Tensor& part);

  /// Returns the arrays of all images with the pixels of the part that was put
  /// last.
  [[nodiscard]] hippo_cuda_images arrays(hippo_cuda_images all) const;

private:
  const image_data& data_;
  unsigned threads_;
  at::Device device_;
  std::optional<batch_pipeline<at::Tensor>> batches_;
  std::map<std::int64_t, at::Tensor> places_; ///< on a GPU, by images of a part
  at::Tensor present_;                        ///< the part that was put last
};

} // namespace hippo
