#include <array>

#include <gtest/gtest.h>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;
using test::read;
using test::texts;

/// Spaces with all that may be in one: choices of sequences, choices within
/// them, hyper-parameters that a choice brings, ranges of each scale.
const std::vector<std::string> spaces{
  "{lr: {choice: [0.1, 0.01]}, batch_size: {choice: [32, 64]}}",
  "{lr: {uniform: [0.001, 1]}, momentum: {log_uniform: [1e-5, 0.9]}}",
  "{lr: {log_uniform: [1e-4, 1], points: 7}, batch_size: {int_uniform: [1, "
  "512]}}",
  "{lr: {normal: [0.5, 0.1]}, batch_size: {log_int_uniform: [1, 4096]}}",
  "{lr: {uniform: [0.1, 1], step: 0.1}, optimizer: {choice: [sgd, adamw]}}",
  "{lr: {choice: [0.1, {multistep: {initial: {choice: [0.1, 0.2]}, milestones:"
  " [{choice: [2, 3]}, 6], gamma: {uniform: [0.1, 0.5]}}},"
  " {piecewise: [[0, {choice: [0.1, 0.2]}], [{choice: [4, 5]}, 0.3]]}]}}",
  "{optimizer: {choice: [adamw, {value: sgd, with: {momentum: {choice: [0.8, "
  "{value: 0.9, with: {weight_decay: {uniform: [0, 0.1]}}}]}}}]}, lr: {choice:"
  " [0.3]}}",
};

/// Reads a study with this space whose first trial has these values.
study_file with_first(const std::string& space, const std::string& first) {
  return read("study: s\nworkload: toy\nobjective: {metric: accuracy}\n"
              "max_steps: 12\nspace: "
              + space + "\nfirst: [" + first + "]\n");
}

leaf_decider as_decided(const leaf_decisions& decisions) {
  return [decisions, next = std::size_t{0}](const space_leaf&) mutable {
    return decisions.at(next++);
  };
}

TEST(FirstTrials, EveryCombinationIsFoundByItsValues) {
  for (const auto& text : spaces) {
    const auto space = with_first(text, "").draft->space;
    ASSERT_FALSE(space.empty()) << text;
    for (std::uint64_t draw = 0; draw < 200; ++draw) {
      const auto wanted = space.sample(7, draw).shown;
      const auto file = with_first(text, wanted.dump());
      ASSERT_TRUE(file.study) << text << wanted << texts(file.errors)[0];
      EXPECT_EQ(space.decide(as_decided(file.study->first.at(0))).shown,
                wanted);
    }
  }
}

TEST(FirstTrials, AnIndexIsThatOfItsDecisions) {
  for (const auto& text : spaces) {
    const auto space = with_first(text, "").draft->space;
    for (std::uint64_t i = 0;
         i < std::min<std::uint64_t>(space.size().value_or(0), 500); ++i) {
      leaf_decisions decisions;
      const auto pick = space.decider_at(i);
      space.walk([&](const space_leaf& leaf) {
        return decisions.emplace_back(pick(leaf));
      });
      EXPECT_EQ(space.index_of(decisions), i) << text;
    }
  }
}

TEST(FirstTrials, LengthsAreAmongTheValues) {
  const auto text = [](const std::string& first) {
    return "study: s\nworkload: toy\nobjective: {metric: accuracy}\n"
           "max_steps: {choice: [4, 8]}\nspace: {lr: {choice: [1, 2]}}\n"
           "first: ["
           + first + "]\n";
  };
  for (const auto* name : {"max_steps", "steps.max"}) {
    const auto file = read(text("{" + std::string{name} + ": 8, lr: 2}"));
    ASSERT_TRUE(file.study) << texts(file.errors)[0];
    EXPECT_EQ(file.study->first, (std::vector<leaf_decisions>{{1, 1}}));
    EXPECT_EQ(file.study->space.index_of(file.study->first[0]), 3u);
  }
  EXPECT_NE(texts(read(text("{lr: 2}")).errors)[0].find(
              "'max_steps' is missing: it must be one of 4, 8"),
            std::string::npos);
}

TEST(FirstTrials, PercentagesAreGivenAsTheSpaceHasThem) {
  const auto file = with_first(
    "{weight_decay: {wsd: {peak: 0.1, warmup: 2, decay: {choice: ['25%',"
    " '50%']}}}}",
    "{weight_decay: {wsd: {peak: 0.1, warmup: 2, decay: 50%}}}");
  ASSERT_TRUE(file.study) << texts(file.errors)[0];
  EXPECT_EQ(file.study->first[0], leaf_decisions{1});
}

