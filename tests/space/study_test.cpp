#include "hippo/space/study.hpp"

#include <gtest/gtest.h>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

using test::read;
using test::texts;
using lines = std::vector<std::string>;

// Like the example that docs/study-file.md begins with.
constexpr auto example = R"(study: lr-schedules
workload:                      # what is trained; equal workloads share
  name: fashion-cnn
  seed: 7
  data: {train: 20000, validation: 5000}
objective: {metric: val_accuracy, direction: maximize}
max_steps: 12               # in the workload's unit (here: epochs)
space:
  lr:
    choice:
      - constant: 0.1
      - multistep: {initial: 0.1, milestones: [6, 9], gamma: 0.1}
      - warmup: {steps: 2, from: 0.01, to: 0.1, then: {cosine: {horizon: 12, end: 0.001}}}
      - exponential: {initial: 0.1, gamma: {choice: [0.8, 0.9]}}
  batch_size: {choice: [64, {multistep: {initial: 64, milestones: [6], gamma: 2}}]}
  momentum: {choice: [0.9, {piecewise: [[0, 0.8], [4, 0.9]]}]}
  weight_decay: {log_uniform: [1e-5, 1e-3], points: 5}
algorithm: {asha: {eta: 3, min: 1}}
budget: {trials: 40, steps: 99, seconds: 600, device_hours: 0.5, cost: 12.5, deadline: 90m}
stop_when: {value: 0.95, no_gain: 20}
)";

/// Workloads had such an option once.
TEST(Study, LanesAreReadWarnedOfAndDropped) {
  std::string text = example;
  text.insert(text.find("  seed: 7"), "  lanes: 16\n");
  auto file = read(text);
  EXPECT_EQ(texts(file.errors), lines{});
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_EQ(file.warnings[0].path, "workload.lanes");
  EXPECT_EQ(file.warnings[0].message,
            "lanes means nothing any more: a trainer's --at-once says how many "
            "leases it trains at once");
  ASSERT_TRUE(file.study);
  const auto key = key_of(file.study->workload);
  EXPECT_EQ(key.find("lanes"), key.npos);
  file = read(example);
  ASSERT_TRUE(file.study);
  EXPECT_EQ(texts(file.warnings), lines{});
  EXPECT_EQ(key_of(file.study->workload), key);
}

TEST(Study, ReadsTheExample) {
  const auto file = read(example);
  EXPECT_EQ(texts(file.errors), lines{});
  EXPECT_EQ(texts(file.warnings), lines{});
  ASSERT_TRUE(file.study);
  const auto& study = *file.study;
  EXPECT_EQ(study.name, "lr-schedules");
  EXPECT_EQ(study.file, "s.yaml");
  EXPECT_EQ(study.max_steps, 12u);
  EXPECT_EQ(study.objective.metric, "val_accuracy");
  EXPECT_EQ(study.objective.direction, direction::maximize);
  EXPECT_EQ(study.objective.every, 1u);
  EXPECT_EQ(study.space.size(), 5u * 2 * 2 * 5);
  EXPECT_EQ(study.algorithm.name, "asha");
  EXPECT_EQ(study.algorithm.options,
            (std::map<std::string, scalar>{{"eta", 3.0}, {"min", 1.0}}));
  EXPECT_EQ(study.budget.trials, 40u);
  EXPECT_EQ(study.budget.steps, 99u);
  EXPECT_EQ(study.budget.seconds, 600);
  EXPECT_EQ(study.budget.device_seconds, 1800);
  EXPECT_EQ(study.budget.cost, 12.5);
  ASSERT_TRUE(study.budget.deadline);
  EXPECT_EQ(study.budget.deadline->seconds, 5400);
  EXPECT_EQ(study.budget.deadline->text, "90m");
  EXPECT_EQ(study.stop_when.value, 0.95);
  EXPECT_EQ(study.stop_when.no_gain, 20u);
  EXPECT_EQ(study.seed, 0u);
  EXPECT_EQ(study.weight, 1);
}

