#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;
using test::read;
using test::texts;

search_space space_of(const std::string& text) {
  const auto file = read(test::with_space(text));
  for (const auto& x : file.errors)
    ADD_FAILURE() << to_text(x);
  return file.study ? file.study->space : search_space{};
}

/// All combinations as text, in the order of their index.
std::vector<std::string> all(const search_space& space) {
  std::vector<std::string> result;
  for (std::uint64_t i = 0; i < space.size().value_or(0); ++i)
    result.push_back(space.at(i).shown.dump());
  return result;
}

TEST(SearchSpace, OfConstantsHasOneCombination) {
  EXPECT_EQ(all(space_of("  lr: 0.1\n  batch_size: 64\n")),
            std::vector<std::string>{R"({"lr":0.1,"batch_size":64})"});
}

TEST(SearchSpace, SaysWhichCombinationsRespondToResults) {
  const auto space = space_of(
    "  lr: {choice: [0.1, {reduce_on_plateau: {initial: 0.1}}]}\n"
    "  momentum: {choice: [0.8, {reduce_on_plateau: {initial: 0.9}}]}\n"
    "  weight_decay: 0\n");
  std::vector<bool> found;
  for (std::uint64_t i = 0; i < *space.size(); ++i)
    found.push_back(space.at(i).responsive);
  EXPECT_EQ(found, (std::vector<bool>{false, true, true, true}));
}

TEST(SearchSpace, TheFirstHyperParameterVariesSlowest) {
  const std::vector<std::string> expected{
    R"({"lr":0.1,"batch_size":32})", R"({"lr":0.1,"batch_size":64})",
    R"({"lr":0.2,"batch_size":32})", R"({"lr":0.2,"batch_size":64})"};
  EXPECT_EQ(all(space_of("  lr: {choice: [0.1, 0.2]}\n"
                         "  batch_size: {choice: [32, 64]}\n")),
            expected);
}

TEST(SearchSpace, ChoicesMayBeAnywhere) {
  const auto space = space_of(R"(  lr:
    choice:
      - warmup:
          steps: {choice: [0, 3]}
          from: 0.01
          to: {choice: [0.1, 0.2]}
          then:
            choice: [{cosine: {horizon: {choice: [5, 9]}, end: 0.01}}, 0.1]
      - multistep: {initial: 0.1, milestones: [{choice: [2, 3]}, 6], gamma: 0.1}
      - multistep:
          {initial: 0.1, milestones: {choice: [[2], [3, 4]]}, gamma: 0.1}
      - choice: [0.5, {choice: [0.6, 0.7]}]
      - step:
          choice:
            - {initial: 1, size: 2, gamma: 0.5}
            - {initial: 1, size: 3, gamma: 0.5}
      - piecewise: [[0, {choice: [0.1, 0.2]}], [{choice: [4, 5]}, 0.3]]
)");
  EXPECT_EQ(space.size(), 2u * 2 * 3 + 2 + 2 + 3 + 2 + 4);
  const auto combinations = all(space);
  const std::set<std::string> distinct(combinations.begin(),
                                       combinations.end());
  EXPECT_EQ(distinct.size(), combinations.size());
}

