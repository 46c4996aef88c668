#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/report/preview.hpp"
#include "hippo/report/text.hpp"

namespace hippo {
namespace {

using nlohmann::json;

preview_view sample() {
  preview_view x;
  x.studies = {{"grid", 8, {96, 96, 60, 1.6, 1, {}, {}}, std::nullopt},
               {"halving",
                40,
                {480, 480, 210, 480.0 / 210, 1, {}, {}},
                step_figures{150, 120, 70, 120.0 / 70, 1, {}, {}}}};
  x.trials = 48;
  x.full = {576, 576, 230, 576.0 / 230, 270.0 / 230, {}, {}};
  x.estimate = step_figures{246, 216, 120, 1.8, 130.0 / 120, {}, {}};
  return x;
}

std::set<std::string> keys(const json& x) {
  std::set<std::string> result;
  for (const auto& item : x.items())
    result.insert(item.key());
  return result;
}

TEST(PreviewJson, HasTheFigures) {
  const auto x = json::parse(preview_json(sample()));
  const std::set<std::string> figures{"asked_steps", "delivered_steps",
                                      "unique_steps", "merge_rate",
                                      "k_wise_merge_rate"};
  auto top = figures;
  top.insert({"trials", "studies", "estimate"});
  EXPECT_EQ(keys(x), top);
  EXPECT_EQ(keys(x["estimate"]), figures);
  auto study = figures;
  study.insert({"name", "trials"});
  EXPECT_EQ(keys(x["studies"][0]), study); // trains in full
  study.insert("estimate");
  EXPECT_EQ(keys(x["studies"][1]), study);
  EXPECT_EQ(x["trials"], 48);
  EXPECT_EQ(x["merge_rate"].get<double>(), 576.0 / 230);
  EXPECT_EQ(x["k_wise_merge_rate"].get<double>(), 270.0 / 230);
  EXPECT_EQ(x["studies"][1]["estimate"]["unique_steps"], 70);
}

TEST(PreviewJson, HasTimesIfTheyWereSimulated) {
  auto sampled = sample();
  EXPECT_FALSE(json::parse(preview_json(sampled)).contains("times"));
  sampled.times = time_preview{40, 5, {100, 3000, 90, 95, 110},
                               {400, 15000, {}, 400, 400}};
  const auto x = json::parse(preview_json(sampled))["times"];
  EXPECT_EQ(x, json::parse(R"({"trainers": 40, "simulations": 5,
    "merged": {"wall_seconds": 100.0, "device_seconds": 3000.0,
               "lower_bound_seconds": 90.0, "wall_low": 95.0,
               "wall_high": 110.0},
    "alone": {"wall_seconds": 400.0, "device_seconds": 15000.0,
              "lower_bound_seconds": null, "wall_low": 400.0,
              "wall_high": 400.0}})"));
}

TEST(PreviewJson, AnEmptyPreviewIsWhole) {
  const auto x = json::parse(preview_json({}));
  EXPECT_EQ(x["studies"], json::array());
  EXPECT_FALSE(x.contains("estimate"));
}

TEST(PreviewText, TimesSayWhatMergingSaves) {
  auto x = sample();
  x.times = time_preview{4, 5, {100, 3000, 90, 95, 110},
                         {400, 15000, {}, 400, 400}};
  auto text = preview_text(x);
  EXPECT_NE(text.find("\nmerging on                 1 min 40 s"
                      "     1 min 30 s           50 min\n"),
            text.npos)
    << text;
  EXPECT_NE(text.find("\nsaved by merging                 75 %"), text.npos)
    << text;
  EXPECT_EQ(text.find("so many trainers"), text.npos);
  x.times->merged.wall_seconds = 404; // all trials at once: no time is saved
  text = preview_text(x);
  EXPECT_NE(text.find("so many trainers"), text.npos) << text;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), 80u) << line;
}

TEST(PreviewText, IsATableThatFits) {
  auto x = sample();
  auto text = preview_text(x);
  EXPECT_NE(text.find("halving                     40         480         480"
                      "         210   2.29   56 %\n"),
            text.npos)
    << text;
  EXPECT_NE(text.find("all, merged                 48         246         216"
                      "         120   1.80   44 %\n"),
            text.npos)
    << text;
  EXPECT_NE(text.find("rate q: 1.17\n"), text.npos);
  x.studies[0].name = "学習" + std::string(100, 'n') + "\n";
  x.full.asked_steps = 12345678901234;
  std::istringstream lines{preview_text(x)};
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), 80u) << line;
  x.estimate.reset();
  EXPECT_EQ(preview_text(x).find("early"), text.npos);
}

} // namespace
} // namespace hippo
