#include "hippo/search/sampler/rounded_leaves.hpp"

#include <algorithm>
#include <cmath>

#include "hippo/space/space_node.hpp"

namespace hippo {

namespace {

constexpr auto end = static_cast<double>(space_leaf::high_end);

/// The decision for a number on a range.
std::uint64_t decision_for(const value_range& range, double number) {
  const auto share = std::clamp(range.share_of(number), 0.0, 1.0);
  return static_cast<std::uint64_t>(std::llround(share * end));
}

double value_at(const value_range& range, std::uint64_t decision) {
  return range.between(static_cast<double>(decision) / end).get<double>();
}

} // namespace

rounded_leaves::rounded_leaves(const search_space& space) {
  if (!space.empty())
    add(*space.root());
}

void rounded_leaves::add(const search_space::node& node) {
  const auto& range = node.range;
  const bool is_whole = rule_of(range.scale).is_whole;
  if (node.type == search_space::node::kind::range && range.points == 0
      && (is_whole || range.step > 0)) {
    rounded x{range, value_at(range, 0), is_whole ? 1 : range.step};
    const auto last = value_at(range, space_leaf::high_end);
    x.count =
      static_cast<std::uint64_t>(std::llround((last - x.first) / x.step)) + 1;
    ranges_.emplace(node.path, x);
  }
  for (const auto& child : node.children)
    add(child);
  for (const auto& child : node.brought)
    add(child);
}

const rounded_leaves::rounded*
rounded_leaves::find(const space_leaf& leaf) const {
  if (ranges_.empty() || leaf.is_choice() || leaf.ways() != 0)
    return nullptr;
  const auto i = ranges_.find(leaf.path());
  return i == ranges_.end() ? nullptr : &i->second;
}

std::uint64_t rounded_leaves::standing_for(const space_leaf& leaf,
                                           std::uint64_t decision) const {
  const auto* x = find(leaf);
  if (x == nullptr)
    return decision;
  const auto value = value_at(x->range, decision);
  const auto result = decision_for(x->range, value);
  // Values of a normal range far from its mean are those of few decisions.
  return value_at(x->range, result) == value ? result : decision;
}

std::optional<std::uint64_t>
rounded_leaves::values_of(const space_leaf& leaf) const {
  if (leaf.ways() > 0)
    return leaf.ways();
  const auto* x = find(leaf);
  return x == nullptr ? std::nullopt : std::optional{x->count};
}

std::uint64_t rounded_leaves::at(const space_leaf& leaf,
                                 std::uint64_t place) const {
  const auto* x = find(leaf);
  return x == nullptr
           ? place
           : standing_for(
             leaf,
             decision_for(x->range,
                          x->first + x->step * static_cast<double>(place)));
}

} // namespace hippo
