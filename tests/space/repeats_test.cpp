#include "hippo/model/repeats.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "hippo/base/limits.hpp"
#include "hippo/space/repeats_reader.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

const std::string toy = test::with_space("  lr: {choice: [0.1, 0.2]}\n");

study_file read(const std::string& more, const std::string& text = toy) {
  return read_study(text + more, "s.yaml", test::workloads());
}

std::string error_of(const study_file& x) {
  return x.errors.empty() ? std::string{} : x.errors.front().message;
}

repeat_plan plan_of(std::uint32_t seeds, repeat_summary how) {
  return {{seeds, how},
          7,
          {{{"loss", direction::minimize}, {"gain", direction::maximize}},
           {{"ms", true, 5}, {"top", false, 1}}}};
}

TEST(Repeats, AreANumberOfSeedsOrAMap) {
  EXPECT_EQ(read("").study->repeats, repeat_spec{});
  EXPECT_EQ(read("repeats: 3\n").study->repeats,
            (repeat_spec{3, repeat_summary::mean}));
  EXPECT_EQ(read("repeats: {seeds: 5, summary: worst}\n").study->repeats,
            (repeat_spec{5, repeat_summary::worst}));
  EXPECT_EQ(read("repeats: {seeds: 2, summary: median}\n").study->repeats,
            (repeat_spec{2, repeat_summary::median}));
  EXPECT_EQ(read("repeats: 1\n").study->repeats, repeat_spec{});
}

TEST(Repeats, BeginWithTheSeedOfTheWorkload) {
  auto text = toy;
  text.replace(text.find("workload: toy"), 13,
               "workload: {name: toy, seed: 9}");
  const auto study = read("repeats: 2\n", text);
  ASSERT_TRUE(study.study) << error_of(study);
  const auto plan = repeats_of(*study.study);
  EXPECT_EQ(plan.first_seed, 9u);
  EXPECT_EQ(plan.wanted.metrics.at(0).metric, "accuracy");
}

TEST(Repeats, AreRefusedWithASentence) {
  EXPECT_EQ(error_of(read("repeats: 0\n")),
            "must be a whole number from 1 to 32, found '0'");
  EXPECT_EQ(error_of(read("repeats: {summary: mean}\n")), "'seeds' is missing");
  EXPECT_EQ(error_of(read("repeats: {seeds: 2, summary: meen}\n")),
            "unknown summary 'meen', did you mean 'mean'? Allowed: mean, "
            "median, worst");
  EXPECT_NE(error_of(read("repeats: {seed: 2}\n")).find("unknown key 'seed'"),
            std::string::npos);
  auto text = toy;
  text.replace(text.find("workload: toy"), 13,
               "workload: {name: toy, seed: 999999999999}");
  EXPECT_EQ(error_of(read("repeats: 2\n", text)),
            "the seeds from 999999999999 on must not go beyond 999999999999, "
            "found 2 seeds");
}

TEST(Repeats, NeedAWorkloadWithASeed) {
  auto workloads = test::workloads();
  std::erase_if(workloads[0].options,
                [](const auto& x) { return x.name == "seed"; });
  EXPECT_EQ(error_of(read_study(toy + "repeats: 2\n", "s.yaml", workloads)),
            "workload toy has no option 'seed', so each training would be the "
            "same");
  EXPECT_TRUE(read_study(toy + "repeats: 1\n", "s.yaml", workloads).study);
}

TEST(Repeats, OfLongNamesOfMetricsAreRefused) {
  auto workloads = test::workloads();
  workloads[0].metrics[0].name = std::string(1024, 'm');
  auto text = toy;
  text.replace(text.find("accuracy"), 8, workloads[0].metrics[0].name);
  EXPECT_EQ(error_of(read_study(text + "repeats: 32\n", "s.yaml", workloads)),
            "the names of the metrics are too long to be told for each of 32 "
            "seeds");
}

TEST(Repeats, TheFirstSeedChangesNoSegment) {
  const auto plan = plan_of(3, repeat_summary::mean);
  const std::vector<segment> segments{{0, {{"lr", form::constant(0.1)}}},
                                      {5, {{"lr", form::constant(0.2)}}}};
  EXPECT_EQ(with_seed(segments, plan, 0), segments);
  for (std::uint32_t i : {1u, 2u}) {
    const auto changed = with_seed(segments, plan, i);
    lease work;
    work.workload.options = {{"seed", 7.0}, {"train", 100.0}};
    for (const auto& x : changed) {
      EXPECT_EQ(x.config.size(), 2u);
      // No hyper-parameter can have the name of the seed.
      for (const auto& entry : x.config) {
        EXPECT_EQ(refused_name(entry.first).has_value(), entry.first != "lr");
      }
      work.stages.push_back({node_id{1}, x.begin, x.begin + 5, x.config});
    }
    take_seed(work);
    EXPECT_EQ(std::get<double>(work.workload.options.at("seed")), 7 + i);
    for (std::size_t j = 0; j < segments.size(); ++j)
      EXPECT_EQ(work.stages[j].config, segments[j].config);
  }
}

