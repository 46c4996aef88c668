#include "hippo/train/torch/graph/graph.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/base/portable_math.hpp"
#include "hippo/train/torch/kernels/kernels.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

namespace {

/// The purposes of a graph's random numbers.
enum class part : std::uint64_t { block, edge };

random_numbers numbers_of(std::uint64_t seed, part use, std::int64_t node) {
  return {seed,
          purpose::graph,
          {static_cast<std::uint64_t>(use), static_cast<std::uint64_t>(node)}};
}

/// Calls `add(i, j)` for each edge with i < j.
template <class Add>
void each_edge(const block_model& model,
               const std::vector<std::uint32_t>& blocks, std::uint64_t seed,
               const Add& add) {
  const auto most = std::max(model.within, model.between);
  if (1 - most == 1)
    return; // so unlikely that random numbers do not tell it from 0
  // Candidates are as likely as the likelier kind of edge: gaps between them
  // are drawn, and not every pair.
  const auto log_none = portable_log(1 - most);
  for (std::int64_t i = 0; i < model.nodes; ++i) {
    auto numbers = numbers_of(seed, part::edge, i);
    for (std::int64_t j = i;;) {
      const auto gap = portable_log(1 - numbers.uniform()) / log_none;
      if (gap >= static_cast<double>(model.nodes - 1 - j))
        break;
      j += 1 + static_cast<std::int64_t>(gap);
      const auto likely = blocks[static_cast<std::size_t>(i)]
                              == blocks[static_cast<std::size_t>(j)]
                            ? model.within
                            : model.between;
      if (numbers.uniform() * most < likely)
        add(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j));
    }
  }
}

/// The nearest points so far of one point.
class nearest {
public:
  void begin(std::size_t count) { found_.assign(count, {INT64_MAX, 0}); }

  void look_at(std::int64_t distance, std::uint32_t point) {
    if (distance >= found_.back().first)
      return; // points come in order: an equal one is of a larger number
    found_.back() = {distance, point};
    for (auto i = found_.size() - 1; i > 0 && found_[i] < found_[i - 1]; --i)
      std::swap(found_[i], found_[i - 1]);
  }

  void put_into(std::vector<std::uint32_t>& to) const {
    for (const auto& [distance, point] : found_)
      to.push_back(point);
  }

private:
  std::vector<std::pair<std::int64_t, std::uint32_t>> found_;
};

/// Products of rows of whole numbers up to 255 with each other.
class exact_products {
public:
  exact_products(const std::vector<float>& points, std::int64_t width)
    : points_(points), width_(width) {}

  /// Adds to `to` (rows x columns) the products of some rows with others.
  void add(std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
           std::int64_t columns, std::vector<std::int64_t>& to) {
    sums_.resize(static_cast<std::size_t>(rows * columns));
    for (std::int64_t at = 0; at < width_; at += exact_terms) {
      std::fill(sums_.begin(), sums_.end(), 0.0F);
      const auto from = [&](std::int64_t row) {
        return kernels::matrix{points_.data() + row * width_ + at, width_};
      };
      kernels::best().add_product(
        from(first_row), from(first_column).transposed(), rows,
        std::min(exact_terms, width_ - at), columns, sums_.data());
      for (std::size_t i = 0; i < sums_.size(); ++i)
        to[i] += static_cast<std::int64_t>(sums_[i]);
    }
  }

private:
  /// The sum of 256 products of two bytes is below 2^24, so it is exact.
  static constexpr std::int64_t exact_terms = 256;

  const std::vector<float>& points_;
  std::int64_t width_;
  std::vector<float> sums_;
};

} // namespace

