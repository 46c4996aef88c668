#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hippo {

/// How images are dealt out to the blocks of a cycle and to clients.
struct cyclic_deal {
  std::size_t classes = 0;
  std::size_t blocks = 0;  ///< class k of n belongs to block `k * blocks / n`
  std::size_t clients = 0; ///< to each an equal share of a block, to an image
  double skew = 0;     ///< share of a block's images that clients have by class
  double held_out = 0; ///< share of a block's images that no client has
};

/// The images of a block, by their numbers.
struct block_images {
  std::vector<std::uint32_t> training; ///< in the order of the clients
  std::vector<std::uint32_t> held_out; ///< at least one
  std::vector<std::uint32_t> validation;
};

/// Deals out images by their classes. The last training images of a block are
/// held out. The others stay in their order, but for evenly spread places of
/// the share `skew`, among which they are sorted by class.
/// Throws `std::invalid_argument` if a block has fewer training images than
/// there are clients, or no validation image.
std::vector<block_images>
deal_blocks(const cyclic_deal& deal,
            const std::vector<std::int64_t>& training_classes,
            const std::vector<std::int64_t>& validation_classes);

} // namespace hippo
