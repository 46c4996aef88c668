#pragma once

#include <torch/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "hippo/train/torch/augmentation.hpp"
#include "hippo/train/torch/cuda/kernels.h"

namespace hippo {

/// The common form of the images of a set.
struct image_form {
  std::size_t channels = 1;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t classes = 0;

  /// Bytes of an image.
  [[nodiscard]] std::size_t size() const { return channels * height * width; }
};

/// Images with a label each.
struct image_set {
  /// For each image its rows, of each row the pixels, of each pixel the
  /// channels.
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels; ///< from 0 to below `classes`
};

/// A network's input for every byte of a channel.
using normalised_bytes = std::array<float, 256>;

/// Returns a table of `(byte / 255 - mean) / deviation`.
normalised_bytes normalised(float mean, float deviation);

/// Writes the pixels of an image. One thread at a time uses it.
using image_reader = std::function<void(std::size_t image, std::uint8_t* to)>;

/// The training and the validation images of a run.
struct image_data {
  image_form form;
  image_set training; ///< without pixels if there is a `make_reader`
  image_set validation;
  std::vector<normalised_bytes> values; ///< one table for each channel
  /// Makes readers of training images that are too many for memory; any thread
  /// may call it. Null: their pixels are in memory.
  std::function<image_reader()> make_reader{};
};

/// Writes the image at place `index` of the pixels of `set`, changed so, as a
/// network reads it: rows of pixels of channels.
/// @param stride floats from one pixel to the next
/// REQUIRES: it moves by less than its height and width.
void put_image(const hippo_cuda_images& set, std::size_t index,
               const augmentation& how, float* to, std::int64_t stride);

/// The images of a set where a device's kernels read them: in its memory, or
/// where that is too small in pinned memory of the machine.
class resident_images {
public:
  /// @param data what `set` is part of; both outlive this if the device is a
  ///        CPU
  resident_images(const image_data& data, const image_set& set,
                  at::Device device);

  /// The arrays that kernels read, without an order.
  [[nodiscard]] const hippo_cuda_images& arrays() const { return arrays_; }

  /// The labels of the images, on the device.
  [[nodiscard]] const at::Tensor& labels() const { return labels_; }

private:
  at::Tensor pixels_; ///< bytes; undefined on a CPU
  at::Tensor values_; ///< the same
  at::Tensor labels_;
  hippo_cuda_images arrays_{};
};

/// Images, where a device's kernels read them.
struct loaded_images {
  /// Waits for the device.
  loaded_images(image_data images, at::Device device);
  loaded_images(const loaded_images&) = delete;
  loaded_images& operator=(const loaded_images&) = delete;

  const image_data data;
  const resident_images training;
  const resident_images validation;
};

/// An order in which a workload goes through images.
class image_order {
public:
  /// @param images outlive this
  image_order(const resident_images& images, at::Device device);

  /// Sets the order, for what is launched from now on.
  /// REQUIRES: the device has read the one before.
  void set(const std::vector<std::uint32_t>& order);

  [[nodiscard]] std::int64_t size() const { return arrays_.size; }

  /// The arrays that kernels read.
  [[nodiscard]] const hippo_cuda_images& arrays() const { return arrays_; }

private:
  at::Tensor order_; ///< on the machine
  at::Tensor published_;
  hippo_cuda_images arrays_;
};

} // namespace hippo
