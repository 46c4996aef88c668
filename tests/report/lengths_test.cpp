// Reports of studies whose trials have several lengths.

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/report/ranking.hpp"
#include "hippo/report/report.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

study_record study(bool several) {
  study_record result;
  result.name = "s";
  result.metric = "loss";
  result.direction = direction::minimize;
  std::uint64_t id = 0;
  for (const auto& [length, value] :
       {std::pair{20, 0.3}, {10, 0.6}, {20, 0.2}, {10, 0.5}, {10, 0.5}}) {
    trial_record x;
    x.id = id++;
    x.state = trial_state::complete;
    x.params = {{"lr", 0.1}};
    if (several)
      x.params = {{"steps.max", static_cast<std::uint64_t>(length)},
                  {"lr", 0.1}};
    x.results = {{static_cast<step_t>(length), {{"loss", value}}}};
    result.trials.push_back(std::move(x));
  }
  result.trials[2].state = trial_state::failed; // its values do not count
  return result;
}

TEST(Lengths, TheBestOfEachIsTold) {
  const auto each = best_of_each_length(study(true));
  ASSERT_EQ(each.size(), 2u);
  EXPECT_EQ(each[0].length, 10u);
  EXPECT_EQ(each[0].trial, 3u); // of equals the first
  EXPECT_EQ(each[0].best.value, 0.5);
  EXPECT_EQ(each[1].length, 20u);
  EXPECT_EQ(each[1].trial, 0u);
  EXPECT_EQ(json::parse(study_json(study(true))).at("best_of_each_length"),
            json::parse(R"([{"length": 10, "trial": 3, "step": 10,
                             "value": 0.5},
                            {"length": 20, "trial": 0, "step": 20,
                             "value": 0.3}])"));
  run_record run;
  run.studies = {study(true)};
  const auto text = summary_text(run, 10, false);
  EXPECT_NE(text.find("10 steps: 0.5, trial 3"), text.npos) << text;
  EXPECT_NE(text.find("20 steps: 0.3, trial 0"), text.npos) << text;
}

TEST(Lengths, WhereThereIsOneNothingIsTold) {
  EXPECT_TRUE(best_of_each_length(study(false)).empty());
  EXPECT_FALSE(json::parse(study_json(study(false)))
                 .contains("best_of_each_length"));
  auto several_metrics = study(true);
  several_metrics.wanted.metrics = {{"loss", direction::minimize},
                                    {"ms", direction::minimize}};
  EXPECT_TRUE(best_of_each_length(several_metrics).empty());
}

} // namespace
} // namespace hippo
