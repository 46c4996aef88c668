#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "hippo/report/stage_layout.hpp"
#include "hippo/report/stage_text.hpp"
#include "report/sample_run.hpp"

namespace hippo {
namespace {

/// Neither may two bars overlap, nor may one be no bar at all.
void expect_apart(const tree_panel& panel, double width) {
  for (std::size_t i = 0; i < panel.boxes.size(); ++i) {
    const auto& a = panel.boxes[i];
    EXPECT_GE(a.x, 0);
    EXPECT_LE(a.x + a.width, width + 1e-6);
    EXPECT_GE(a.y, -1e-6);
    EXPECT_LE(a.y + a.height, panel.height + 1e-6);
    EXPECT_GT(a.width, 0);
    EXPECT_GT(a.height, 0);
    for (std::size_t j = 0; j < i; ++j) {
      const auto& b = panel.boxes[j];
      const bool beside = a.x + a.width <= b.x || b.x + b.width <= a.x;
      const bool stacked =
        a.y + a.height <= b.y + 1e-6 || b.y + b.height <= a.y + 1e-6;
      EXPECT_TRUE(beside || stacked) << "boxes " << i << " and " << j;
    }
  }
}

TEST(StageLayout, PutsChildrenRightOfTheirParentAndSiblingsApart) {
  const auto run = sample_run();
  const auto layout = lay_out(run.stages, 600);
  ASSERT_EQ(layout.panels.size(), 1u);
  const auto& panel = layout.panels[0];
  ASSERT_EQ(panel.boxes.size(), 3u);
  expect_apart(panel, 600);
  for (std::size_t i : {1u, 2u}) {
    EXPECT_EQ(panel.boxes[i].parent, 0u);
    EXPECT_GE(panel.boxes[i].x, panel.boxes[0].x + panel.boxes[0].width);
  }
  EXPECT_FALSE(panel.widened);
  EXPECT_NEAR(panel.boxes[0].elbow, 0, 1e-9);
  EXPECT_NEAR(panel.boxes[1].elbow, 200, 1e-9); // step 2 of 6
  ASSERT_EQ(panel.ticks.size(), 7u);
  EXPECT_NEAR(panel.ticks[3].x, 300, 1e-9);
}

TEST(StageLayout, GrowsWithTheTrialsThatShare) {
  const auto layout = lay_out(sample_run().stages, 600);
  const auto& boxes = layout.panels[0].boxes;
  EXPECT_GT(boxes[0].height, boxes[1].height);
  EXPECT_EQ(bar_height(layout, 1), layout.leaf_height);
  EXPECT_LE(bar_height(layout, layout.trials_most), 4 * layout.leaf_height);
}

TEST(StageLayout, IsLegibleAtAHundredTrials) {
  const auto run = deep_run(10, 2, 6); // 10 roots, 100 leaves
  const auto layout = lay_out(run.stages, 1144);
  const auto& panel = layout.panels[0];
  EXPECT_EQ(panel.boxes.size(), 110u);
  expect_apart(panel, 1144);
  for (const auto& box : panel.boxes) {
    EXPECT_GE(box.height, 12); // room for a label
    EXPECT_GE(box.width, 20);
  }
  EXPECT_LT(panel.height, 2500);
}

TEST(StageLayout, AMergedStudyOfAHundredTrialsThatNobodyShares) {
  run_record run;
  for (std::uint64_t i = 1; i <= 100; ++i)
    for (std::uint64_t part = 0; part < 3; ++part)
      run.stages.push_back({3 * i + part,
                            part == 0 ? 0 : 3 * i + part - 1,
                            part * 30,
                            part * 30 + 30,
                            "lr=1",
                            {0},
                            1,
                            ""});
  const auto layout = lay_out(run.stages, 1144);
  expect_apart(layout.panels[0], 1144);
  EXPECT_GE(layout.leaf_height, 12);
}

TEST(StageLayout, KeepsShortStagesVisibleBesideLongOnes) {
  std::vector<stage_record> stages{{1, 0, 0, 1, "", {0}, 3, ""},
                                   {2, 1, 1, 2, "", {0}, 2, ""},
                                   {3, 2, 2, 100000, "", {0}, 1, ""},
                                   {4, 1, 1, 5, "", {0}, 1, ""}};
  const auto layout = lay_out(stages, 1000);
  const auto& panel = layout.panels[0];
  expect_apart(panel, 1000);
  EXPECT_TRUE(panel.widened);
  for (const auto& box : panel.boxes)
    EXPECT_GE(box.width, 10);
  EXPECT_TRUE(
    std::is_sorted(panel.ticks.begin(), panel.ticks.end(),
                   [](const auto& a, const auto& b) { return a.x < b.x; }));
}

TEST(StageLayout, AChildThatLeavesInMidStageGetsARowOfItsOwn) {
  std::vector<stage_record> stages{{1, 0, 0, 10, "", {0}, 3, ""},
                                   {2, 1, 4, 8, "", {0}, 1, ""},
                                   {3, 1, 10, 12, "", {0}, 1, ""}};
  expect_apart(lay_out(stages, 1000).panels[0], 1000);
}

TEST(StageLayout, TellsWorkloadsApartEvenWithEqualNumbers) {
  auto stages = sample_run().stages;
  for (auto x : sample_run().stages) {
    x.workload = "cnn";
    stages.push_back(x);
  }
  const auto layout = lay_out(stages, 600);
  ASSERT_EQ(layout.panels.size(), 2u);
  EXPECT_EQ(layout.panels[0].workload, "mlp");
  for (const auto& panel : layout.panels) {
    EXPECT_EQ(panel.boxes.size(), 3u);
    expect_apart(panel, 600);
  }
}

TEST(StageLayout, DrawsTheMostSharedStagesOfAHugeTree) {
  const auto run = deep_run(22, 3, 5); // 11154 stages
  const auto layout = lay_out(run.stages, 1144);
  ASSERT_EQ(layout.panels.size(), 1u);
  const auto& boxes = layout.panels[0].boxes;
  EXPECT_EQ(boxes.size(), stages_drawn_max);
  EXPECT_EQ(layout.left_out, run.stages.size() - stages_drawn_max);
  EXPECT_EQ(std::count_if(
              boxes.begin(), boxes.end(),
              [&](const auto& x) { return run.stages[x.stage].trials > 1; }),
            22 + 22 * 22);
  expect_apart(layout.panels[0], 1144);
  EXPECT_LT(layout.panels[0].height, 20000);
}

TEST(StageLayout, AnEmptyRunHasNoPanels) {
  EXPECT_TRUE(lay_out({}, 1000).panels.empty());
}

TEST(StageText, WhatIsInQuotesPartsNothing) {
  const auto x = parse_config(
    R"(a="b;c=d";"e=f"=1;maps={"g;h":"\";="};x=2)");
  EXPECT_EQ(x.size(), 4u);
  EXPECT_EQ(x.at("a"), R"("b;c=d")");
  EXPECT_EQ(x.at(R"("e=f")"), "1");
  EXPECT_EQ(x.at("maps"), R"({"g;h":"\";="})");
  EXPECT_EQ(x.at("x"), "2");
}

TEST(StageText, SaysWhatChangedInFewDigits) {
  const auto parent = parse_config("lr=0.1;batch_size=64;momentum=0.9");
  const auto child =
    parse_config("lr=exp(0.0333333333333,0.9)@4;batch_size=64;opt=adam2");
  EXPECT_EQ(changes(parent, child),
            (std::vector<std::string>{"lr exp(0.03333,0.9)", "opt adam2"}));
  EXPECT_TRUE(changes(child, child).empty());
  EXPECT_EQ(short_form("3.16227766017e-05"), "3.162e-05");
  EXPECT_EQ(short_form("cos(0.1,-0.001,12)@2"), "cos(0.1,-0.001,12)");
}

} // namespace
} // namespace hippo
