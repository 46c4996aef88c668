#include "hippo/search/sampler/static_order.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

namespace {

leaf_decider decider_of(leaf_decisions decisions) {
  return [decisions = std::move(decisions),
          next = std::size_t{0}](const space_leaf&) mutable {
    return decisions[next++];
  };
}

} // namespace

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
  begin_ = first_.size();
}

void static_order::follow(trial_no next, std::vector<leaf_decisions> tried) {
  assert(first_.empty() && later_.empty());
  if (!size_) // nothing comes twice
    return;
  std::ranges::sort(tried);
  const auto repeated = std::ranges::unique(tried);
  tried.erase(repeated.begin(), repeated.end());
  begin_with(std::move(tried));
  begin_ = next;
}

std::vector<static_order::later_trial>::const_iterator
static_order::later_from(trial_no trial) const {
  return std::ranges::lower_bound(later_, trial, {}, &later_trial::trial);
}

void static_order::give(trial_no trial, leaf_decisions values) {
  assert(later_.empty() || later_.back().trial < trial);
  later_.push_back({trial, std::move(values)});
}

std::optional<leaf_decisions> static_order::given(trial_no trial) const {
  const auto later = later_from(trial);
  if (later != later_.end() && later->trial == trial)
    return later->values.empty() ? std::nullopt : std::optional{later->values};
  const auto place = place_of(trial, later - later_.begin());
  return place < first_.size() ? std::optional{first_[place]} : std::nullopt;
}

leaf_decider static_order::operator()(trial_no trial) const {
  const auto later = later_from(trial);
  if (later != later_.end() && later->trial == trial)
    return decider_of(later->values);
  return at(place_of(trial, later - later_.begin()));
}

leaf_decider static_order::at(std::uint64_t wanted) const {
  const auto place = size_ ? wanted % *size_ : wanted;
  if (place < first_.size())
    return decider_of(first_[place]);
  if (!size_)
    return search_space::decider_of(seed_, wanted);
  // A place whose combination is given gets the one that was to be there
  // instead: each of the others comes once.
  auto index = usual(place);
  for (auto i = given_.find(index); i != given_.end(); i = given_.find(index))
    index = usual(i->second);
  return space_.decider_at(index);
}

} // namespace hippo
