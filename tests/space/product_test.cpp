#include "hippo/space/product.hpp"

#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"
#include "hippo/sequence/configuration.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using namespace hippo::test;

search_space space_of(const std::string& text) {
  const auto file = read(with_space(text));
  EXPECT_EQ(texts(file.errors), std::vector<std::string>{}) << text;
  return file.study ? file.study->space : search_space{};
}

std::string error_of(const std::string& text) {
  const auto file = read(with_space(text));
  EXPECT_EQ(file.errors.size(), 1u) << text;
  return file.errors.empty()
           ? ""
           : file.errors[0].path + ": " + file.errors[0].message;
}

TEST(Products, AreNumbersOfTheirTrial) {
  const auto space = space_of("  lr: {choice: [0.1, 0.2]}\n"
                              "  weight_decay: {product: [lr, 0.3]}\n");
  EXPECT_EQ(space.size(), 2u);
  EXPECT_EQ(space.at(0).shown.dump(), R"({"lr":0.1,"weight_decay":0.03})");
  EXPECT_EQ(space.at(1).shown.dump(), R"({"lr":0.2,"weight_decay":0.06})");
  EXPECT_EQ(space.at(1).sequences.at("weight_decay").at(0), scalar{0.06});
  EXPECT_EQ(space.varied(), (std::set<std::string>{"lr", "weight_decay"}));
}

TEST(Products, NameWhatComesLaterToo) {
  const auto space = space_of("  weight_decay: {product: [lr, momentum, 0.5]}\n"
                              "  lr: {product: [momentum, 2]}\n"
                              "  momentum: {choice: [0.1, 0.2]}\n");
  EXPECT_EQ(space.at(1).shown.dump(),
            R"({"weight_decay":0.04,"lr":0.4,"momentum":0.2})");
}

// The final rate of a schedule is a share of the initial one.
TEST(Products, StandInSequencesAndNameTheirNumbers) {
  const auto space = space_of(
    "  lr: {linear: {from: {uniform: [0.1, 0.3], points: 3}, to: {product:"
    " [lr.linear.from, {choice: [0.1, 0.5]}]}, horizon: 10}}\n"
    "  weight_decay: {product: [lr.linear.to, 0.01]}\n");
  EXPECT_EQ(space.size(), 6u);
  EXPECT_EQ(space.at(3).shown.dump(),
            R"({"lr":{"linear":{"from":0.2,"to":0.1,"horizon":10}},)"
            R"("weight_decay":0.001})");
  const auto lists = space_of(
    "  lr: {piecewise: [[0, {choice: [0.1, 0.2]}], [4, {product: [0.5,"
    " 'lr.piecewise[0][1]']}]]}\n");
  EXPECT_EQ(lists.at(1).shown.dump(),
            R"({"lr":{"piecewise":[[0,0.2],[4,0.1]]}})");
}

// Merging sees values, however they came about.
TEST(Products, AreWhatTheirNumbersAre) {
  const auto made = space_of("  lr: 0.2\n"
                             "  weight_decay: {product: [lr, 0.1]}\n");
  const auto written = space_of("  lr: 0.2\n  weight_decay: 0.02\n");
  EXPECT_EQ(to_text(join(made.at(0).sequences, 12)[0].config),
            to_text(join(written.at(0).sequences, 12)[0].config));
}

TEST(Products, OfWholeNumbersAreWhole) {
  const auto space
    = space_of("  batch_size: {product: [32, {choice: [1, 2]}]}\n"
               "  lr: {product: [batch_size, 0.001]}\n");
  EXPECT_EQ(space.at(1).shown.dump(), R"({"batch_size":64,"lr":0.064})");
}

TEST(Products, SeeWhatTheirOptionBringsAndWhatAllBring) {
  const auto space = space_of(R"(  optimizer:
    choice:
      - value: sgd
        with: {lr: {choice: [0.1, 0.2]}, momentum: {product: [lr, 2]}}
      - value: adamw
        with: {lr: {constant: 0.01}}
  weight_decay: {product: [lr, 0.1]}
)");
  EXPECT_EQ(space.at(1).shown.dump(),
            R"({"optimizer":"sgd","lr":0.2,"momentum":0.4,)"
            R"("weight_decay":0.02})");
  EXPECT_EQ(space.at(2).shown["weight_decay"], 0.001);
}

