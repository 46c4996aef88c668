// Graphs in parts, and GraphSAGE that is trained on them.

#include "hippo/train/torch/graph/graph_parts.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "hippo/train/torch/graph/delayed_sums.hpp"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "train/message_of.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

/// A graph by preferential attachment (Barabasi and Albert, 1999): each new
/// node has edges to `degree` earlier ones, drawn by their degrees.
graph attached(std::uint32_t nodes, std::uint32_t degree) {
  random_numbers numbers{1, purpose::graph, {}};
  std::vector<std::uint32_t> ends; // each node as often as it has edges
  std::vector<std::vector<std::uint32_t>> neighbours(nodes);
  for (std::uint32_t v = degree; v < nodes; ++v) {
    std::set<std::uint32_t> targets;
    while (targets.size() < degree)
      targets.insert(v == degree ? static_cast<std::uint32_t>(targets.size())
                                 : ends[numbers.below(ends.size())]);
    for (const auto u : targets) {
      neighbours[v].push_back(u);
      neighbours[u].push_back(v);
      ends.insert(ends.end(), {u, v});
    }
  }
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint32_t> list;
  for (const auto& some : neighbours) {
    list.insert(list.end(), some.begin(), some.end());
    offsets.push_back(static_cast<std::int64_t>(list.size()));
  }
  return {offsets, list};
}

/// The mean number of parts of a node with edges, and the largest load by the
/// mean one.
std::pair<double, double> quality(const std::vector<node_pair>& pairs,
                                  const std::vector<std::uint32_t>& parts_of,
                                  std::size_t parts) {
  std::map<std::uint32_t, std::set<std::uint32_t>> found;
  std::vector<double> loads(parts);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    found[pairs[i].first].insert(parts_of[i]);
    found[pairs[i].second].insert(parts_of[i]);
    ++loads[parts_of[i]];
  }
  double clones = 0;
  for (const auto& [node, some] : found)
    clones += static_cast<double>(some.size());
  return {clones / static_cast<double>(found.size()),
          std::ranges::max(loads) * static_cast<double>(parts)
            / static_cast<double>(pairs.size())};
}

TEST(GraphParts, LibraReplicatesLittleAndBalances) {
  const auto edges = attached(2000, 4);
  const auto pairs = ordered_pairs(edges, 1);
  ASSERT_EQ(pairs.size(), edges.rows().list.size() / 2);
  struct aim {
    std::size_t parts;
    double replication, of_random;
  };
  for (const auto& x :
       {aim{2, 1.42, 0.8}, aim{4, 1.88, 0.65}, aim{8, 2.34, 0.65}}) {
    const auto [replication, imbalance] =
      quality(pairs, libra_cut(pairs, 2000, static_cast<std::int64_t>(x.parts)),
              x.parts);
    std::vector<std::uint32_t> random;
    random_numbers numbers{2, purpose::parts, {}};
    for (std::size_t i = 0; i < pairs.size(); ++i)
      random.push_back(static_cast<std::uint32_t>(numbers.below(x.parts)));
    EXPECT_NEAR(replication, x.replication, 0.1) << x.parts;
    EXPECT_LE(replication, x.of_random * quality(pairs, random, x.parts).first);
    EXPECT_LE(imbalance, 1.05);
    const graph_parts made{edges, static_cast<std::int64_t>(x.parts), 1};
    EXPECT_DOUBLE_EQ(made.replication(), replication);
  }
}

TEST(GraphParts, LibraFollowsItsRules) {
  // Pairs in order, and where they go among three parts.
  const std::vector<std::pair<node_pair, std::uint32_t>> expected{
    {{0, 1}, 0}, // neither: the first of equals
    {{2, 3}, 1}, // neither: the least loaded
    {{0, 4}, 0}, // one has a part
    {{5, 6}, 2}, // neither
    {{1, 4}, 0}, // a common part
    {{2, 5}, 1}, // no common one: 2 has the lower degree, or an equal one
    {{5, 3}, 1}, // common, of the two of 5
    {{5, 0}, 0}, // no common one: 0 has 3 edges, 5 has 4
  };
  std::vector<node_pair> pairs;
  for (const auto& [pair, part] : expected)
    pairs.push_back(pair);
  const auto placed = libra_cut(pairs, 7, 3);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    EXPECT_EQ(placed[i], expected[i].second) << i;
}

