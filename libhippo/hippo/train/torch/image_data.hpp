#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hippo/train/torch/random.hpp"

namespace hippo {

/// What the images of a set have in common.
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

/// What every byte of a channel is to a network.
using normalised_bytes = std::array<float, 256>;

/// Returns a table of `(byte / 255 - mean) / deviation`.
normalised_bytes normalised(float mean, float deviation);

/// The training and the validation images of a run.
struct image_data {
  image_form form;
  image_set training;
  image_set validation;
  std::vector<normalised_bytes> values; ///< one table for each channel
};

/// How much images are changed at random.
struct augmentation_strength {
  int crop = 0;    ///< largest shift in pixels
  double flip = 0; ///< share of images mirrored
  int cutout = 0;  ///< side of the square that is taken out, in pixels
};

/// How one image is changed, in this order. Without values: not at all.
struct augmentation {
  bool mirror = false;   ///< left to right
  int down = 0;          ///< pixels that it moves; what comes in is black
  int right = 0;         ///< the same
  int cutout = 0;        ///< side of a square that becomes the mean, 0 ...
  int cutout_row = 0;    ///< ... (DeVries and Taylor, 2017), and the pixel ...
  int cutout_column = 0; ///< ... that is its centre; it may stick out
};

/// Draws the augmentation of an image from its own random numbers.
augmentation draw_augmentation(random_numbers numbers,
                               const augmentation_strength& strength,
                               const image_form& form);

/// Writes image `index` of `set` as a network reads it: in the order of
/// `image_set::pixels`.
/// REQUIRES: it moves by less than its height and width.
void put_image(const image_data& data, const image_set& set, std::size_t index,
               const augmentation& how, float* to);

} // namespace hippo
