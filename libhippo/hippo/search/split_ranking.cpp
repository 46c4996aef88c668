#include "hippo/search/split_ranking.hpp"

#include <cmath>
#include <iterator>

namespace hippo {

standing standing_of(std::uint64_t trial, double value, direction better) {
  if (std::isnan(value))
    return {true, 0, trial};
  return {false, better == direction::minimize ? value : -value, trial};
}

void split_ranking::insert(const standing& standing) {
  if (!best_.empty() && standing < *best_.rbegin())
    best_.insert(standing);
  else
    rest_.insert(standing);
}

void split_ranking::erase(const standing& standing) {
  if (best_.erase(standing) == 0)
    rest_.erase(standing);
}

void split_ranking::split(std::size_t best_size) {
  while (best_.size() > best_size)
    rest_.insert(best_.extract(std::prev(best_.end())));
  while (best_.size() < best_size && !rest_.empty())
    best_.insert(rest_.extract(rest_.begin()));
}

} // namespace hippo