TEST(FirstTrials, NumbersAreTheSameHoweverTheyAreSpelt) {
  const auto file =
    with_first("{lr: {choice: [0.1, 1]}, momentum: {uniform: [0, 0.9]}}",
               "{lr: 1.0, momentum: 9e-1}");
  ASSERT_TRUE(file.study) << texts(file.errors)[0];
  EXPECT_EQ(file.study->first[0], (leaf_decisions{1, space_leaf::high_end}));
}

TEST(FirstTrials, WhatIsNotInTheSpaceIsRefusedWhereItStands) {
  const std::string space =
    "{lr: {choice: [0.1, 0.01]}, momentum: {uniform: [0.5, 0.9]},"
    " batch_size: {int_uniform: [16, 64]}, weight_decay: {choice: [0,"
    " {multistep: {initial: 0.1, milestones: [3], gamma: 0.1}}]}}";
  const std::string rest = ", batch_size: 16, weight_decay: 0}";
  const std::vector<std::pair<std::string, std::string>> cases{
    {"{lr: 0.2, momentum: 0.5" + rest,
     "first[0].lr: must be one of 0.1, 0.01, found '0.2'"},
    {"{lr: 0.1, momentum: 0.95" + rest,
     "first[0].momentum: must be from 0.5 to 0.9, found '0.95'"},
    {"{lr: 0.1, momentum: fast" + rest,
     "first[0].momentum: must be from 0.5 to 0.9, found 'fast'"},
    {"{lr: 0.1, momentum: [0.5]" + rest,
     "first[0].momentum: must be from 0.5 to 0.9, found a list"},
    {"{lr: 0.1, momentum: 0.5, batch_size: 16.5, weight_decay: 0}",
     "first[0].batch_size: must be one of the 49 values from 16 to 64, found"
     " '16.5'"},
    {"{lr: 0.1, momentum: 0.5, batch_size: 16, weight_decay: {multistep:"
     " {initial: 0.1, milestones: [4], gamma: 0.1}}}",
     "first[0].weight_decay: must be a value that the space has for it, found"
     " a map"},
    {"{lr: 0.1" + rest,
     "first[0]: 'momentum' is missing: it must be from 0.5 to 0.9"},
    {"{lr: 0.1, momentum: 0.5, batchsize: 3" + rest,
     "first[0].batchsize: the space has no hyper-parameter 'batchsize' beside"
     " these values, did you mean 'batch_size'?"},
    {"{lr: 0.1, momentum: 0.5" + rest + ", {lr: 1e-1, momentum: 0.50" + rest,
     "first[1]: has the values of first[0]"},
    {"7", "first[0]: must be a map with a value for each hyper-parameter, found"
          " '7'"},
    {"", "first: must be a list of 1 to 1000 maps with the values of a trial,"
         " found 0"},
  };
  for (const auto& [first, wanted] : cases) {
    const auto found = texts(with_first(space, first).errors);
    ASSERT_EQ(found.size(), 1u) << first;
    EXPECT_NE(found[0].find(wanted), std::string::npos) << found[0];
  }
}

TEST(FirstTrials, WhatFollowsFromOthersIsLeftOut) {
  const std::string space = "{lr: {choice: [0.1, 0.2]},"
                            " weight_decay: {product: [lr, 0.5]}}";
  EXPECT_TRUE(with_first(space, "{lr: 0.2}").study);
  const auto found =
    texts(with_first(space, "{lr: 0.2, weight_decay: 1}").errors);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("first[0].weight_decay: 'weight_decay' follows from"
                          " other hyper-parameters, and is left out"),
            std::string::npos)
    << found[0];
}

// -- prior --------------------------------------------------------------------

study_file with_prior(const std::string& space, const std::string& prior) {
  return read("study: s\nworkload: toy\nobjective: {metric: accuracy}\n"
              "max_steps: 12\nalgorithm: tpe\nspace: "
              + space + "\nprior: " + prior + "\n");
}

/// The values where all beliefs have their modes, and else the first.
std::string modes_of(const study_spec& study) {
  return study.space
    .decide([&](const space_leaf& leaf) -> std::uint64_t {
      for (const auto& x : study.prior)
        if (x.leaf == leaf.path())
          return x.mode;
      return 0;
    })
    .shown.dump();
}