TEST(SearchSpace, Ranges) {
  const auto values = [](const std::string& range) {
    std::vector<std::string> result;
    const auto space = space_of("  weight_decay: " + range + "\n");
    for (std::uint64_t i = 0; i < space.size().value_or(0); ++i)
      result.push_back(space.at(i).shown.at("weight_decay").dump());
    return result;
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(values("{uniform: [0, 1], points: 5}"),
            (list{"0.0", "0.25", "0.5", "0.75", "1.0"}));
  EXPECT_EQ(values("{log_uniform: [1e-5, 1e-3], points: 5}"),
            (list{"1e-05", "3.16227766017e-05", "0.0001", "0.000316227766017",
                  "0.001"}));
  EXPECT_EQ(values("{int_uniform: [1, 4]}"), (list{"1", "2", "3", "4"}));
  EXPECT_EQ(values("{int_uniform: [1, 4], points: 9}"),
            (list{"1", "2", "3", "4"}));
  EXPECT_EQ(values("{int_uniform: [1, 10], points: 3}"),
            (list{"1", "6", "10"}));
}

TEST(SearchSpace, VariedAreThoseThatCombinationsDifferIn) {
  using names = std::set<std::string>;
  EXPECT_EQ(space_of(R"(  lr: {choice: [0.1, 0.2]}
  optimizer: sgd
  weight_decay: {choice: [0.001]}
  momentum: {uniform: [0, 0.5]}
  batch_size:
    multistep: {initial: 32, milestones: [{choice: [2, 3]}], gamma: 2}
)")
              .varied(),
            (names{"batch_size", "lr", "momentum"}));
  EXPECT_EQ(search_space{}.varied(), names{});
}

TEST(SearchSpace, ContinuousRangesHaveNoSize) {
  EXPECT_FALSE(space_of("  lr: {uniform: [0.1, 0.2]}\n").size());
  EXPECT_FALSE(
    space_of("  lr: {choice: [0.1, {log_uniform: [0.1, 0.2]}]}\n").size());
}

TEST(SearchSpace, SizesAbove64BitsAreNone) {
  const auto decay = [](int choices) {
    std::string text = "  weight_decay: {piecewise: [[0, 1]";
    for (int i = 0; i < choices; ++i)
      text += ", [" + std::to_string(i + 1) + ", {int_uniform: [1, 512]}]";
    return space_of(text + "]}\n").size();
  };
  EXPECT_EQ(decay(7), std::uint64_t{1} << 63);
  EXPECT_FALSE(decay(8));
}

constexpr auto conditional = R"(  optimizer:
    choice:
      - value: sgd
        with:
          momentum: {choice: [0.8, 0.9]}
          lr:
            choice:
              - 0.1
              - value: {multistep: {initial: 0.1, milestones: [6], gamma: 0.1}}
                with: {weight_decay: {choice: [0.1, 0.2, 0.3]}}
      - value: adamw
        with: {lr: {log_uniform: [1e-4, 1e-2], points: 3}}
      - {value: sgd}
  batch_size: {choice: [32, 64]}
)";

TEST(SearchSpace, OptionsBringFurtherHyperParameters) {
  const auto space = space_of(conditional);
  EXPECT_EQ(space.size(), (2u * (1 + 3) + 3 + 1) * 2);
  EXPECT_EQ(space.at(0).shown.dump(),
            R"({"optimizer":"sgd","momentum":0.8,"lr":0.1,"batch_size":32})");
  EXPECT_EQ(space.at(15).shown.dump(),
            R"({"optimizer":"sgd","momentum":0.9,"lr":{"multistep":{"initial":)"
            R"(0.1,"milestones":[6],"gamma":0.1}},"weight_decay":0.3,)"
            R"("batch_size":64})");
  EXPECT_EQ(space.at(16).shown.dump(),
            R"({"optimizer":"adamw","lr":0.0001,"batch_size":32})");
  EXPECT_EQ(space.at(23).shown.dump(),
            R"({"optimizer":"sgd","batch_size":64})");
  EXPECT_EQ(space.at(23).sequences.size(), 2u);
  EXPECT_EQ(space.at(15).sequences.at("weight_decay").at(0), scalar{0.3});
  const auto combinations = all(space);
  EXPECT_EQ(std::set(combinations.begin(), combinations.end()).size(), 24u);
}

/// Every combination of a value of a study file, by going through it.
std::set<std::string> brute_force(const json& x) {
  if (x.is_object() && x.contains("choice")) {
    std::set<std::string> result;
    for (const auto& option : x["choice"])
      result.merge(brute_force(option));
    return result;
  }
  if (!x.is_structured())
    return {x.dump()};
  std::set<std::string> result{""};
  for (const auto& [key, child] : x.items()) {
    std::set<std::string> longer;
    for (const auto& head : result)
      for (const auto& tail : brute_force(child))
        longer.insert(head + (head.empty() ? "" : ",")
                      + (x.is_object() ? json(key).dump() + ":" : "") + tail);
    result = std::move(longer);
  }
  std::set<std::string> closed;
  for (const auto& text : result)
    closed.insert(x.is_object() ? "{" + text + "}" : "[" + text + "]");
  return closed;
}

/// A random value for `piecewise` with choices anywhere; no two options alike.
class random_value {
public:
  explicit random_value(std::uint64_t seed) : state_(seed) {}

  json sequence() {
    if (next() % 4 == 0)
      return choice([this] { return sequence(); });
    auto list = json::array({json::array({0, number()})});
    for (auto begin = 1 + next() % 2; begin < 6; begin += 1 + next() % 3)
      list.push_back(json::array({begin, number()}));
    return {{"piecewise", list}};
  }

private:
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }

  json number() {
    if (next() % 3 == 0 && depth_ < 2) {
      ++depth_;
      auto result = choice([this] { return number(); });
      --depth_;
      return result;
    }
    return ++last_; // never the same twice
  }

  json choice(const std::function<json()>& option) {
    auto options = json::array();
    for (auto n = 1 + next() % 3; n > 0; --n)
      options.push_back(option());
    return {{"choice", options}};
  }

  std::uint64_t state_;
  int depth_ = 0;
  int last_ = 0;
};

