#pragma once

#include <random>
#include <vector>

#include "hippo/model/goals.hpp"

namespace hippo {

/// Draws points of whole numbers from 0 to `most`: many are equal.
inline std::vector<losses> random_points(std::mt19937_64& draw,
                                         std::size_t count, std::size_t values,
                                         int most) {
  std::vector<losses> result(count, losses(values));
  for (auto& point : result)
    for (auto& value : point)
      value = static_cast<double>(draw() % static_cast<unsigned>(most + 1));
  return result;
}

} // namespace hippo