TEST(Prior, HasItsModesWhereTheyAreGiven) {
  for (const auto& [space, prior, modes] :
       std::vector<std::array<std::string, 3>>{
         {"{lr: {log_uniform: [1e-4, 1]}, batch_size: {choice: [16, 32]}}",
          "{lr: {mode: 0.01}, batch_size: {mode: 32, strength: 0.5}}",
          R"({"lr":0.01,"batch_size":32})"},
         {"{lr: {choice: [0.1, {exponential: {initial: {uniform: [0.1, 1]},"
          " gamma: {choice: [0.8, 0.9]}}}]}}",
          "{lr: {mode: {exponential: {initial: 0.5, gamma: 0.9}}}}",
          R"({"lr":{"exponential":{"initial":0.5,"gamma":0.9}}})"},
         // The choice may bring what nothing is said of, and the other way.
         {"{optimizer: {choice: [adamw, {value: sgd, with: {momentum:"
          " {uniform: [0, 0.9]}}}]}}",
          "{optimizer: {mode: sgd}}", R"({"optimizer":"sgd","momentum":0.0})"},
         {"{optimizer: {choice: [adamw, {value: sgd, with: {momentum:"
          " {uniform: [0, 0.8]}}}]}}",
          "{optimizer: {mode: sgd}, momentum: {mode: 0.4}}",
          R"({"optimizer":"sgd","momentum":0.4})"}}) {
    const auto file = with_prior(space, prior);
    ASSERT_TRUE(file.study) << prior << texts(file.errors)[0];
    EXPECT_EQ(modes_of(*file.study), modes) << prior;
  }
  const auto file = with_prior("{lr: {uniform: [0.1, 1]}, momentum: {uniform:"
                               " [0, 0.9]}}",
                               "{momentum: {mode: 0.3, strength: 32}, lr:"
                               " {mode: 1}}");
  ASSERT_TRUE(file.study) << texts(file.errors)[0];
  ASSERT_EQ(file.study->prior.size(), 2u);
  EXPECT_EQ(file.study->prior[0].strength, 32);
  EXPECT_EQ(file.study->prior[1].strength, 2);
}

TEST(Prior, IsRefusedWhereItStands) {
  const std::string space =
    "{lr: {uniform: [0.1, 1]}, batch_size: {choice: [16, 32]},"
    " weight_decay: {product: [lr, 0.5]}}";
  for (const auto& [prior, wanted] :
       std::vector<std::pair<std::string, std::string>>{
         {"{lr: {mode: 2}}", "prior.lr.mode: must be from 0.1 to 1, found '2'"},
         {"{batch_size: {mode: 64}}",
          "prior.batch_size.mode: must be one of 16, 32, found '64'"},
         {"{lrr: {mode: 1}}", "prior.lrr: the space has no hyper-parameter "
                              "'lrr', did you mean 'lr'?"},
         {"{weight_decay: {mode: 0.1}}",
          "prior.weight_decay.mode: cannot be given: it follows from others"},
         {"{lr: 0.3}", "prior.lr: must be a map with mode, and perhaps "
                       "strength, found '0.3'"},
         {"{lr: {mode: 0.3, strength: 0}}",
          "prior.lr.strength: must be a number above 0 and up to 32, found"
          " '0'"},
         {"{lr: {mode: 0.3, strength: 33}}", "up to 32, found '33'"},
         {"{lr: {mode: 0.3, width: 1}}",
          "prior.lr.width: is unknown here: a belief has mode and strength"},
         {"[lr]", "prior: must be a map from hyper-parameters to beliefs"}}) {
    const auto found = texts(with_prior(space, prior).errors);
    ASSERT_EQ(found.size(), 1u) << prior;
    EXPECT_NE(found[0].find(wanted), std::string::npos) << found[0];
  }
}

// -- tags ---------------------------------------------------------------------

TEST(Tags, AreSortedAndCheckedWhereTheyStand) {
  const auto with_tags = [](const std::string& tags) {
    return read("study: s\nworkload: toy\nobjective: {metric: accuracy}\n"
                "max_steps: 12\nspace: {lr: {choice: [0.1, 0.2]}}\ntags: "
                + tags + "\n");
  };
  EXPECT_EQ(with_tags("[b, a, b, 2026]").study->tags,
            (std::vector<std::string>{"2026", "a", "b"}));
  for (const auto& [tags, wanted] :
       std::vector<std::pair<std::string, std::string>>{
         {"[]", "tags: must be a list of 1 to 32 tags, found 0"},
         {"a", "tags: must be a list of 1 to 32 tags, found 'a'"},
         {"['a,b']", "tags[0]: a tag is a text of 1 to 64 bytes without commas,"
                     " line breaks and spaces at its ends, found 'a,b'"},
         {"[a, {b: 1}]", "tags[1]: must be a tag, found a map"}}) {
    const auto found = texts(with_tags(tags).errors);
    ASSERT_EQ(found.size(), 1u) << tags;
    EXPECT_NE(found[0].find(wanted), std::string::npos) << found[0];
  }
}

} // namespace
} // namespace hippo