TEST(SearchSpace, HoldsWhatBruteForceFinds) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    random_value random{seed};
    const json space{{"lr", random.sequence()},
                     {"weight_decay", random.sequence()}};
    const auto expected = brute_force(space);
    if (expected.size() > 20000)
      continue;
    // JSON is YAML.
    const auto found =
      all(space_of("  {\"lr\": " + space["lr"].dump() + ", \"weight_decay\": "
                   + space["weight_decay"].dump() + "}\n"));
    EXPECT_EQ(found.size(), expected.size()) << space;
    EXPECT_EQ(std::set(found.begin(), found.end()), expected) << space;
  }
}

TEST(SearchSpace, DrawsAreAddressed) {
  const auto space = space_of(conditional);
  const auto same = space_of(conditional);
  std::set<std::string> seen;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const auto text = space.sample(1, draw).shown.dump();
    EXPECT_EQ(text, same.sample(1, draw).shown.dump());
    seen.insert(text);
  }
  EXPECT_GT(seen.size(), 20u);
  EXPECT_LE(seen.size(), 24u);
  int different = 0;
  for (std::uint64_t draw = 0; draw < 100; ++draw)
    different += space.sample(1, draw).shown != space.sample(2, draw).shown;
  EXPECT_GT(different, 60);
}

// Written down once: a change breaks every study that is replayed.
TEST(SearchSpace, DrawsStayTheSameForever) {
  const auto space = space_of("  lr: {log_uniform: [1e-4, 1]}\n"
                              "  batch_size: {int_uniform: [1, 1000]}\n"
                              "  momentum: {choice: [0.1, 0.2, 0.3, 0.4]}\n");
  EXPECT_EQ(space.sample(0, 0).shown.dump(),
            R"({"lr":0.00220725326167,"batch_size":666,"momentum":0.4})");
  EXPECT_EQ(space.sample(42, 1000).shown.dump(),
            R"({"lr":0.00255141523825,"batch_size":507,"momentum":0.4})");
}

TEST(SearchSpace, ADrawDoesNotDependOnItsNeighbours) {
  const auto two = space_of("  lr: {uniform: [0.1, 1]}\n"
                            "  momentum: {uniform: [0, 0.5]}\n");
  const auto one = space_of("  momentum: {uniform: [0, 0.5]}\n");
  for (std::uint64_t draw = 0; draw < 20; ++draw)
    EXPECT_EQ(two.sample(5, draw).shown["momentum"],
              one.sample(5, draw).shown["momentum"]);
}

TEST(SearchSpace, DrawsAreUniform) {
  const auto space = space_of("  lr: {log_uniform: [1e-4, 1]}\n"
                              "  weight_decay: {uniform: [0, 1]}\n"
                              "  batch_size: {int_uniform: [1, 7]}\n"
                              "  momentum: {choice: [0.1, 0.2, 0.3, 0.4]}\n");
  constexpr int draws = 20000;
  std::map<std::string, std::map<int, int>> counts;
  int equal_halves = 0;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const auto shown = space.sample(9, draw).shown;
    const auto lr = shown["lr"].get<double>();
    const auto decay = shown["weight_decay"].get<double>();
    ASSERT_GE(lr, 1e-4);
    ASSERT_LE(lr, 1);
    const auto decade = static_cast<int>(std::floor(-std::log10(lr)));
    ++counts["lr"][std::min(decade, 3)];
    ++counts["weight_decay"][static_cast<int>(decay * 10)];
    ++counts["batch_size"][shown["batch_size"].get<int>()];
    ++counts["momentum"]
            [static_cast<int>(shown["momentum"].get<double>() * 10)];
    equal_halves += (decay < 0.5) == (lr < 1e-2);
  }
  EXPECT_EQ(counts["lr"].size(), 4u);
  EXPECT_EQ(counts["weight_decay"].size(), 10u);
  EXPECT_EQ(counts["batch_size"].size(), 7u);
  EXPECT_EQ(counts["momentum"].size(), 4u);
  for (const auto& [name, bins] : counts)
    for (const auto& [bin, count] : bins) {
      const auto p = 1.0 / static_cast<double>(bins.size());
      const auto sigma = std::sqrt(draws * p * (1 - p));
      EXPECT_NEAR(count, draws * p, 5 * sigma) << name << " bin " << bin;
    }
  // Independent of each other.
  EXPECT_NEAR(equal_halves, draws / 2, 5 * std::sqrt(draws / 4.0));
}

