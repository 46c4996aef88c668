#pragma once

#include "hippo/train/torch/random.hpp"

// How an image is changed at random. Code for GPUs uses it, too.

namespace hippo {

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

/// Draws the augmentation of image `image` in epoch `step`.
constexpr augmentation draw_augmentation(std::uint64_t seed,
                                         std::uint64_t step,
                                         std::uint64_t image,
                                         const augmentation_strength& strength,
                                         int height, int width) {
  random_numbers numbers{seed, purpose::augment, {step, image}};
  const auto shifts = static_cast<std::uint64_t>(2 * strength.crop + 1);
  augmentation x;
  x.down = static_cast<int>(numbers.below(shifts)) - strength.crop;
  x.right = static_cast<int>(numbers.below(shifts)) - strength.crop;
  x.mirror = numbers.uniform() < strength.flip;
  // Drawn last: nothing above depends on it.
  x.cutout = strength.cutout;
  x.cutout_row =
    static_cast<int>(numbers.below(static_cast<std::uint64_t>(height)));
  x.cutout_column =
    static_cast<int>(numbers.below(static_cast<std::uint64_t>(width)));
  return x;
}

/// Returns the share of a class in what is to be said of an image, if a share
/// `smoothing` is spread over all classes.
constexpr float target_share(bool is_label, float smoothing, int classes) {
  const auto spread = smoothing / static_cast<float>(classes);
  return is_label ? spread + (1 - smoothing) : spread;
}

} // namespace hippo
