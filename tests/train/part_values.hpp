#pragma once

#include <cstddef>
#include <vector>

namespace hippo {

using floats = std::vector<float>;

/// Values whose sums depend on the order of additions.
inline floats values_of(std::size_t part, std::size_t size) {
  floats result;
  for (std::size_t i = 0; i < size; ++i)
    result.push_back(
      1 / static_cast<float>(3 + ((part * 7919 + i * 104'729) % 1000)));
  return result;
}

/// The sums of consecutive parts as a tree, by hand.
inline floats tree(std::size_t first, std::size_t count, std::size_t size) {
  if (count == 1)
    return values_of(first, size);
  auto result = tree(first, count / 2, size);
  const auto upper = tree(first + count / 2, count / 2, size);
  for (std::size_t i = 0; i < size; ++i)
    result[i] += upper[i];
  return result;
}

} // namespace hippo
