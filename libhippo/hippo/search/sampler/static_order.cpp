#include "hippo/search/sampler/static_order.hpp"

#include <cassert>
#include <utility>

namespace hippo {

static_order::static_order(search_space space, std::uint64_t seed,
                           bool shuffled)
  : space_(std::move(space)), seed_(seed), size_(space_.size()) {
  assert(shuffled || size_);
  if (size_ && shuffled)
    order_.emplace(*size_, seed_);
}

leaf_decider static_order::operator()(trial_no trial) const {
  if (!size_)
    return search_space::decider_of(seed_, trial);
  const auto index = trial % *size_;
  return space_.decider_at(order_ ? (*order_)(index) : index);
}

} // namespace hippo