TEST(Study, FillsInTheWorkloadsOptions) {
  const auto file = read(example);
  ASSERT_TRUE(file.study);
  const std::map<std::string, scalar> expected{{"data.folder", "/data"},
                                               {"data.train", 20000.0},
                                               {"data.validation", 5000.0},
                                               {"mode", "float32"},
                                               {"noise", 0.5},
                                               {"seed", 7.0}};
  EXPECT_EQ(file.study->workload.name, "fashion-cnn");
  EXPECT_EQ(file.study->workload.options, expected);
}

study_file study_of_parts(const std::string& options,
                          const std::string& space = "lr: 0.1") {
  return read_study("study: s\nworkload: {name: fashion-cnn" + options
                      + "}\nobjective: {metric: val_accuracy}\n"
                        "max_steps: 1\nspace: {"
                      + space + "}\n",
                    "s.yaml", built_in_workloads());
}

TEST(Study, OnePartIsTheKeyOfBeforeThereWereParts) {
  const auto key = [](const std::string& options) {
    return key_of(study_of_parts(options).study.value().workload);
  };
  EXPECT_EQ(key("").find("parts"), std::string::npos);
  EXPECT_EQ(key(", parts: 1"), key(""));
  EXPECT_NE(key(", parts: 8").find(";parts=8;"), std::string::npos);
}

