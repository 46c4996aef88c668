#include "hippo/sequence/sequence.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

sequence::sequence(std::vector<piece> pieces) {
  assert(!pieces.empty() && pieces.front().begin == 0);
  for (auto& x : pieces) {
    assert(pieces_.empty() || pieces_.back().begin <= x.begin);
    if (!pieces_.empty() && pieces_.back().begin == x.begin)
      pieces_.pop_back();
    if (pieces_.empty() || pieces_.back().shape != x.shape)
      pieces_.push_back(std::move(x));
  }
}

const form& sequence::form_at(step_t at) const {
  const auto after = std::upper_bound(
    pieces_.begin(), pieces_.end(), at,
    [](step_t step, const piece& x) { return step < x.begin; });
  return std::prev(after)->shape;
}

} // namespace hippo