TEST(SearchSpace, NothingToChooseHasOneCombination) {
  const search_space nothing;
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(nothing.size(), 1u);
  EXPECT_EQ(nothing.at(0).shown.dump(), "{}");
  EXPECT_EQ(nothing.sample(1, 1).shown.dump(), "{}");
}

// -- leaf by leaf -------------------------------------------------------------

constexpr auto leafy = "  lr:\n"
                       "    choice:\n"
                       "      - {value: {choice: [0.1, 0.2]}, with: {momentum:"
                       " {choice: [0.8, 0.9]}}}\n"
                       "      - constant: {log_uniform: [0.01, 1], points: 3}\n"
                       "  batch_size: {int_uniform: [2, 5]}\n";

TEST(SearchSpace, IsDecidedLeafByLeafInAFixedOrder) {
  const auto space = space_of(leafy);
  for (std::uint64_t i = 0; i < *space.size(); ++i) {
    const auto pick = space.decider_at(i);
    std::vector<std::string> decided, walked;
    const auto values = space.decide([&](const space_leaf& leaf) {
      decided.push_back(leaf.path());
      const auto way = pick(leaf);
      EXPECT_LT(way, leaf.ways());
      return way;
    });
    space.walk([&](const space_leaf& leaf) {
      walked.push_back(leaf.path());
      return pick(leaf);
    });
    EXPECT_EQ(walked, decided);
    EXPECT_EQ(std::set(decided.begin(), decided.end()).size(), decided.size());
    EXPECT_EQ(values.shown, space.at(i).shown);
    EXPECT_EQ(values.sequences, space.at(i).sequences);
  }
  EXPECT_EQ(space.decide(search_space::decider_of(7, 3)).shown,
            space.sample(7, 3).shown);
}

TEST(SearchSpace, SaysWhatALeafIs) {
  std::map<std::string, space_leaf> leaves;
  const auto space = space_of(leafy);
  for (std::uint64_t i = 0; i < *space.size(); ++i)
    space.walk([&](const space_leaf& leaf) {
      leaves.emplace(leaf.path(), leaf);
      return space.decider_at(i)(leaf);
    });
  ASSERT_EQ(leaves.size(), 5u);
  const auto& lr = leaves.at("space.lr.choice");
  EXPECT_TRUE(lr.is_choice());
  EXPECT_TRUE(lr.brings());
  EXPECT_FALSE(lr.is_ordered_choice());
  EXPECT_EQ(lr.ways(), 2u);
  const auto& momentum = leaves.at("space.lr.choice[0].with.momentum.choice");
  EXPECT_TRUE(momentum.is_ordered_choice());
  EXPECT_FALSE(momentum.brings());
  const auto& batch = leaves.at("space.batch_size.int_uniform");
  EXPECT_FALSE(batch.is_choice());
  EXPECT_FALSE(batch.is_ordered_choice());
  EXPECT_FALSE(batch.is_logarithmic());
  EXPECT_EQ(batch.ways(), 4u);
  EXPECT_EQ(batch.low(), 2);
  EXPECT_EQ(batch.high(), 5);
  EXPECT_TRUE(leaves.at("space.lr.choice[1].constant.log_uniform")
                .is_logarithmic());
  const auto ordered = [](const std::string& choice) {
    bool result = false;
    space_of("  lr: {choice: " + choice + "}\n")
      .walk([&](const space_leaf& leaf) {
        result = leaf.is_ordered_choice();
        return 0;
      });
    return result;
  };
  bool nested = false;
  space_of("  lr: {choice: [0.1, {choice: [0.2, {value: 0.3, with: {momentum:"
           " 0.9}}]}]}\n")
    .walk([&](const space_leaf& leaf) {
      nested = leaf.brings(); // what it brings is two choices away
      return 0;
    });
  EXPECT_TRUE(nested);
  EXPECT_TRUE(ordered("[3, 2, 1]"));
  EXPECT_FALSE(ordered("[1, 3, 2]"));
  EXPECT_FALSE(ordered("[1, {constant: 2}]"));
}

TEST(SearchSpace, WithoutHyperParametersAsksNothing) {
  const search_space none;
  none.walk([](const space_leaf&) -> std::uint64_t {
    ADD_FAILURE();
    return 0;
  });
  EXPECT_TRUE(none.decide({}).sequences.empty());
  EXPECT_TRUE(none.at(0).sequences.empty());
}

} // namespace
} // namespace hippo
