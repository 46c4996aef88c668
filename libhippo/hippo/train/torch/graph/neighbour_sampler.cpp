#include "hippo/train/torch/graph/neighbour_sampler.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace hippo {

namespace {

constexpr auto no_row = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view all_word = "all";

/// Reads one fanout; nothing: it is none.
std::optional<std::int64_t> fanout_from(std::string_view word) {
  if (word == all_word)
    return all_neighbours;
  std::int64_t result = 0;
  const auto* end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, result);
  if (code != std::errc{} || stop != end || result < 1 || result > fanout_max)
    return std::nullopt;
  return result;
}

} // namespace

std::vector<std::int64_t> fanouts_from(const std::string& name,
                                       const std::string& text,
                                       std::int64_t layers) {
  if (text == all_word)
    return std::vector(static_cast<std::size_t>(layers), all_neighbours);
  std::vector<std::int64_t> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto word = std::string_view{text}.substr(begin, end - begin);
    const auto fanout = fanout_from(word);
    if (!fanout)
      throw std::invalid_argument(
        name + " '" + text + "': '" + std::string{word}
        + "' is neither a number from 1 to " + std::to_string(fanout_max)
        + " nor the word all");
    result.push_back(*fanout);
    begin = end + 1;
  }
  if (static_cast<std::int64_t>(result.size()) != layers)
    throw std::invalid_argument(
      name + " '" + text + "' is for " + std::to_string(result.size())
      + " layers, and the workload has " + std::to_string(layers)
      + ": give one number for each, or all");
  return result;
}

void draw_subset(std::int64_t size, std::int64_t count, random_numbers numbers,
                 std::vector<std::int64_t>& to) {
  assert(count <= size);
  const auto first = static_cast<std::ptrdiff_t>(to.size());
  for (auto j = size - count; j < size; ++j) {
    const auto x = static_cast<std::int64_t>(
      numbers.below(static_cast<std::uint64_t>(j) + 1));
    const auto place = std::lower_bound(to.begin() + first, to.end(), x);
    if (place != to.end() && *place == x)
      to.push_back(j); // larger than all before
    else
      to.insert(place, x);
  }
}

neighbour_sampler::neighbour_sampler(const graph& edges,
                                     std::vector<std::int64_t> fanouts,
                                     std::uint64_t seed, purpose use,
                                     step_t epoch)
  : edges_(edges), fanouts_(std::move(fanouts)), seed_(seed), use_(use),
    epoch_(epoch), rows_(static_cast<std::size_t>(edges.nodes()), no_row) {}

std::uint32_t neighbour_sampler::row_of(std::uint32_t node,
                                        std::vector<std::uint32_t>& rows) {
  auto& row = rows_[node];
  if (row == no_row) {
    row = static_cast<std::uint32_t>(rows.size());
    rows.push_back(node);
  }
  return row;
}

sampled_nodes neighbour_sampler::sample(std::uint64_t batch,
                                        std::span<const std::uint32_t> nodes) {
  sampled_nodes result;
  for (const auto node : nodes)
    row_of(node, result.nodes);
  assert(result.nodes.size() == nodes.size());
  for (std::size_t layer = 0; layer < fanouts_.size(); ++layer) {
    const auto fanout = fanouts_[layer];
    const auto rows = result.nodes.size();
    layer_edges edges;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto node = result.nodes[row];
      const auto all = edges_.of(node);
      const auto size = static_cast<std::int64_t>(all.size());
      if (fanout == all_neighbours || size <= fanout) {
        for (const auto x : all)
          edges.list.push_back(row_of(x, result.nodes));
      } else {
        drawn_.clear();
        draw_subset(size, fanout, {seed_, use_, {epoch_, batch, layer, node}},
                    drawn_);
        for (const auto i : drawn_)
          edges.list.push_back(
            row_of(all[static_cast<std::size_t>(i)], result.nodes));
      }
      edges.offsets.push_back(static_cast<std::int64_t>(edges.list.size()));
    }
    result.layers.push_back(std::move(edges));
  }
  for (const auto node : result.nodes)
    rows_[node] = no_row;
  std::ranges::reverse(result.layers);
  return result;
}

} // namespace hippo
