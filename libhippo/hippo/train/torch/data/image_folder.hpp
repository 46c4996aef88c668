#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hippo/train/torch/data/image_files.hpp"

namespace hippo {

/// Reads JPEG files that lie as torchvision's `ImageFolder` and ImageNet have
/// them: those to train on in `folder/train/CLASS/`, those to measure on in
/// `folder/val/CLASS/`. The classes are the folders of `train`, by name.
///
/// The training images are in memory if that takes at most `bytes_max`, else
/// their files are decoded when they are needed; the pixels are the same.
///
/// Of each image the square in its middle is taken, scaled to `side` pixels by
/// averaging over areas. A run uses the first ones of each part of `split` in
/// an order that looks like chance and depends on their names alone.
///
/// Throws `missing_data_error` if a folder is not there or has no images,
/// `std::invalid_argument` if there are fewer images than the split wants, and
/// `std::runtime_error` if a file is damaged or a class of `val` is unknown.
image_data read_image_folder(const std::string& folder, std::size_t side,
                             const image_split& split, std::uint64_t bytes_max);

} // namespace hippo
