#include "hippo/sequence/family/join.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace hippo::family {

namespace {

struct item {
  step_t begin;
  argument pair;
  argument value;
};

/// The items of which the begin is a number, in their order.
std::vector<item> items_of(const argument& in) {
  std::vector<item> result;
  for (const auto& pair : in.items()) {
    const auto parts = pair.items();
    if (parts.size() != 2) {
      if (!parts.empty())
        pair.error("must be a pair [begin, sequence], found "
                   + std::to_string(parts.size()) + " items");
      continue;
    }
    if (const auto begin = parts[0].begin_after(
          result.empty() ? std::nullopt : std::optional{result.back().begin}))
      result.push_back({*begin, pair, parts[1]});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const item& x, const item& y) {
                     return x.begin < y.begin;
                   });
  return result;
}

} // namespace

std::vector<piece> join(const argument& in) {
  auto items = items_of(in);
  if (items.empty())
    return {{0, form::constant(0)}};
  items.front().begin = 0;
  std::vector<piece> result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& [begin, pair, value] = items[i];
    pair.warn_unless_reached(begin);
    const auto end = i + 1 < items.size() ? std::optional{items[i + 1].begin}
                                          : std::nullopt;
    for (auto& x : value.sequence_between(begin, end))
      result.push_back(std::move(x));
    if (result.size() > piece_limit) {
      in.error("has more than " + std::to_string(piece_limit) + " pieces");
      break;
    }
  }
  return result;
}

} // namespace hippo::family