TEST(Products, SayWhatIsWrong) {
  EXPECT_EQ(error_of("  lr: 0.1\n  weight_decay: {product: [lx, 2]}\n"),
            "space.weight_decay.product[0]: 'lx' is neither a number nor a "
            "hyper-parameter that every trial has which has this product, did "
            "you mean 'lr'?");
  EXPECT_EQ(error_of("  lr: {product: [lr, 2]}\n"),
            "space.lr.product: is made of itself: space.lr.product -> "
            "space.lr.product");
  EXPECT_EQ(
    error_of("  lr: {product: [momentum, 2]}\n  momentum: {product:"
             " [weight_decay, 2]}\n  weight_decay: {product: [lr, 1]}\n")
      .substr(0, 100)
      .find("is made of itself: ") != std::string::npos,
    true);
  EXPECT_EQ(error_of("  lr: {cosine: {initial: 0.1, end: 0.01, horizon: 9}}\n"
                     "  weight_decay: {product: [lr, 2]}\n"),
            "space.weight_decay.product[0]: 'lr' is not a number in every "
            "trial: space.lr is a sequence; name one of its numbers, such as "
            "lr.cosine.initial");
  EXPECT_EQ(error_of("  lr: {choice: [0.1, {cosine: {initial: 0.1, end:"
                     " 0.01, horizon: 9}}]}\n"
                     "  weight_decay: {product: [lr.cosine.initial, 2]}\n"),
            "space.weight_decay.product[0]: 'lr.cosine.initial' is not a "
            "number in every trial: space.lr.choice[0] has no "
            "'.cosine.initial'");
  EXPECT_EQ(error_of("  optimizer: {choice: [{value: sgd, with: {lr: 0.1}},"
                     " adamw]}\n  weight_decay: {product: [lr, 2]}\n")
              .substr(0, 60),
            "space.weight_decay.product[0]: 'lr' is neither a number nor ");
  EXPECT_EQ(error_of("  optimizer: sgd\n  lr: {product: [optimizer, 2]}\n"),
            "space.lr.product[0]: 'optimizer' is not a number in every trial: "
            "space.optimizer is something else");
  EXPECT_EQ(error_of("  lr: {product: [2]}\n"),
            "space.lr.product: must be a list of at least two numbers and "
            "names of values, found 1 item");
  EXPECT_EQ(error_of("  lr: {product: 2}\n").substr(0, 24),
            "space.lr.product: must b");
  EXPECT_EQ(error_of("  lr: {product: [1e200, 1e200]}\n"),
            "space.lr.product: may be beyond what a number can be");
}

// Whatever the ends of what it is made of, a product keeps its limits.
TEST(Products, AreCheckedAtTheEndsOfWhatTheyAreMadeOf) {
  EXPECT_EQ(error_of("  lr: {uniform: [0.1, 2]}\n"
                     "  weight_decay: {uniform: [0.1, 0.3]}\n"
                     "  momentum: {product: [lr, weight_decay, 2]}\n")
              .substr(0, 23),
            "space.momentum.product:");
  space_of("  lr: {uniform: [0.1, 2]}\n"
           "  weight_decay: {uniform: [0.1, 0.3]}\n"
           "  momentum: {product: [lr, weight_decay, 1.6]}\n");
  EXPECT_EQ(error_of("  lr: {choice: [1, 2, 3.5]}\n"
                     "  batch_size: {product: [lr, 2, 3, 1.5]}\n")
              .substr(0, 26),
            "space.batch_size.product: ");
}

/// A number of a trial by its name, found in another way than the library does.
double named(const nlohmann::ordered_json& trial, const std::string& name) {
  const auto inner = name.find(".linear.from");
  const auto& x = trial.at(name.substr(0, inner));
  return x.is_object() ? x.at("linear").at("from").get<double>()
                       : x.get<double>();
}

/// Checks what a trial has where its space has a product.
void expect_products(const nlohmann::ordered_json& space,
                     const nlohmann::ordered_json& value,
                     const nlohmann::ordered_json& trial) {
  if (space.is_object() && space.contains("product")) {
    double result = 1;
    for (const auto& x : space["product"])
      result *= x.is_string() ? named(trial, x.get<std::string>())
                              : x.get<double>();
    EXPECT_EQ(value.get<double>(), canonical(result)) << space << trial;
    return;
  }
  if (space.is_object() && !space.contains("choice")
      && !space.contains("uniform"))
    for (const auto& [key, x] : space.items())
      expect_products(x, value.at(key), trial);
}

/// Random spaces in which each hyper-parameter may be a product of others:
/// admission knows which of them there are no trials of.
TEST(Products, HoldInRandomSpaces) {
  const std::vector<std::string> names{"a", "b", "x.y", "x", "c"};
  std::mt19937_64 random{1};
  const auto below = [&](std::uint64_t n) { return random() % n; };
  workload_descriptor free;
  free.name = "free";
  free.metrics = {{"accuracy", direction::maximize, ""}};
  for (const auto& name : names)
    free.hyper_parameters.push_back(parameter(name, 0.0));
  int accepted = 0, circles = 0, others = 0;
  for (int i = 0; i < 400; ++i) {
    nlohmann::ordered_json space;
    for (const auto& name : names) {
      switch (below(4)) {
        case 0:
          space[name] = 1 + below(5);
          break;
        case 1:
          space[name] = {{"choice", {0.5, 2, 4}}};
          break;
        case 2:
          space[name] = {{"linear",
                          {{"from", {{"uniform", {1, 2}}}},
                           {"to", {{"product", {names[below(5)], 0.5}}}},
                           {"horizon", 5}}}};
          break;
        default:
          space[name] = {
            {"product",
             {names[below(5)] + (below(3) == 0 ? ".linear.from" : ""),
              names[below(5)]}}};
      }
    }
    const auto file = read_study(
      "study: s\nworkload: free\nobjective: {metric: accuracy}\nmax_steps: "
      "12\nspace: "
        + space.dump() + "\n",
      "s", {free});
    if (!file.study) {
      const auto& why = file.errors.at(0).message;
      const bool is_circle = why.find("itself") != std::string::npos;
      EXPECT_TRUE(is_circle || why.find("not a number") != std::string::npos)
        << space << why;
      ++(is_circle ? circles : others);
      continue;
    }
    ++accepted;
    for (std::uint64_t draw = 0; draw < 4; ++draw) {
      const auto trial = file.study->space.sample(1, draw).shown;
      for (const auto& [name, x] : space.items())
        expect_products(x, trial.at(name), trial);
    }
  }
  EXPECT_GT(accepted, 30);
  EXPECT_GT(circles, 20);
  EXPECT_GT(others, 20);
}

} // namespace
} // namespace hippo
