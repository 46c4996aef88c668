#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/train/torch/data/image_data.hpp"

namespace hippo {

/// How many images of a set a run uses: its first ones to train on, its last
/// ones to measure on.
struct image_split {
  std::size_t training = 0;
  std::size_t validation = 0;
};

// The readers below take the training files of a data set, each plain or
// gzipped. They throw `std::invalid_argument` if the two parts of the split
// would overlap, `missing_data_error` if a file is not there, and
// `std::runtime_error` if one is damaged.

/// Reads Fashion-MNIST (Xiao et al., 2017) from its IDX files in `folder`.
image_data read_fashion(const std::string& folder, const image_split& split);

/// Reads CIFAR-10 (Krizhevsky, 2009) from its binary files, which lie in
/// `folder` or in the folder `cifar-10-batches-bin` there.
image_data read_cifar10(const std::string& folder, const image_split& split);

/// Reads CIFAR-100 with its 100 fine labels, from `folder` or the folder
/// `cifar-100-binary` there.
image_data read_cifar100(const std::string& folder, const image_split& split);

/// Makes images of `form` that a network can learn to tell apart: each shows
/// the pattern of its class, a smooth one, and less of that of another, moved,
/// with a contrast of its own and noise. An image depends on the seed, its
/// number, the form and which part it belongs to, the same on every machine.
image_data make_images(const image_form& form, std::uint64_t seed,
                       const image_split& split);

/// An array of bytes from an IDX file (LeCun et al., 1998).
struct byte_array {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes; ///< the last dimension's lie side by side
};

/// Reads an IDX file of bytes, plain or gzipped, of at most 1 GiB.
/// Throws `std::runtime_error` if it is damaged or holds something else.
byte_array read_idx(const std::string& path);

} // namespace hippo
