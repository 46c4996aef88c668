#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hippo {

/// Grey images of 28 x 28 pixels with a label from 0 to 9 each.
struct image_set {
  static constexpr std::size_t side = 28;
  static constexpr std::size_t pixels = side * side;

  std::vector<float> images; ///< `pixels` for each image, row by row
  std::vector<std::int64_t> labels;
};

/// The training and the validation images of a run, normalised, and the value
/// that black has become.
struct fashion_data {
  image_set training;
  image_set validation;
  float black = 0;
};

/// Reads Fashion-MNIST's training file from `folder`, plain or gzipped: the
/// first `training` images and the last `validation` ones.
/// Throws `missing_data_error` if the files are not there, or
/// `std::runtime_error` if they are damaged.
/// REQUIRES: `training + validation <= 60000`
fashion_data read_fashion_data(const std::string& folder, std::size_t training,
                               std::size_t validation);

} // namespace hippo
