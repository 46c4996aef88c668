#include "hippo/train/torch/linear/cyclic_data.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace hippo {

namespace {

/// Returns the numbers of the images of each block.
std::vector<std::vector<std::uint32_t>>
by_block(const cyclic_deal& deal, const std::vector<std::int64_t>& classes) {
  std::vector<std::vector<std::uint32_t>> result(deal.blocks);
  for (std::size_t i = 0; i < classes.size(); ++i)
    result[static_cast<std::size_t>(classes[i]) * deal.blocks / deal.classes]
      .push_back(static_cast<std::uint32_t>(i));
  return result;
}

/// Sorts by class the images at evenly spread places.
/// @param share of all places
void sort_share(std::vector<std::uint32_t>& images, double share,
                const std::vector<std::int64_t>& classes) {
  std::vector<std::size_t> places;
  std::vector<std::uint32_t> sorted;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto place = static_cast<double>(i);
    if (std::floor((place + 1) * share) > std::floor(place * share)) {
      places.push_back(i);
      sorted.push_back(images[i]);
    }
  }
  std::ranges::stable_sort(sorted, {},
                           [&](std::uint32_t image) { return classes[image]; });
  for (std::size_t i = 0; i < places.size(); ++i)
    images[places[i]] = sorted[i];
}

/// A block in a message.
std::string named(std::size_t block, const cyclic_deal& deal) {
  return "block " + std::to_string(block) + " of data.blocks "
         + std::to_string(deal.blocks);
}

} // namespace

std::vector<block_images>
deal_blocks(const cyclic_deal& deal,
            const std::vector<std::int64_t>& training_classes,
            const std::vector<std::int64_t>& validation_classes) {
  auto training = by_block(deal, training_classes),
       validation = by_block(deal, validation_classes);
  std::vector<block_images> result(deal.blocks);
  for (std::size_t block = 0; block < deal.blocks; ++block) {
    auto& images = training[block];
    const auto held_out = static_cast<std::ptrdiff_t>(
      std::ceil(deal.held_out * static_cast<double>(images.size())));
    auto& to = result[block];
    to.held_out.assign(images.end() - held_out, images.end());
    images.resize(images.size() - to.held_out.size());
    if (images.size() < deal.clients)
      throw std::invalid_argument(
        "parts: " + std::to_string(deal.clients) + " of "
        + std::to_string(images.size()) + " images of " + named(block, deal)
        + " that are not held out: each part needs one; data.train is "
        + std::to_string(training_classes.size()));
    sort_share(images, deal.skew, training_classes);
    to.training = std::move(images);
    to.validation = std::move(validation[block]);
    if (to.validation.empty())
      throw std::invalid_argument("data.validation: none of "
                                  + std::to_string(validation_classes.size())
                                  + " images is of " + named(block, deal)
                                  + ": each block needs one to be measured on");
  }
  return result;
}

} // namespace hippo