TEST(GraphParts, ClonesHaveEachEdgeOnce) {
  const block_model model{150, 3, 0.1, 0.02};
  const auto edges = draw_graph(model, draw_blocks(model, 1), 1);
  for (const std::int64_t parts : {1, 2, 5, 64}) {
    const graph_parts made{edges, parts, 1};
    const auto rows = made.rows();
    std::vector<std::vector<std::uint32_t>> found(150);
    std::vector<double> shares(150);
    for (std::size_t c = 0; c < made.nodes().size(); ++c) {
      shares[made.nodes()[c]] += made.shares()[c];
      for (auto e = rows.offsets[c]; e < rows.offsets[c + 1]; ++e)
        found[made.nodes()[c]].push_back(
          made.nodes()[rows.list[static_cast<std::size_t>(e)]]);
    }
    std::size_t split = 0;
    for (std::uint32_t v = 0; v < 150; ++v) {
      std::ranges::sort(found[v]);
      EXPECT_TRUE(std::ranges::equal(found[v], edges.of(v)));
      EXPECT_EQ(made.nodes()[made.roots()[v]], v);
      EXPECT_NEAR(shares[v], edges.of(v).empty() ? 0 : 1, 1e-6);
      split += std::ranges::count(made.nodes(), v) > 1 ? 1 : 0;
    }
    const auto groups = made.split();
    EXPECT_EQ(groups.rows(), static_cast<std::int64_t>(split));
    EXPECT_EQ(split > 0, parts > 1);
    for (std::size_t i = 0; i < split; ++i) {
      const auto root =
        groups.list[static_cast<std::size_t>(groups.offsets[i])];
      EXPECT_EQ(made.roots()[made.nodes()[root]], root);
      for (auto k = groups.offsets[i]; k < groups.offsets[i + 1]; ++k)
        EXPECT_EQ(made.nodes()[groups.list[static_cast<std::size_t>(k)]],
                  made.nodes()[root]);
    }
  }
}

// -- delayed sums -------------------------------------------------------------

TEST(DelayedSums, ArriveAfterTheirDelayAndAsLongAgain) {
  constexpr std::int64_t delay = 3;
  const auto edges = attached(60, 3);
  const graph_parts parts{edges, 3, 1};
  const auto clones = static_cast<std::int64_t>(parts.nodes().size());
  const auto split = parts.split();
  const auto places = static_cast<std::int64_t>(split.list.size());
  const auto none = [&] { return at::zeros({places, 2}, at::kFloat); };
  const part_messages messages{none(), none(), none()};
  // The sum of clone c in epoch e, whole numbers that are exact in any order.
  const auto sum_at = [](std::int64_t clone, std::int64_t epoch,
                         std::int64_t feature) {
    return epoch < 0
             ? 0
             : static_cast<float>((clone + 1) * 100 + epoch * 3 + feature);
  };
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    auto rows = at::empty({clones, 2}, at::kFloat);
    for (std::int64_t c = 0; c < clones; ++c)
      for (std::int64_t i = 0; i < 2; ++i)
        rows[c][i] = sum_at(c, epoch, i);
    add_delayed(parts, static_cast<step_t>(epoch), delay, messages, rows);
    for (std::size_t group = 0; group + 1 < split.offsets.size(); ++group) {
      const auto first = split.offsets[group], end = split.offsets[group + 1];
      const auto clone = [&](std::int64_t place) {
        return static_cast<std::int64_t>(
          split.list[static_cast<std::size_t>(place)]);
      };
      // The last epoch in which the bucket of the node has exchanged.
      const std::int64_t bucket =
        static_cast<std::int64_t>(
          parts.nodes()[static_cast<std::size_t>(clone(first))])
        % delay;
      const auto last = epoch - (epoch - bucket + delay) % delay;
      for (auto place = first; place < end; ++place)
        for (std::int64_t i = 0; i < 2; ++i) {
          auto expected = sum_at(clone(place), epoch, i);
          for (auto other = first; other < end; ++other)
            if (other != place && last >= 0)
              expected += sum_at(
                clone(other),
                last
                  - static_cast<std::int64_t>(
                    place == first || other == first ? delay : 2 * delay),
                i);
          ASSERT_EQ(rows[clone(place)][i].item<float>(), expected)
            << epoch << ' ' << place - first << " of " << end - first;
        }
    }
  }
}

TEST(DelayedSums, ClonesHaveTheSumOfAll) {
  const graph_parts parts{attached(60, 3), 4, 1};
  const auto clones = static_cast<std::int64_t>(parts.nodes().size());
  const auto rows = at::arange(2 * clones, at::kFloat).view({clones, 2});
  auto expected = at::zeros({60, 2}, at::kFloat);
  for (std::int64_t c = 0; c < clones; ++c)
    expected[parts.nodes()[static_cast<std::size_t>(c)]] += rows[c];
  add_clones(parts, rows);
  for (std::int64_t c = 0; c < clones; ++c)
    EXPECT_TRUE(
      rows[c].equal(expected[parts.nodes()[static_cast<std::size_t>(c)]]));
}

