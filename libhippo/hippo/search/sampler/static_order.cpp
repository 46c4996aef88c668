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

void static_order::begin_with(std::vector<leaf_decisions> first) {
  first_ = std::move(first);
  for (std::uint64_t i = 0; size_ && i < first_.size(); ++i)
    given_.emplace(space_.index_of(first_[i]), i);
}

leaf_decider static_order::operator()(trial_no trial) const {
  const auto place = size_ ? trial % *size_ : trial;
  if (place < first_.size())
    return [decisions = first_[place], next = std::size_t{0}](
             const space_leaf&) mutable { return decisions[next++]; };
  if (!size_)
    return search_space::decider_of(seed_, trial);
  // A place whose combination is given gets the one that was to be there
  // instead: each of the others comes once.
  auto index = usual(place);
  for (auto i = given_.find(index); i != given_.end(); i = given_.find(index))
    index = usual(i->second);
  return space_.decider_at(index);
}

} // namespace hippo
