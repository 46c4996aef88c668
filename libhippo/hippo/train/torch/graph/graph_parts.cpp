#include "hippo/train/torch/graph/graph_parts.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

namespace {

/// The purposes of random numbers of parts.
enum class draw : std::uint64_t { order, root };

using part_list = std::vector<std::uint32_t>; ///< in ascending order

/// Returns the least loaded of some parts, of equals the first.
std::uint32_t least(const part_list& parts,
                    const std::vector<std::int64_t>& loads) {
  return *std::ranges::min_element(parts, {},
                                   [&](auto part) { return loads[part]; });
}

part_list common(const part_list& left, const part_list& right) {
  part_list result;
  std::ranges::set_intersection(left, right, std::back_inserter(result));
  return result;
}

void insert(part_list& to, std::uint32_t part) {
  const auto place = std::ranges::lower_bound(to, part);
  if (place == to.end() || *place != part)
    to.insert(place, part);
}

} // namespace

std::vector<node_pair> ordered_pairs(const graph& edges, std::uint64_t seed) {
  std::vector<node_pair> all;
  for (std::uint32_t v = 0; v < edges.nodes(); ++v)
    for (const auto u : edges.of(v))
      all.emplace_back(std::min(u, v), std::max(u, v));
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<node_pair> result;
  for (const auto i : random_order(
         all.size(),
         {seed, purpose::parts, {static_cast<std::uint64_t>(draw::order)}}))
    result.push_back(all[i]);
  return result;
}

std::vector<std::uint32_t> libra_cut(const std::vector<node_pair>& pairs,
                                     std::int64_t nodes, std::int64_t parts) {
  std::vector<std::int64_t> degrees(static_cast<std::size_t>(nodes)),
    loads(static_cast<std::size_t>(parts));
  for (const auto& [u, v] : pairs) {
    ++degrees[u];
    ++degrees[v];
  }
  part_list all;
  for (std::uint32_t part = 0; part < parts; ++part)
    all.push_back(part);
  std::vector<part_list> parts_of(static_cast<std::size_t>(nodes));
  const auto choice = [&](const node_pair& pair) {
    const auto& [u, v] = pair;
    const auto &us = parts_of[u], &vs = parts_of[v];
    if (us.empty() && vs.empty())
      return least(all, loads);
    if (us.empty() || vs.empty())
      return least(us.empty() ? vs : us, loads);
    if (const auto both = common(us, vs); !both.empty())
      return least(both, loads);
    return least(degrees[u] <= degrees[v] ? us : vs, loads);
  };
  std::vector<std::uint32_t> result;
  for (const auto& pair : pairs) {
    const auto part = choice(pair);
    result.push_back(part);
    ++loads[part];
    insert(parts_of[pair.first], part);
    insert(parts_of[pair.second], part);
  }
  return result;
}

graph_parts::graph_parts(const graph& edges, std::int64_t parts,
                         std::uint64_t seed) {
  const auto nodes = static_cast<std::size_t>(edges.nodes());
  auto pairs = ordered_pairs(edges, seed);
  const auto placed = libra_cut(pairs, edges.nodes(), parts);
  std::vector<std::pair<node_pair, std::uint32_t>> part_of;
  std::vector<part_list> parts_of(nodes);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    part_of.emplace_back(pairs[i], placed[i]);
    insert(parts_of[pairs[i].first], placed[i]);
    insert(parts_of[pairs[i].second], placed[i]);
  }
  std::ranges::sort(part_of);
  double connected = 0, clones = 0;
  for (const auto& some : parts_of) {
    connected += some.empty() ? 0 : 1;
    clones += static_cast<double>(some.size());
  }
  if (connected > 0)
    replication_ = clones / connected;
  for (std::size_t v = 0; v < nodes; ++v)
    if (parts_of[v].empty())
      parts_of[v].push_back(
        static_cast<std::uint32_t>(v % static_cast<std::size_t>(parts)));

  // Clones, part by part; `clones_of` has those of a node in order of parts.
  std::vector<std::vector<std::uint32_t>> clones_of(nodes);
  for (std::uint32_t part = 0; part < parts; ++part)
    for (std::uint32_t v = 0; v < nodes; ++v)
      if (std::ranges::binary_search(parts_of[v], part)) {
        clones_of[v].push_back(static_cast<std::uint32_t>(nodes_.size()));
        nodes_.push_back(v);
      }
  const auto clone_in = [&](std::uint32_t node, std::uint32_t part) {
    const auto place = std::ranges::lower_bound(parts_of[node], part);
    return clones_of[node]
                    [static_cast<std::size_t>(place - parts_of[node].begin())];
  };
  std::vector<std::vector<std::uint32_t>> sources(nodes_.size());
  for (std::uint32_t v = 0; v < nodes; ++v)
    for (const auto u : edges.of(v)) {
      const node_pair pair{std::min(u, v), std::max(u, v)};
      const auto part =
        std::ranges::lower_bound(part_of, std::pair{pair, std::uint32_t{0}})
          ->second;
      sources[clone_in(v, part)].push_back(clone_in(u, part));
    }
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint32_t> list;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    list.insert(list.end(), sources[i].begin(), sources[i].end());
    offsets.push_back(static_cast<std::int64_t>(list.size()));
    const auto all = edges.of(nodes_[i]).size();
    shares_.push_back(all == 0 ? 0
                               : static_cast<float>(sources[i].size())
                                   / static_cast<float>(all));
  }
  edges_ = graph{std::move(offsets), std::move(list)};

  for (std::uint32_t v = 0; v < nodes; ++v) {
    auto& own = clones_of[v];
    random_numbers numbers{
      seed, purpose::parts, {static_cast<std::uint64_t>(draw::root), v}};
    const auto root =
      own.begin() + static_cast<std::ptrdiff_t>(numbers.below(own.size()));
    roots_.push_back(*root);
    if (own.size() == 1)
      continue;
    std::rotate(own.begin(), root, root + 1);
    clones_.insert(clones_.end(), own.begin(), own.end());
    offsets_.push_back(static_cast<std::int64_t>(clones_.size()));
  }
}

} // namespace hippo