// -- the workload -------------------------------------------------------------

constexpr auto name = "graph-sage-full";

workload_spec spec_of(double parts, double training = 1000) {
  auto spec = small_spec(name, training);
  spec.options["data.validation"] = 1000.;
  spec.options["parts"] = parts;
  return spec;
}

configuration with_delay(double delay) {
  auto config = default_configuration(name);
  config["delay"] = form::constant(delay);
  return config;
}

double accuracy(double delay) {
  const auto work = make_built_in(spec_of(16));
  work->init();
  work->train(with_delay(delay), 0, 100);
  return work->evaluate().at("val_accuracy");
}

TEST(PartsWorkload, DelayedSumsAreAlmostAsGood) {
  const auto exact = accuracy(1), delayed = accuracy(5), none = accuracy(0);
  EXPECT_GE(exact, 0.95);
  EXPECT_GE(delayed, exact - 0.01);
  EXPECT_GE(none, exact - 0.05);
  EXPECT_LT(none, delayed);
}

/// The weights of a state.
tensor_map weights_of(workload& work) {
  tensor_map result;
  for (const auto& [key, x] : tensors_from_bytes(work.save()))
    if (key.starts_with("model.convs."))
      result.emplace(key, x);
  return result;
}

TEST(PartsWorkload, WithoutDelayPartsChangeRoundingAlone) {
  auto config = with_delay(1);
  config["optimizer"] = form::text("sgd");
  config["lr"] = form::constant(0.1);
  const auto one = make_built_in(spec_of(1));
  one->init();
  one->train(config, 0, 20);
  for (const double parts : {2, 7}) {
    const auto many = make_built_in(spec_of(parts));
    many->init();
    many->train(config, 0, 20);
    const auto expected = weights_of(*one), found = weights_of(*many);
    ASSERT_EQ(expected.size(), 6);
    for (const auto& [key, x] : expected)
      EXPECT_LT((x - found.at(key)).abs().max().item<double>(), 1e-5) << key;
    EXPECT_NEAR(one->evaluate().at("val_loss"), many->evaluate().at("val_loss"),
                1e-5);
  }
  // With one part there is nobody to wait for.
  const auto other = make_built_in(spec_of(1));
  other->init();
  config["delay"] = form::constant(5);
  other->train(config, 0, 20);
  EXPECT_TRUE(other->save() == one->save());
}

TEST(PartsWorkload, CutAnywhereItGivesTheSameBytes) {
  const auto config = with_delay(3);
  const auto uncut = make_built_in(spec_of(4, 200)),
             cut = make_built_in(spec_of(4, 200));
  std::vector<std::string> states;
  uncut->init();
  states.push_back(uncut->save());
  for (step_t step = 0; step < 10; ++step) {
    uncut->train(config, step, step + 1);
    states.push_back(uncut->save());
  }
  for (step_t from = 0; from < 10; ++from) {
    cut->load(states[from]);
    const auto before = cut->evaluate();
    EXPECT_EQ(cut->evaluate(), before);
    cut->train(config, from, 10);
    EXPECT_TRUE(cut->save() == states[10]) << from;
  }
  // Messages that are under way are in the state.
  auto lost = tensors_from_bytes(states[8]);
  lost.at("model.parts.1.up").zero_();
  cut->load(to_bytes(lost));
  cut->train(config, 8, 9);
  EXPECT_FALSE(cut->save() == states[9]);
  uncut->init();
  EXPECT_TRUE(uncut->save() == states[0]);
}

TEST(PartsWorkload, EveryHyperParameterAndOptionMatters) {
  const auto trained = [](const workload_spec& spec,
                          const configuration& config) {
    const auto work = make_built_in(spec);
    work->init();
    work->train(config, 0, 5);
    return work->save();
  };
  const auto plain = trained(spec_of(4, 200), with_delay(2));
  const std::map<std::string, form> values{
    {"lr", form::constant(0.03)},          {"optimizer", form::text("sgd")},
    {"momentum", form::constant(0.5)},     {"beta2", form::constant(0.9)},
    {"weight_decay", form::constant(0.1)}, {"dropout", form::constant(0)},
    {"delay", form::constant(0)}};
  for (const auto& [parameter, unused] : with_delay(2)) {
    auto other = with_delay(2);
    other[parameter] = values.at(parameter);
    EXPECT_FALSE(trained(spec_of(4, 200), other) == plain) << parameter;
  }
  EXPECT_FALSE(trained(spec_of(3, 200), with_delay(2)) == plain);
  EXPECT_NE(message_of<std::exception>(
              [&] { make_built_in(spec_of(3, 200))->load(plain); }),
            "");
}

} // namespace
} // namespace hippo