graph::graph(std::vector<std::int64_t> offsets,
             std::vector<std::uint32_t> neighbours)
  : offsets_(std::move(offsets)), neighbours_(std::move(neighbours)) {
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("graph: " + why);
  };
  if (offsets_.empty() || offsets_.front() != 0)
    refuse("the offsets of rows must begin with 0");
  for (std::size_t v = 0; v + 1 < offsets_.size(); ++v)
    if (offsets_[v + 1] < offsets_[v])
      refuse("row " + std::to_string(v) + " begins at "
             + std::to_string(offsets_[v]) + " and ends at "
             + std::to_string(offsets_[v + 1]) + ": offsets must not fall");
  const auto edges = static_cast<std::int64_t>(neighbours_.size());
  if (offsets_.back() != edges)
    refuse("rows end at " + std::to_string(offsets_.back())
           + ", and the number of edges is " + std::to_string(edges)
           + ": both must be equal");
  std::size_t node = 0;
  for (std::size_t e = 0; e < neighbours_.size(); ++e) {
    while (offsets_[node + 1] <= static_cast<std::int64_t>(e))
      ++node;
    if (neighbours_[e] >= nodes())
      refuse("an edge leads from node " + std::to_string(node) + " to node "
             + std::to_string(neighbours_[e])
             + ", which is not there: the nodes are 0 to "
             + std::to_string(nodes() - 1));
  }
}

std::vector<std::uint32_t> draw_blocks(const block_model& model,
                                       std::uint64_t seed) {
  std::vector<std::uint32_t> result;
  for (std::int64_t i = 0; i < model.nodes; ++i)
    result.push_back(static_cast<std::uint32_t>(
      numbers_of(seed, part::block, i)
        .below(static_cast<std::uint64_t>(model.blocks))));
  return result;
}

graph draw_graph(const block_model& model,
                 const std::vector<std::uint32_t>& blocks, std::uint64_t seed) {
  assert(blocks.size() == static_cast<std::size_t>(model.nodes));
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(model.nodes) + 1);
  const auto both = [&](const auto& add) {
    each_edge(model, blocks, seed, [&](std::uint32_t i, std::uint32_t j) {
      add(i, j);
      add(j, i);
    });
  };
  both([&](std::uint32_t from, std::uint32_t) { ++offsets[from + 1]; });
  for (std::size_t v = 1; v < offsets.size(); ++v)
    offsets[v] += offsets[v - 1];
  auto ends = offsets;
  std::vector<std::uint32_t> neighbours(
    static_cast<std::size_t>(offsets.back()));
  both([&](std::uint32_t from, std::uint32_t to) {
    neighbours[static_cast<std::size_t>(ends[from]++)] = to;
  });
  return {std::move(offsets), std::move(neighbours)};
}

graph nearest_neighbours(const std::vector<float>& points, std::int64_t width,
                         std::int64_t count) {
  const auto size = static_cast<std::int64_t>(points.size()) / width;
  assert(count < size);
  constexpr std::int64_t rows_at_once = 64, columns_at_once = 512;
  std::vector<std::int64_t> squares;
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t sum = 0;
    for (const auto x :
         std::span{points}.subspan(static_cast<std::size_t>(i * width),
                                   static_cast<std::size_t>(width)))
      sum += static_cast<std::int64_t>(x) * static_cast<std::int64_t>(x);
    squares.push_back(sum);
  }
  exact_products products{points, width};
  std::vector<std::int64_t> offsets{0}, sums;
  std::vector<std::uint32_t> neighbours;
  std::vector<nearest> found(rows_at_once);
  for (std::int64_t row = 0; row < size; row += rows_at_once) {
    const auto rows = std::min(rows_at_once, size - row);
    for (auto& x : found)
      x.begin(static_cast<std::size_t>(count));
    for (std::int64_t column = 0; column < size; column += columns_at_once) {
      const auto columns = std::min(columns_at_once, size - column);
      sums.assign(static_cast<std::size_t>(rows * columns), 0);
      products.add(row, rows, column, columns, sums);
      // The square of the row is the same in all of its distances.
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          if (row + i != column + j)
            found[static_cast<std::size_t>(i)].look_at(
              squares[static_cast<std::size_t>(column + j)]
                - 2 * sums[static_cast<std::size_t>(i * columns + j)],
              static_cast<std::uint32_t>(column + j));
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      found[static_cast<std::size_t>(i)].put_into(neighbours);
      offsets.push_back(static_cast<std::int64_t>(neighbours.size()));
    }
  }
  return {std::move(offsets), std::move(neighbours)};
}

} // namespace hippo
