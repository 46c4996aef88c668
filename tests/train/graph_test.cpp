// Graphs, the neighbours that are drawn from them, and GraphSAGE.

#include "hippo/train/torch/graph/graph.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hippo/train/torch/graph/graph_batches.hpp"
#include "hippo/train/torch/graph/neighbour_sampler.hpp"
#include "hippo/train/torch/graph/sage_network.hpp"
#include "hippo/train/torch/kernels/step_kernels.hpp"
#include "hippo/train/torch/networks/initial_weights.hpp"
#include "train/message_of.hpp"

namespace hippo {
namespace {

std::string refusal(std::vector<std::int64_t> offsets,
                    std::vector<std::uint32_t> neighbours) {
  return message_of<std::invalid_argument>([&] {
    graph{std::move(offsets), std::move(neighbours)};
  });
}

TEST(BlockModel, EdgesThatAreTooUnlikelyAreNone) {
  for (const double chance : {1e-17, 1e-300, 0.0}) {
    const block_model model{50, 2, chance, chance};
    EXPECT_EQ(draw_graph(model, draw_blocks(model, 1), 1).rows().list.size(),
              0u)
      << chance;
  }
}

TEST(Graph, RefusesRowsThatAreNone) {
  EXPECT_EQ(refusal({}, {}), "graph: the offsets of rows must begin with 0");
  EXPECT_EQ(refusal({1, 1}, {0}),
            "graph: the offsets of rows must begin with 0");
  EXPECT_EQ(refusal({0, 2, 1, 3}, {0, 1, 2}),
            "graph: row 1 begins at 2 and ends at 1: offsets must not fall");
  EXPECT_EQ(refusal({0, 1, 4}, {0, 1, 1}),
            "graph: rows end at 4, and the number of edges is 3: both must be "
            "equal");
}

TEST(Graph, RefusesEdgesToNodesThatAreNotThere) {
  EXPECT_EQ(refusal({0, 1, 1, 3}, {2, 0, 3}),
            "graph: an edge leads from node 2 to node 3, which is not there: "
            "the nodes are 0 to 2");
}

TEST(Graph, BlockModelsHaveTheirProbabilities) {
  const block_model model{600, 3, 0.1, 0.02};
  const auto blocks = draw_blocks(model, 5);
  const auto edges = draw_graph(model, blocks, 5);
  double inside = 0, outside = 0, inside_pairs = 0, outside_pairs = 0;
  for (std::uint32_t i = 0; i < 600; ++i) {
    const auto of = edges.of(i);
    EXPECT_TRUE(std::ranges::is_sorted(of));
    EXPECT_TRUE(std::ranges::adjacent_find(of) == of.end()) << "twice";
    for (const auto j : of) {
      EXPECT_NE(i, j);
      EXPECT_TRUE(std::ranges::binary_search(edges.of(j), i)) << "one way";
      ++(blocks[i] == blocks[j] ? inside : outside);
    }
    for (std::uint32_t j = 0; j < 600; ++j)
      if (i != j)
        ++(blocks[i] == blocks[j] ? inside_pairs : outside_pairs);
  }
  // Five standard deviations of half as many independent draws.
  EXPECT_NEAR(inside / inside_pairs, 0.1,
              5 * std::sqrt(2 * 0.1 / inside_pairs));
  EXPECT_NEAR(outside / outside_pairs, 0.02,
              5 * std::sqrt(2 * 0.02 / outside_pairs));
  EXPECT_NE(draw_blocks(model, 6), blocks);
  const block_model empty{600, 3, 0, 0};
  EXPECT_TRUE(draw_graph(empty, blocks, 5).rows().list.empty());
}

TEST(Graph, NearestNeighboursAreThoseOfAllDistances) {
  constexpr std::int64_t size = 150, width = 300, count = 4;
  random_numbers numbers{1, purpose::example, {}};
  std::vector<float> points;
  for (std::int64_t i = 0; i < size * width; ++i)
    points.push_back(static_cast<float>(numbers.below(256)));
  // Equally near ones.
  std::copy_n(points.begin(), width, points.begin() + 7 * width);
  std::copy_n(points.begin(), width, points.begin() + 9 * width);
  const auto edges = nearest_neighbours(points, width, count);
  for (std::int64_t i = 0; i < size; ++i) {
    std::vector<std::pair<double, std::uint32_t>> all;
    for (std::int64_t j = 0; j < size; ++j) {
      double distance = 0;
      for (std::int64_t k = 0; k < width; ++k)
        distance +=
          std::pow(points[static_cast<std::size_t>(i * width + k)]
                     - points[static_cast<std::size_t>(j * width + k)],
                   2);
      if (i != j)
        all.emplace_back(distance, j);
    }
    std::ranges::sort(all);
    const auto found = edges.of(static_cast<std::uint32_t>(i));
    ASSERT_EQ(found.size(), count);
    for (std::size_t k = 0; k < count; ++k)
      EXPECT_EQ(found[k], all[k].second) << i;
  }
}

// -- neighbours ---------------------------------------------------------------

/// Draws a subset of `count` of the numbers below `size`.
using drawing = std::function<std::vector<std::int64_t>(
  std::int64_t size, std::int64_t count, random_numbers numbers)>;

std::vector<std::int64_t> ours(std::int64_t size, std::int64_t count,
                               random_numbers numbers) {
  std::vector<std::int64_t> result;
  draw_subset(size, count, numbers, result);
  return result;
}

/// The rule of the code that SALIENT's authors published, which draws below j
/// in place of j + 1.
std::vector<std::int64_t> published(std::int64_t size, std::int64_t count,
                                    random_numbers numbers) {
  std::set<std::int64_t> result;
  for (auto j = size - count; j < size; ++j) {
    const auto x = static_cast<std::int64_t>(
      j == 0 ? 0 : numbers.below(static_cast<std::uint64_t>(j)));
    result.insert(result.contains(x) ? j : x);
  }
  return {result.begin(), result.end()};
}

/// The statistic of a chi-square test of whether all subsets are as likely.
double chi_square(const drawing& draw, std::int64_t size, std::int64_t count,
                  double subsets) {
  constexpr std::uint64_t rounds = 20000;
  std::map<std::vector<std::int64_t>, double> found;
  for (std::uint64_t i = 0; i < rounds; ++i)
    ++found[draw(size, count, {3, purpose::neighbours, {i}})];
  const auto expected = static_cast<double>(rounds) / subsets;
  double result = (subsets - static_cast<double>(found.size())) * expected;
  for (const auto& [subset, times] : found)
    result += std::pow(times - expected, 2) / expected;
  return result;
}

TEST(Neighbours, AllSubsetsAreEquallyLikely) {
  struct sizes {
    std::int64_t size, count;
    double subsets;
    double limit; ///< of 1 in 1000, for subsets - 1 degrees of freedom
  };
  for (const auto& x : {sizes{2, 1, 2, 10.83}, sizes{6, 3, 20, 43.82},
                        sizes{7, 5, 21, 45.31}, sizes{8, 1, 8, 24.32}}) {
    EXPECT_LT(chi_square(ours, x.size, x.count, x.subsets), x.limit)
      << x.size << ' ' << x.count;
    EXPECT_GT(chi_square(published, x.size, x.count, x.subsets), x.limit)
      << "the published rule passes: " << x.size << ' ' << x.count;
  }
}

TEST(Neighbours, SubsetsAreSortedAndOfTheirSize) {
  for (std::int64_t size = 0; size < 30; ++size)
    for (std::int64_t count = 0; count <= size; ++count) {
      std::vector<std::int64_t> drawn{99};
      draw_subset(size, count, {1, purpose::neighbours, {}}, drawn);
      ASSERT_EQ(drawn.size(), static_cast<std::size_t>(count + 1));
      EXPECT_EQ(drawn.front(), 99) << "the numbers before stay";
      EXPECT_TRUE(std::is_sorted(drawn.begin() + 1, drawn.end()));
      EXPECT_EQ(std::set(drawn.begin() + 1, drawn.end()).size(),
                static_cast<std::size_t>(count));
      EXPECT_TRUE(count == 0 || drawn.back() < size);
    }
}

std::string fanout_refusal(const std::string& text) {
  return message_of<std::invalid_argument>(
    [&] { fanouts_from("fanouts", text, 2); });
}

TEST(Neighbours, FanoutsAreRead) {
  using list = std::vector<std::int64_t>;
  EXPECT_EQ(fanouts_from("fanouts", "10,5", 2), (list{10, 5}));
  EXPECT_EQ(fanouts_from("fanouts", "all,1000", 2), (list{0, 1000}));
  EXPECT_EQ(fanouts_from("fanouts", "all", 3), (list{0, 0, 0}));
  EXPECT_EQ(fanouts_from("fanouts", "7", 1), (list{7}));
  EXPECT_EQ(fanout_refusal("10,5,5"),
            "fanouts '10,5,5' is for 3 layers, and the workload has 2: give "
            "one number for each, or all");
  for (const std::string wrong : {"0", "", "x", "-1", "1001", "5 ", "1.5"})
    EXPECT_EQ(fanout_refusal("10," + wrong),
              "fanouts '10," + wrong + "': '" + wrong
                + "' is neither a number from 1 to 1000 nor the word all");
}

const block_model small_model{200, 3, 0.2, 0.05};

graph small_graph() {
  return draw_graph(small_model, draw_blocks(small_model, 1), 1);
}

TEST(Neighbours, EachLayerHasAllOrAsManyAsItsFanout) {
  const auto edges = small_graph();
  neighbour_sampler sampler{
    edges, {12, all_neighbours, 3}, 1, purpose::neighbours, 4};
  const std::vector<std::uint32_t> batch{5, 199, 0, 77};
  const auto drawn = sampler.sample(2, batch);
  EXPECT_EQ(std::set(drawn.nodes.begin(), drawn.nodes.end()).size(),
            drawn.nodes.size());
  ASSERT_EQ(drawn.layers.size(), 3);
  bool some_drawn = false, some_whole = false;
  std::int64_t rows = 4;
  EXPECT_TRUE(std::ranges::equal(std::span{drawn.nodes}.first(4), batch));
  for (std::size_t hop = 0; hop < 3; ++hop) {
    const std::size_t fanout = std::vector{12, 1000, 3}[hop];
    const auto& layer = drawn.layers[2 - hop];
    auto sources = rows;
    ASSERT_EQ(layer.rows().rows(), rows);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto all = edges.of(drawn.nodes[static_cast<std::size_t>(row)]);
      const auto first = layer.offsets[static_cast<std::size_t>(row)],
                 end = layer.offsets[static_cast<std::size_t>(row) + 1];
      ASSERT_EQ(end - first, std::min(fanout, all.size()));
      (all.size() > fanout ? some_drawn : some_whole) = true;
      std::vector<std::uint32_t> nodes;
      for (auto e = first; e < end; ++e) {
        sources = std::max<std::int64_t>(
          sources, layer.list[static_cast<std::size_t>(e)] + 1);
        nodes.push_back(drawn.nodes[layer.list[static_cast<std::size_t>(e)]]);
      }
      EXPECT_TRUE(std::ranges::includes(all, nodes)) << "in order, none twice";
      EXPECT_TRUE(std::ranges::adjacent_find(nodes) == nodes.end());
    }
    rows = sources;
  }
  EXPECT_TRUE(some_drawn && some_whole);
  EXPECT_EQ(rows, static_cast<std::int64_t>(drawn.nodes.size()));
}

TEST(Neighbours, ABatchDependsOnItsAddressAlone) {
  const auto edges = small_graph();
  const std::vector<std::uint32_t> one{1, 2, 3}, other{150, 3};
  const auto fresh = [&](std::uint64_t seed, purpose use, step_t epoch,
                         std::uint64_t batch) {
    return neighbour_sampler{edges, {3, 2}, seed, use, epoch}.sample(batch,
                                                                     one);
  };
  neighbour_sampler used{edges, {3, 2}, 1, purpose::neighbours, 1};
  used.sample(0, other);
  const auto plain = fresh(1, purpose::neighbours, 1, 5);
  EXPECT_EQ(used.sample(5, one), plain);
  EXPECT_NE(fresh(2, purpose::neighbours, 1, 5), plain);
  EXPECT_NE(fresh(1, purpose::measured_neighbours, 1, 5), plain);
  EXPECT_NE(fresh(1, purpose::neighbours, 2, 5), plain);
  EXPECT_NE(fresh(1, purpose::neighbours, 1, 6), plain);
}

TEST(Neighbours, BatchesAreEqualForAnyNumberOfThreads) {
  graph_data data{small_graph(), 2, {}, draw_blocks(small_model, 1), 3, {}, {}};
  for (std::size_t i = 0; i < 400; ++i)
    data.features.push_back(static_cast<float>(i));
  batch_plan plan{{}, 30, {4, 3}, 1};
  for (std::uint32_t i = 0; i < 200; ++i)
    plan.nodes.push_back(199 - i);
  const auto prepared = [&](unsigned threads) {
    batch_pipeline<graph_batch> batches{
      plan.batches(), threads, [&] { return make_batch_preparer(data, plan); }};
    std::vector<graph_batch> result;
    while (auto batch = batches.next())
      result.push_back(std::move(*batch));
    return result;
  };
  const auto plain = prepared(0);
  ASSERT_EQ(plain.size(), 7);
  EXPECT_EQ(plain.back().labels.size(), 20);
  EXPECT_EQ(plain[1].part.nodes.front(), 169);
  EXPECT_EQ(plain[1].features.front(), 338);
  EXPECT_EQ(plain[1].labels.front(), data.labels[169]);
  for (const unsigned threads : {1, 2, 8})
    EXPECT_EQ(prepared(threads), plain) << threads;
}

// -- the network --------------------------------------------------------------

at::Tensor numbers(at::IntArrayRef shape, std::uint64_t seed) {
  auto result = at::empty(shape, at::kFloat);
  random_numbers from{seed, purpose::example, {}};
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data_ptr<float>()[i] =
      static_cast<float>(2 * from.uniform() - 1);
  return result;
}

/// The edges of a layer as a matrix of shares.
at::Tensor as_matrix(const edge_rows& edges, std::int64_t columns) {
  auto result = at::zeros({edges.rows(), columns}, at::kDouble);
  for (std::int64_t i = 0; i < edges.rows(); ++i) {
    const auto first = edges.offsets[static_cast<std::size_t>(i)],
               end = edges.offsets[static_cast<std::size_t>(i) + 1];
    for (auto e = first; e < end; ++e)
      result[i][edges.list[static_cast<std::size_t>(e)]] +=
        1. / static_cast<double>(end - first);
  }
  return result;
}

/// The network in LibTorch's operations on doubles.
/// @param masks factors of hidden activations, for each layer but the last
at::Tensor reference(const std::vector<at::Tensor>& weights, at::Tensor rows,
                     const std::vector<at::Tensor>& edges,
                     const std::vector<at::Tensor>& masks) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    rows = edges[i].mm(rows).mm(weights[3 * i].t()) + weights[3 * i + 1]
           + rows.narrow(0, 0, edges[i].size(0)).mm(weights[3 * i + 2].t());
    if (i + 1 < edges.size())
      rows = rows.relu() * masks[i];
  }
  return rows;
}