TEST(Repeats, MeanOfAllAndSpreadOfGoals) {
  const auto x = summarize(plan_of(3, repeat_summary::mean),
                           {{{"loss", 1}, {"other", 2}},
                            {{"loss", 2}, {"other", 2}, {"new", 1}},
                            {{"loss", 6}, {"other", 8}}});
  EXPECT_EQ(x.at("loss"), 3);
  EXPECT_DOUBLE_EQ(x.at("loss.std"), std::sqrt(7));
  EXPECT_EQ(x.at("loss.seed7"), 1);
  EXPECT_EQ(x.at("loss.seed9"), 6);
  EXPECT_EQ(x.at("other"), 4);
  EXPECT_EQ(x.size(), 6u); // neither a spread of others nor a part of any
}

TEST(Repeats, MedianIsInTheMiddle) {
  const auto plan = plan_of(3, repeat_summary::median);
  EXPECT_EQ(
    summarize(plan, {{{"loss", 9}}, {{"loss", 1}}, {{"loss", 2}}}).at("loss"),
    2);
  EXPECT_EQ(summarize(plan_of(4, repeat_summary::median),
                      {{{"x", 9}}, {{"x", 1}}, {{"x", 2}}, {{"x", 4}}})
              .at("x"),
            3);
}

TEST(Repeats, WorstFollowsTheDirectionOfGoalsAndConstraints) {
  const auto x = summarize(
    plan_of(2, repeat_summary::worst),
    {{{"loss", 1}, {"gain", 1}, {"ms", 1}, {"top", 1}, {"other", 1}},
     {{"loss", 3}, {"gain", 3}, {"ms", 3}, {"top", 3}, {"other", 3}}});
  EXPECT_EQ(x.at("loss"), 3);
  EXPECT_EQ(x.at("gain"), 1);
  EXPECT_EQ(x.at("ms"), 3);
  EXPECT_EQ(x.at("top"), 1);
  EXPECT_EQ(x.at("other"), 2);
}

TEST(Repeats, WhatIsNotFiniteIsNoNumber) {
  constexpr auto infinite = std::numeric_limits<double>::infinity();
  constexpr auto largest = std::numeric_limits<double>::max();
  for (const auto how :
       {repeat_summary::mean, repeat_summary::median, repeat_summary::worst}) {
    const auto x =
      summarize(plan_of(2, how), {{{"loss", infinite}, {"gain", largest}},
                                  {{"loss", 1}, {"gain", largest}}});
    EXPECT_TRUE(std::isnan(x.at("loss")));
    EXPECT_TRUE(std::isnan(x.at("loss.std")));
    EXPECT_TRUE(std::isnan(x.at("loss.seed7")));
    EXPECT_EQ(x.at("loss.seed8"), 1);
    EXPECT_FALSE(std::isinf(x.at("gain")));
  }
}

TEST(Repeats, FailuresNameTheirSeed) {
  for (const auto* text : {"seed 12: broken\n  at: b", "seed 3: "}) {
    const auto x = seed_failure_from(text);
    EXPECT_FALSE(x.seed.empty());
    EXPECT_EQ(to_text(x), text);
  }
  EXPECT_EQ(seed_failure_from("seed 12: broken").seed, "seed 12");
  EXPECT_EQ(seed_failure_from("seed 12: broken").message, "broken");
  for (const auto* text :
       {"", "broken", "seed : x", "seed 12", "seed 12:x", "a seed 12: x"}) {
    EXPECT_EQ(seed_failure_from(text).seed, "") << text;
    EXPECT_EQ(seed_failure_from(text).message, text);
  }
}

TEST(Repeats, AMetricOfTheWorkloadKeepsItsName) {
  const auto x = summarize(
    plan_of(2, repeat_summary::mean),
    {{{"loss", 1}, {"loss.std", 40}}, {{"loss", 3}, {"loss.std", 42}}});
  EXPECT_EQ(x.at("loss.std"), 41);
}

} // namespace
} // namespace hippo
