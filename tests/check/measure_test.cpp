#include "hippo/check/measure.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "hippo/forecast/simulate/profile.hpp"

namespace hippo {
namespace {

workload_descriptor described() {
  workload_descriptor result;
  result.name = "toy";
  result.metrics = {{"accuracy", direction::maximize, ""},
                    {"loss", direction::minimize, ""}};
  parameter_descriptor lr, batch, width;
  lr.name = "lr";
  lr.fallback = 0.1;
  batch.name = "batch_size";
  batch.fallback = 32.0;
  batch.affects_speed = true;
  width.name = "model";
  width.fallback = std::string{"small"};
  width.words = {"small", "large"};
  width.affects_speed = true;
  result.hyper_parameters = {lr, batch, width};
  return result;
}

/// Takes 4 s for its first step, then 64 s divided by the batch size, twice as
/// long if it is large; measures in 3 s, saves in 2 s, loads in 1 s.
class toy final : public workload {
public:
  double time = 0;
  bool fails = false;
  bool fresh = true;

  void init() override { fresh = true; }
  void train(const configuration& config, step_t from, step_t to) override {
    if (fails)
      throw std::runtime_error{"no data"};
    EXPECT_TRUE(config.contains("lr"));
    const auto batch = std::get<double>(config.at("batch_size").at(from));
    const auto model = std::get<std::string>(config.at("model").at(from));
    time += (fresh ? 4 : 0)
            + static_cast<double>(to - from) * 64 / batch
                * (model == "large" ? 2 : 1);
    fresh = false;
  }
  metrics evaluate() override {
    time += 3;
    return {{"accuracy", 0.5}, {"loss", 1}};
  }
  std::string save() override {
    time += 2;
    return "12345";
  }
  void load(const std::string&) override { time += 1; }
};

study_spec study_with(const std::string& space) {
  const auto text = "study: s\nworkload: toy\n"
                    "objective: {metric: accuracy, direction: maximize}\n"
                    "max_steps: 9\nspace:\n"
                    + space;
  auto read = read_study(text, "s.yaml", {described()});
  for (const auto& x : read.errors)
    ADD_FAILURE() << to_text(x);
  return std::move(*read.study);
}

expected<measured_training> measured(toy& work, const std::string& space) {
  return measure(study_with(space), described(), 2, work,
                 [&work] { return work.time; }, [](const std::string&) {});
}

TEST(Measure, CoversEveryValueThatAffectsTheTimeOfAStep) {
  toy work;
  const auto x = measured(
    work, "  lr: 0.1\n"
          "  batch_size: {choice: [16, 32, "
          "{piecewise: [[0, 16], [5, 64]]}]}\n");
  ASSERT_TRUE(x) << x.failure().message;
  ASSERT_EQ(x->steps.size(), 2u);
  EXPECT_EQ(x->steps[0].by, "batch_size");
  using entry = std::pair<scalar, double>;
  EXPECT_EQ(x->steps[0].times,
            (std::vector<entry>{{16., 4}, {32., 2}, {64., 1}}));
  EXPECT_EQ(x->steps[1].by, "model");
  EXPECT_EQ(x->steps[1].times,
            (std::vector<entry>{{std::string{"large"}, 2},
                                {std::string{"small"}, 1}}));
  EXPECT_EQ(x->evaluate_seconds, 3);
  EXPECT_EQ(x->save_seconds, 2);
  EXPECT_EQ(x->load_seconds, 1);
  EXPECT_EQ(x->checkpoint_bytes, 5u);
}

/// Takes 10 ms for a step, and 5 s for every fourth call.
class disturbed final : public workload {
public:
  double time = 0;
  int calls = 0;

  void init() override {}
  void train(const configuration&, step_t from, step_t to) override {
    time += static_cast<double>(to - from) * 0.01 + (++calls % 4 == 0 ? 5 : 0);
  }
  metrics evaluate() override { return {{"accuracy", 0.5}}; }
  std::string save() override { return "1"; }
  void load(const std::string&) override {}
};

TEST(Measure, WhatDisturbsShortStepsDoesNotMatter) {
  disturbed work;
  work.calls = 1; // the first part that is counted is undisturbed
  const auto x = measure(study_with("  lr: 0.1\n"), described(), 2, work,
                         [&work] { return work.time; },
                         [](const std::string&) {});
  ASSERT_TRUE(x) << x.failure().message;
  EXPECT_NEAR(x->steps[0].times.at(0).second, 0.01, 1e-9);
}

TEST(Measure, OfManyValuesItTakesSome) {
  toy work;
  const auto x
    = measured(work, "  lr: 0.1\n  batch_size: {int_uniform: [1, 512]}\n");
  ASSERT_TRUE(x) << x.failure().message;
  EXPECT_EQ(x->steps[0].times.size(), 12u);
}

TEST(Measure, MembersAreComparedInTheFirstTrial) {
  toy work;
  const auto study = study_with("  lr: 0.1\n  batch_size: 64\n");
  const auto now = [&work] { return work.time; };
  std::string told;
  const auto tell = [&](const std::string& what) { told += what + ';'; };
  const auto alone = measure(study, described(), 2, work, now, tell);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->first_seconds, 1);
  told.clear();
  const auto first =
    measure_first_step(study, described(), 2, work, now, tell, "2 members");
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, 1);
  EXPECT_EQ(told, "2 members;");
  work.fails = true;
  const auto failed =
    measure_first_step(study, described(), 2, work, now, tell, "2 members");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.failure().message, "no data");
}

TEST(Measure, WritesAProfileThatCanBeRead) {
  toy work;
  const auto x
    = measured(work, "  lr: 0.1\n  batch_size: {choice: [16, 64]}\n");
  ASSERT_TRUE(x);
  const auto text = profile_text(*x, described(), "a \"device\": of mine");
  const auto read = read_profile(text, "p.yaml", {described()});
  for (const auto& y : read.errors)
    ADD_FAILURE() << to_text(y) << '\n' << text;
  ASSERT_TRUE(read.profile);
  EXPECT_EQ(read.profile->device, "a \"device\": of mine");
  EXPECT_TRUE(read.profile->curve.is_drawn);
  const configuration config{
    {"batch_size", form::constant(64)},
    {"model", form::text("large")}};
  EXPECT_DOUBLE_EQ(read.profile->step_time(config, 0), 2);
  EXPECT_EQ(read.profile->checkpoint_bytes, 5u);
}

TEST(Measure, OfCodeThatAStudyBringsItDescribesWhatItCan) {
  measured_training x;
  x.steps = {{"", {{0.0, 1.5}}}};
  x.values = {{"accuracy", 0.1}, {"val_loss", 1}};
  x.hyper_parameters = {{"lr", 0.1}, {"optimizer", std::string{"sgd"}}};
  workload_descriptor code;
  code.name = "python";
  code.open = true;
  const auto text = profile_text(x, code, "cpu");
  const auto read = read_profile(text, "p.yaml", {});
  for (const auto& y : read.errors)
    ADD_FAILURE() << to_text(y) << '\n' << text;
  ASSERT_TRUE(read.profile);
  EXPECT_EQ(read.profile->step_time({}, 0), 1.5);
  EXPECT_EQ(read.profile->workload.metrics[1].better, direction::minimize);
}

TEST(Measure, WhatCannotBeTrainedIsAnError) {
  toy work;
  work.fails = true;
  const auto x = measured(work, "  lr: 0.1\n");
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().message, "no data");
}

} // namespace
} // namespace hippo
