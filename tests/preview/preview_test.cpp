#include "hippo/forecast/preview/preview.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "hippo/search/tuner.hpp"
#include "preview/previewed.hpp"

namespace hippo {
namespace {

using test::accepted;
using test::workloads;

constexpr auto late
  = "{x: {choice: [1, {multistep: {initial: 1, milestones: [4], gamma: 2}},"
    " {multistep: {initial: 1, milestones: [9], gamma: 2}}]},"
    " y: {choice: [1, 2]}}";

/// Counts the steps of trials, and those that are left when equal beginnings
/// count once: from their values alone.
struct counted_steps {
  std::uint64_t all = 0;
  std::set<std::string> beginnings;

  void add(const trial_parameters& x, step_t to) {
    std::string beginning;
    for (step_t t = 0; t < to; ++t) {
      for (const auto& [name, values] : x.sequences)
        beginning += name + '=' + to_text(values.form_at(t)) + ';';
      beginnings.insert(beginning);
    }
    all += to;
  }
};

TEST(Preview, StudiesOfSeveralMetricsAndConstraints) {
  const auto read = [](const std::string& more) {
    return admit_study("study: s\nworkload: toy\nmax_steps: 12\nspace: "
                         + std::string{late} + "\n" + more,
                       "s.yaml", workloads());
  };
  for (const auto* more :
       {"objective: [{metric: acc}, {metric: ms, direction: minimize}]\n"
        "algorithm: {asha: {eta: 2}}",
        "objective: {metric: acc}\nconstraints: ['acc >= 0.5', 'ms <= 5']\n"
        "algorithm: sha",
        "objective: {metric: acc}\nconstraints: ['ms <= 5']\n"
        "algorithm: {asha: {sampler: tpe}}\nbudget: {trials: 6}"}) {
    const auto study = read(more);
    ASSERT_TRUE(study.study) << to_text(study.errors.front());
    const auto found = preview({*study.study}, workloads());
    ASSERT_TRUE(found) << found.failure().message;
    ASSERT_TRUE(found->estimate) << more;
    EXPECT_LE(found->estimate->asked_steps, found->full.asked_steps) << more;
    EXPECT_GT(found->estimate->asked_steps, 0u) << more;
  }
}

TEST(Preview, ABudgetOfStepsIsNotExceeded) {
  const std::string points = "{x: {uniform: [0, 1]}}";
  for (const auto* algorithm : {"random", "tpe", "{asha: {eta: 2}}"}) {
    const auto study = accepted(points, algorithm, "budget: {steps: 100}");
    const auto found = preview({study}, workloads());
    ASSERT_TRUE(found) << found.failure().message;
    EXPECT_EQ(found->full.unique_steps, 100u) << algorithm;
    EXPECT_GE(found->trials, 9u) << algorithm; // of 12 steps each
    EXPECT_LE(found->trials, 100u) << algorithm;
  }
  const auto whole = accepted(late, "grid", "budget: {steps: 100}");
  const auto found = preview({whole}, workloads());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trials, 6u); // it has less to train than that
  EXPECT_LT(found->full.unique_steps, 100u);
}

/// Recipes of examples/recipes, with another workload.
accepted_study recipe(const std::string& steps, const std::string& space) {
  const auto read = admit_study(
    "study: s\nworkload: toy\nobjective: {metric: acc}\neval_every: 250\n"
    "max_steps: "
      + steps + "\nspace: " + space + "\nalgorithm: grid\n",
    "s.yaml", workloads());
  for (const auto& x : read.errors)
    ADD_FAILURE() << to_text(x);
  return read.study.value();
}

TEST(Preview, TrialsOfSeveralLengthsShareTheirPlateaus) {
  for (const auto& [decay, least] : {std::pair{"20%", 3.4}, {"10%", 4.9}}) {
    const auto study = recipe(
      "{choice: [1000, 2000, 3000, 4000, 5000]}",
      std::string{"{x: {wsd: {peak: 3e-3, warmup: 100, decay: "} + decay
        + ", shape: {choice: [linear, cosine, 1-sqrt]}}}}");
    const auto found = preview({study}, workloads());
    ASSERT_TRUE(found) << found.failure().message;
    tuner decisions{study.spec(), study.search(), {}};
    decisions.start();
    counted_steps steps;
    for (trial_no i = 0; i < decisions.trials(); ++i)
      steps.add(decisions.parameters(i), decisions.end_of(i));
    EXPECT_EQ(found->trials, 15u);
    EXPECT_EQ(found->full.asked_steps, 45'000u);
    EXPECT_EQ(found->full.delivered_steps, steps.all);
    EXPECT_EQ(found->full.unique_steps, steps.beginnings.size());
    EXPECT_GE(found->full.merge_rate, least) << decay;
    EXPECT_FALSE(found->estimate) << decay;
  }
}

TEST(Preview, SubnetworksShareWhateverTheLengthOfTrials) {
  const auto study = [](const std::string& steps, const std::string& more) {
    const auto read = admit_study(
      "study: s\nworkload: fashion-mlp\nobjective: {metric: val_accuracy}\n"
      "max_steps: "
        + steps + "\nspace: {dropout: 0.5" + more + "}\nalgorithm: grid\n",
      "s.yaml", built_in_workloads());
    for (const auto& x : read.errors)
      ADD_FAILURE() << to_text(x);
    return read.study.value();
  };
  const auto unique = [](const std::vector<accepted_study>& studies) {
    const auto found = preview(studies, built_in_workloads());
    EXPECT_TRUE(found) << found.failure().message;
    return found->full.unique_steps;
  };
  const std::string gyro = ", subnetworks: 256, subnetwork_period: 6.25";
  EXPECT_EQ(unique({study("40", gyro), study("80", gyro)}), 80u);
  // Ordinary dropout is the same whether a study says so or not.
  EXPECT_EQ(unique({study("40", ""), study("80", ", subnetworks: 0")}), 80u);
  EXPECT_EQ(unique({study("40", ""),
                    study("80", ", subnetworks: {piecewise: [[0, 0], [40, "
                                "256]]}, subnetwork_period: 2")}),
            80u);
  EXPECT_EQ(unique({study("40", ""), study("40", gyro)}), 80u);
}

TEST(Preview, MixturesAtTheEndShareTheTrunk) {
  std::string mixtures;
  for (int i = 0; i < 19; ++i)
    mixtures += (i == 0 ? "" : ", ") + std::to_string(i + 1);
  const auto found = preview(
    {recipe("1000", "{x: {piecewise: [[0, 0.5], [90%, {choice: [" + mixtures
                      + "]}]]}}")},
    workloads());
  ASSERT_TRUE(found) << found.failure().message;
  EXPECT_EQ(found->trials, 19u);
  EXPECT_EQ(found->full.unique_steps, 900u + 19 * 100);
  EXPECT_GE(found->full.merge_rate, 6.5);
}

TEST(Preview, FiguresAreThoseOfTheTrialsParameters) {
  for (const auto* algorithm :
       {"grid", "random", "sha", "{asha: {eta: 2}}", "hyperband", "median"}) {
    const auto study = accepted(late, algorithm, "budget: {trials: 6}");
    const auto found = preview({study}, workloads());
    ASSERT_TRUE(found) << found.failure().message;
    tuner decisions{study.spec(), study.search(), {}};
    decisions.start();
    counted_steps steps;
    for (trial_no i = 0; i < decisions.trials(); ++i)
      steps.add(decisions.parameters(i), 12);
    const auto& full = found->full;
    EXPECT_EQ(full.asked_steps, steps.all) << algorithm;
    EXPECT_EQ(full.delivered_steps, steps.all) << algorithm;
    EXPECT_EQ(full.unique_steps, steps.beginnings.size()) << algorithm;
    EXPECT_EQ(full.merge_rate,
              static_cast<double>(steps.all)
                / static_cast<double>(steps.beginnings.size()));
    if (!found->estimate)
      continue;
    const auto& likely = *found->estimate;
    EXPECT_LE(likely.delivered_steps, likely.asked_steps) << algorithm;
    EXPECT_EQ(likely.merge_rate,
              static_cast<double>(likely.delivered_steps)
                / static_cast<double>(likely.unique_steps));
  }
}

TEST(Preview, ItsTreeHasEachStepOnce) {
  const auto study = accepted(late, "grid");
  const auto found = preview({study}, workloads(), nullptr, 1000);
  ASSERT_TRUE(found) << found.failure().message;
  const auto& tree = found->tree.value();
  const auto all = tree.id.size();
  EXPECT_EQ(tree.all_nodes, all);
  std::uint64_t steps = 0, trials = 0;
  for (std::size_t i = 0; i < all; ++i) {
    EXPECT_LT(tree.begin[i], tree.end[i]);
    EXPECT_EQ(tree.known_to[i], tree.begin[i]);
    steps += tree.end[i] - tree.begin[i];
    if (tree.parent[i] == 0) {
      EXPECT_EQ(tree.begin[i], 0u);
      trials += tree.trials[i];
      continue;
    }
    ASSERT_LT(tree.parent[i], tree.id[i]);
    EXPECT_EQ(tree.end[tree.parent[i] - 1], tree.begin[i]);
  }
  EXPECT_EQ(steps, found->full.unique_steps);
  EXPECT_EQ(trials, found->trials);
  EXPECT_EQ(tree.label[0], "x=1;y=1");
  EXPECT_FALSE(preview({study}, workloads())->tree);
  const auto few = preview({study}, workloads(), nullptr, 3)->tree.value();
  EXPECT_EQ(few.id.size(), 3u);
  EXPECT_EQ(few.all_nodes, all);
}

// The trials of others are drawn, and nothing else changes by them.
TEST(Preview, ItsTreeHasTheTrialsOfOthersToo) {
  const auto study = accepted(late, "grid");
  stored_plan plan;
  const auto config = [](double x) {
    return configuration{{"x", form::constant(x)}, {"y", form::constant(1)}};
  };
  // As x=1, y=1 begins, until 4; then its own way; and one far from all.
  plan.nodes = {{node_id{1}, root_node, 0, 0, config(1)},
                {node_id{2}, node_id{1}, 4, 0, config(7)},
                {node_id{3}, root_node, 0, 0, config(9)}};
  plan.results = {{node_id{1}, 3, {{"acc", 1}}, ""},
                  {node_id{2}, 8, {{"acc", 1}}, ""}};
  const auto key = key_of(study.spec().workload);
  const std::map<std::string, stored_plan> known{{key, plan}};
  const std::map<std::string, std::vector<stored_end>> others{
    {key, {{node_id{1}, 3, 2}, {node_id{2}, 8, 1}, {node_id{3}, 12, 5},
           {node_id{77}, 1, 1}}}};
  const auto found = preview({study}, workloads(), &known, 1000, &others);
  ASSERT_TRUE(found) << found.failure().message;
  const auto alone = preview({study}, workloads(), &known, 1000);
  EXPECT_EQ(found->full.unique_steps, alone->full.unique_steps);
  EXPECT_EQ(found->full.known_steps, alone->full.known_steps);
  // Steps by how many of it and of others pass them: a step each, from values.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> steps;
  std::uint64_t mine = 0;
  const auto& tree = found->tree.value();
  for (std::size_t i = 0; i < tree.id.size(); ++i) {
    const auto length = tree.end[i] - tree.begin[i];
    steps[{tree.trials[i], tree.others[i]}] += length;
    mine += tree.trials[i] > 0 ? length : 0;
    EXPECT_LE(tree.begin[i], tree.known_to[i]);
  }
  EXPECT_EQ(mine, alone->full.unique_steps);
  EXPECT_EQ((steps[{3, 3}]), 3u); // all begin so, two others end there
  EXPECT_EQ((steps[{3, 1}]), 1u); // up to where it goes its own way
  EXPECT_EQ((steps[{0, 1}]), 4u);
  EXPECT_EQ((steps[{0, 5}]), 12u);
  // Of too many stages those that the study passes come first.
  const auto few
    = preview({study}, workloads(), &known, 4, &others)->tree.value();
  ASSERT_EQ(few.trials.size(), 4u);
  for (const auto trials : few.trials)
    EXPECT_GT(trials, 0u);
  EXPECT_EQ(few.all_nodes, tree.all_nodes);
}

// Trials that median stopping ends on their way were asked for to the end.
TEST(Preview, WhatIsAskedForAndNeverTrainedIsNotInTheRate) {
  const auto study =
    accepted("{y: {uniform: [0, 1]}}", "{median: {max_concurrent: 1}}",
             "budget: {trials: 20}");
  const auto found = preview({study}, workloads());
  ASSERT_TRUE(found && found->estimate);
  EXPECT_EQ(found->estimate->asked_steps, 240u);
  EXPECT_LT(found->estimate->delivered_steps, 200u);
  EXPECT_EQ(found->estimate->unique_steps, found->estimate->delivered_steps);
  EXPECT_EQ(found->estimate->merge_rate, 1);
}

} // namespace
} // namespace hippo