TEST(Study, PartsArePowersOfTwoOfABatch) {
  const auto errors = [](const std::string& options,
                         const std::string& space = "lr: 0.1") {
    return texts(study_of_parts(options, space).errors);
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(errors(", parts: 6"),
            list{"s.yaml:2:38: workload.parts: must divide 64, found '6'"});
  EXPECT_EQ(
    errors(", parts: 128"),
    list{"s.yaml:2:38: workload.parts: must be at most 64, found '128'"});
  EXPECT_EQ(errors(", parts: 64"), list{});
  EXPECT_EQ(errors(", parts: 32", "batch_size: {choice: [32, 64]}"), list{});
  EXPECT_EQ(errors(", parts: 32", "batch_size: 31"),
            list{"s.yaml:5:21: space.batch_size: must be at least 32, found "
                 "31"});
}

TEST(Study, PartsOfWindowsAreAsThoseOfImages) {
  const auto read = [](const std::string& options, const std::string& space) {
    return read_study("study: s\nworkload: {name: squad-bert-tiny" + options
                        + "}\nobjective: {metric: val_f1}\nmax_steps: 1\n"
                          "space: {"
                        + space + "}\n",
                      "s.yaml", built_in_workloads());
  };
  const auto key = [&](const std::string& options) {
    return key_of(read(options, "lr: 0.1").study.value().workload);
  };
  EXPECT_EQ(key("").find("parts"), std::string::npos);
  EXPECT_EQ(key("").find("sync"), std::string::npos);
  EXPECT_EQ(key(", parts: 1"), key(""));
  EXPECT_NE(key(", parts: 8").find(";parts=8;"), std::string::npos);
  EXPECT_NE(key(", parts: 4, sync: bmuf").find(";sync=bmuf"),
            std::string::npos);
  const auto errors = [&](const std::string& options,
                          const std::string& space) {
    return texts(read(options, space).errors);
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(errors(", parts: 6", "lr: 0.1"),
            list{"s.yaml:2:42: workload.parts: must divide 64, found '6'"});
  EXPECT_EQ(errors(", parts: 32", "batch_size: 31"),
            list{"s.yaml:5:21: space.batch_size: must be at least 32, found "
                 "31"});
  EXPECT_EQ(errors(", parts: 32", "lr: 0.1"), list{});
  EXPECT_EQ(errors(", parts: 4", "sync_every: 5").size(), 1u);
  EXPECT_EQ(errors(", parts: 4, sync: average", "sync_every: 5"), list{});
}

TEST(Study, ExchangesNeedPartsAndAreOfTheKey) {
  const auto errors = [](const std::string& options) {
    return texts(study_of_parts(options).errors);
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(errors(", sync: average"),
            list{"s.yaml:2:37: workload.sync: has no effect with parts 1: give "
                 "parts too, other than 1"});
  EXPECT_EQ(errors(", parts: 1, sync: bmuf").size(), 1u);
  EXPECT_EQ(errors(", sync: step"), list{});
  EXPECT_EQ(errors(", parts: 4, sync: averages"),
            list{"s.yaml:2:47: workload.sync: must be step, average, elastic "
                 "or bmuf, found 'averages', did you mean 'average'?"});
  const auto key = [](const std::string& options) {
    return key_of(study_of_parts(options).study.value().workload);
  };
  EXPECT_EQ(key(", parts: 4, sync: step"), key(", parts: 4"));
  EXPECT_NE(key(", parts: 4, sync: elastic").find(";sync=elastic"),
            std::string::npos);
}

TEST(Study, OptionsMayBeSpeltWithDotsAndWordsMayLookLikeNumbers) {
  const auto file =
    read("study: s\n"
         "workload: {name: toy, data.train: 7, noise: 0.30000000000000004, "
         "data: {folder: 2024}}\n"
         "objective: {metric: accuracy}\n"
         "max_steps: 1\n"
         "space: {lr: 0.1}\n");
  ASSERT_TRUE(file.study) << to_text(file.errors.at(0));
  const auto& options = file.study->workload.options;
  EXPECT_EQ(options.at("data.train"), scalar{7.0});
  EXPECT_EQ(options.at("data.folder"), scalar{"2024"});
  EXPECT_EQ(options.at("noise"), scalar{0.3});
}

TEST(Study, TheMetricKnowsItsDirection) {
  const auto head = std::string("study: s\nworkload: toy\nmax_steps: 1\n"
                                "space: {lr: 0.1}\n");
  const auto way = [&](const std::string& objective) {
    return read(head + "objective: " + objective).study->objective.direction;
  };
  EXPECT_EQ(way("{metric: loss}"), direction::minimize);
  EXPECT_EQ(way("{metric: accuracy}"), direction::maximize);
  EXPECT_EQ(way("{direction: minimize, metric: accuracy}"),
            direction::minimize);
}

TEST(Study, AlgorithmMayBeAWordOrLeftOut) {
  const auto algorithm = [](const std::string& text) {
    return read(test::with_space("  lr: 0.1\n") + text).study->algorithm;
  };
  EXPECT_EQ(algorithm("algorithm: grid\n").name, "grid");
  EXPECT_EQ(algorithm("algorithm: {grid: }\n").name, "grid");
  EXPECT_EQ(algorithm("").name, "random");
  EXPECT_EQ(algorithm("algorithm: {asha: {stop: true, kind: x}}\n").options,
            (std::map<std::string, scalar>{{"stop", 1.0}, {"kind", "x"}}));
}

TEST(Study, KeepsWhereEverythingStands) {
  const auto file = read(example);
  const auto& eta = file.study->marks.at("algorithm.asha.eta");
  EXPECT_EQ(eta.line, 18);
  EXPECT_EQ(eta.column, 25);
}

TEST(Study, SeedAndWeight) {
  const auto file =
    read(test::with_space("  lr: 0.1\n") + "seed: 3\nweight: 2.5\n");
  EXPECT_EQ(file.study->seed, 3u);
  EXPECT_EQ(file.study->weight, 2.5);
}

TEST(Study, AliasesAreSpeltOut) {
  const auto file = read(test::with_space(
    "  lr: &rate {choice: [0.1, 0.2]}\n  weight_decay: *rate\n"));
  ASSERT_TRUE(file.study);
  EXPECT_EQ(file.study->space.size(), 4u);
}

TEST(Study, ShowsParametersAsTheFileWritesThem) {
  const auto space = read(example).study->space;
  EXPECT_EQ(space.at(0).shown.dump(),
            R"({"lr":{"constant":0.1},"batch_size":64,"momentum":0.9,)"
            R"("weight_decay":1e-05})");
  EXPECT_EQ(space.at(99).shown.dump(),
            R"({"lr":{"exponential":{"initial":0.1,"gamma":0.9}},)"
            R"("batch_size":{"multistep":{"initial":64,"milestones":[6],)"
            R"("gamma":2}},"momentum":{"piecewise":[[0,0.8],[4,0.9]]},)"
            R"("weight_decay":0.001})");
  EXPECT_EQ(space.at(99).sequences.at("batch_size").at(6), scalar{128.0});
}

} // namespace
} // namespace hippo