void compare_with_autograd(double dropout) {
  const auto edges = small_graph();
  // No widths are multiples of those of registers.
  sage_network network{{37, 83, 5, 3}};
  put_initial_weights(network.parameters(), 1);
  std::vector<at::Tensor> weights;
  for (const auto& [name, x] : network.parameters()) {
    if (x.dim() == 1)
      x.copy_(numbers(x.sizes(), 9));
    weights.push_back(x.to(at::kDouble).set_requires_grad(true));
  }
  const auto part =
    neighbour_sampler{edges, {4, 3, 2}, 1, purpose::neighbours, 0}.sample(
      0, std::vector<std::uint32_t>{3, 1, 4, 15, 9, 2, 6});
  const auto rows = static_cast<std::int64_t>(part.nodes.size());
  const auto features = numbers({rows, 37}, 2);
  step_values values{at::kCPU};
  values.reset({1, 2, 3, dropout});
  std::vector<at::Tensor> matrices, masks;
  auto columns = rows;
  for (const auto& x : part.layers) {
    matrices.push_back(as_matrix(x.rows(), columns));
    columns = x.rows().rows();
    auto mask = at::ones({columns, 83}, at::kFloat);
    step_kernels::of(at::kCPU).drop(values, masks.size(), mask, mask);
    masks.push_back(mask.to(at::kDouble));
  }
  const auto scores = network.forward(features, part.layers, values);
  const auto expected =
    reference(weights, features.to(at::kDouble), matrices, masks);
  EXPECT_TRUE(scores.to(at::kDouble).allclose(expected, 1e-4, 1e-5));
  EXPECT_EQ(network.scores(features, part.layers).equal(scores), dropout == 0);

  const auto gradient = numbers(scores.sizes(), 3);
  (expected * gradient.to(at::kDouble)).sum().backward();
  network.go_back(gradient.clone(), part.layers, values);
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(network.parameters()[i]
                  .second.grad()
                  .to(at::kDouble)
                  .allclose(weights[i].grad(), 1e-4, 1e-5))
      << network.parameters()[i].first;

  const auto all = numbers({200, 37}, 4);
  const at::NoGradGuard no_grad;
  masks.assign(2, at::ones({1, 1}, at::kDouble));
  EXPECT_TRUE(
    network.scores(all, edges)
      .to(at::kDouble)
      .allclose(reference(weights, all.to(at::kDouble),
                          std::vector(3, as_matrix(edges.rows(), 200)), masks),
                1e-4, 1e-5));
}

TEST(Sage, ScoresAndGradientsAreThoseOfAutograd) {
  compare_with_autograd(0);
  compare_with_autograd(0.4);
}

} // namespace
} // namespace hippo
