#include "hippo/train/gang.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace hippo {

void sum_over_members(gang& members, std::span<float> values) {
  const auto rank = members.rank();
  // The halves that were sent away, by distance.
  std::vector<std::span<float>> sent;
  auto mine = values;
  const auto received =
    std::make_unique_for_overwrite<float[]>(values.size() / 2 + 1);
  for (std::size_t distance = 1; distance < members.size(); distance *= 2) {
    const auto lower = mine.first(mine.size() / 2);
    const auto upper = mine.last(mine.size() - lower.size());
    const bool is_upper = (rank & distance) != 0;
    mine = is_upper ? upper : lower;
    sent.push_back(is_upper ? lower : upper);
    const std::span theirs{received.get(), mine.size()};
    members.exchange(rank ^ distance, std::as_bytes(sent.back()),
                     std::as_writable_bytes(theirs));
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = is_upper ? theirs[i] + mine[i] : mine[i] + theirs[i];
  }
  for (auto distance = members.size() / 2; distance > 0; distance /= 2) {
    const auto& theirs = sent.back();
    members.exchange(rank ^ distance, std::as_bytes(mine),
                     std::as_writable_bytes(theirs));
    // The two are neighbours.
    mine = {std::min(mine.data(), theirs.data()), mine.size() + theirs.size()};
    sent.pop_back();
  }
}

member_range range_of_member(std::size_t things, std::size_t rank,
                             std::size_t size) {
  return {things * rank / size, things * (rank + 1) / size};
}

void gather_from_members(gang& members, std::span<std::byte> values,
                         std::size_t width) {
  if (values.empty())
    return;
  const auto things = values.size() / width;
  const auto rank = members.rank();
  // The values of `count` members, of which `first` is the first.
  const auto of = [&](std::size_t first, std::size_t count) {
    const auto begin =
      range_of_member(things, first, members.size()).first * width;
    const auto end =
      range_of_member(things, first + count - 1, members.size()).end * width;
    return values.subspan(begin, end - begin);
  };
  for (std::size_t distance = 1; distance < members.size(); distance *= 2) {
    const auto own = rank - rank % distance;
    members.exchange(rank ^ distance, of(own, distance),
                     of(own ^ distance, distance));
  }
}

} // namespace hippo
