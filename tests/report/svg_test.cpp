#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hippo/report/report.hpp"
#include "hippo/report/svg.hpp"
#include "report/sample_run.hpp"

namespace hippo {
namespace {

/// Checks that tags balance, attributes are quoted and nothing stands bare.
/// @returns what is wrong, or an empty text
std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '&') {
      const auto end = text.find(';', at);
      if (end == text.npos || end - at > 6)
        return "bare & at " + std::to_string(at);
      at = end + 1;
      continue;
    }
    if (text[at] == '>')
      return "bare > at " + std::to_string(at);
    if (text[at] != '<') {
      const auto c = static_cast<unsigned char>(text[at]);
      if (c < 0x20 && c != '\n')
        return "control character at " + std::to_string(at);
      ++at;
      continue;
    }
    bool quoted = false;
    auto end = at + 1;
    for (; end < text.size() && (quoted || text[end] != '>'); ++end) {
      if (text[end] == '"')
        quoted = !quoted;
      else if (text[end] == '<')
        return "< within a tag at " + std::to_string(end);
    }
    if (end == text.size())
      return "tag without end at " + std::to_string(at);
    const auto tag = text.substr(at + 1, end - at - 1);
    const auto name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1))
        return "unexpected <" + tag + ">";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
    if (open.empty() && text.find_first_not_of('\n', at) != text.npos)
      return "text after the end";
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t result = 0;
  for (auto at = text.find(what); at != text.npos;
       at = text.find(what, at + what.size()))
    ++result;
  return result;
}

TEST(Xml, TheCheckItselfFindsFaults) {
  EXPECT_EQ(xml_fault("<a><b x=\"1>2\"/>&lt;</a>\n"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a>&</a>", "<a></a></a>",
                          "<a>x>y</a>", "<a b=\"<\"/>", "<a>\x01</a>"})
    EXPECT_NE(xml_fault(bad), "") << bad;
}

TEST(Xml, EscapesWhatXmlReservesAndDropsWhatItForbids) {
  EXPECT_EQ(xml_text("a&b<c>\"d'"), "a&amp;b&lt;c&gt;&quot;d&#39;");
  EXPECT_EQ(xml_text("x\x01\ny\xff"), "x  y\xEF\xBF\xBD");
}

TEST(StageTreeSvg, ShowsStagesLegendAndFigures) {
  const auto svg = stage_tree_svg(sample_run());
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("18 steps delivered, 10 unique · p = 2.00, q = 1.60"),
            svg.npos);
  EXPECT_NE(svg.find(">first</text>"), svg.npos);
  EXPECT_NE(svg.find(">second</text>"), svg.npos);
  EXPECT_NE(svg.find(">lr 0.01</text>"), svg.npos); // what changed
  EXPECT_NE(svg.find("in every stage: momentum 0.9"), svg.npos);
  EXPECT_NE(svg.find("4 trials of first, second\nlr = 0.1"), svg.npos);
  EXPECT_EQ(count(svg, "<title>steps "), 3u);
  EXPECT_EQ(count(svg, "<script"), 0u);
  EXPECT_EQ(count(svg, "href"), 0u);
}

TEST(StageTreeSvg, SaysAgainInAWideBarWhatANarrowOneCut) {
  run_record run;
  run.stages = {{1, 0, 0, 1, "batch_size=64;momentum=0.9", {0}, 3, ""},
                {2, 1, 1, 12, "batch_size=64;momentum=0.9", {0}, 2, ""},
                {3, 0, 0, 12, "batch_size=128;momentum=0.8", {0}, 1, ""}};
  const auto svg = stage_tree_svg(run);
  EXPECT_EQ(count(svg, ">batch_si… 64</text>"), 1u);
  EXPECT_EQ(count(svg, ">batch_size 64, momentum 0.9</text>"), 1u);
}

TEST(StageTreeSvg, AStageOfTwoStudiesHasBothColours) {
  auto run = sample_run();
  const auto stops = [](const run_record& x, std::size_t study) {
    const auto colour = mix(palette_colour(study), "#ffffff", 0.4);
    return count(stage_tree_svg(x), "stop-color=\"" + colour);
  };
  // A plain one and the bands of both.
  EXPECT_EQ(stops(run, 0), 4u);
  EXPECT_EQ(stops(run, 1), 4u);
  run.studies.pop_back();
  run.stages.resize(1);
  run.stages[0].studies = {0};
  EXPECT_EQ(stops(run, 0), 2u);
  EXPECT_EQ(stops(run, 1), 0u);
}

TEST(Pictures, EscapeNames) {
  auto run = sample_run();
  run.studies[0].name = "<a> & \"b\" \x1b[31m'";
  run.trainers[0].name = "h<o>st";
  run.trainers[1].lost = "a & b\nc";
  run.stages[0].config = "name=<&>\";lr=1";
  run.stages[1].workload = "<w>";
  for (const auto& svg : {stage_tree_svg(run), timeline_svg(run)}) {
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_EQ(svg.find("<a>"), svg.npos);
    EXPECT_EQ(svg.find('\x1b'), svg.npos);
  }
}

TEST(Pictures, AnEmptyRunStillGivesPictures) {
  EXPECT_EQ(xml_fault(stage_tree_svg({})), "");
  EXPECT_NE(stage_tree_svg({}).find("No stage was trained."),
            std::string::npos);
  EXPECT_EQ(xml_fault(timeline_svg({})), "");
}

TEST(Pictures, StayBounded) {
  auto run = deep_run(30, 3, 4); // 27930 stages
  for (std::uint64_t i = 0; i < 50000; ++i)
    run.timeline.push_back({1 + i % 300, static_cast<double>(i),
                            0.5 + static_cast<double>(i), 1 + i % 1000, 0, 4,
                            0.1, 0.2, 0.1, 0.1, 0});
  const auto tree = stage_tree_svg(run);
  EXPECT_EQ(xml_fault(tree), "");
  EXPECT_LT(tree.size(), 2'000'000u);
  EXPECT_NE(tree.find("Drawn are the 2000 most shared of 27930 stages."),
            tree.npos);
  const auto timeline = timeline_svg(run);
  EXPECT_EQ(xml_fault(timeline), "");
  EXPECT_LT(timeline.size(), 4'000'000u);
  EXPECT_NE(timeline.find("Drawn are the longest 3000 of"), timeline.npos);
  EXPECT_NE(timeline.find("Drawn are the first 200 of 300 trainers."),
            timeline.npos);
}

TEST(TimelineSvg, HasARowAndAShareForEachTrainer) {
  auto run = sample_run();
  const auto svg = timeline_svg(run);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find(">trainer 1</text>"), svg.npos);
  EXPECT_NE(svg.find(">trainer 2</text>"), svg.npos);
  EXPECT_NE(svg.find(">44 %</text>"), svg.npos); // 5.5 of 12.5 s
  EXPECT_NE(svg.find(">48 %</text>"), svg.npos);
  EXPECT_NE(svg.find("lost: killed by signal 9"), svg.npos);
  EXPECT_NE(svg.find("2-6: lr 0.01"), svg.npos);
  // A shade for each of the four parts, in the colour of the root.
  for (const auto& shade :
       {mix("#0072b2", "#ffffff", 0.75), mix("#0072b2", "#ffffff", 0.35),
        std::string("#0072b2"), mix("#0072b2", "#000000", 0.45)})
    EXPECT_EQ(count(svg, "fill=\"" + shade + '"'), 3u) << shade;
}

TEST(TimelineSvg, SaysHowLongTrainingWaitedForData) {
  auto run = sample_run();
  EXPECT_EQ(timeline_svg(run).find("waiting for data"), std::string::npos);
  run.timeline[0].wait = 0.5;
  // Trainer 1 again, on the stage of its first stretch, which are joined.
  run.timeline.insert(run.timeline.begin() + 1,
                      {1, 6, 7, 1, 2, 4, 0, 0.5, 0.25, 0.25, 0.25, 0});
  const auto svg = timeline_svg(run);
  EXPECT_NE(svg.find("of train, waiting for data 0.75 s"), svg.npos) << svg;
}

TEST(TimelineSvg, HasARowForEachLaneThatDidSomething) {
  auto run = sample_run();
  run.timeline[1].lane = 3;
  const auto number = std::to_string(run.timeline[1].trainer);
  const auto svg = timeline_svg(run);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find(">trainer " + number + ", lane 3</text>"), svg.npos);
  EXPECT_NE(svg.find("2 trainers with 3 lanes, "), svg.npos);
  EXPECT_NE(stage_tree_svg(run).find("on trainer " + number + ", lane 3"),
            svg.npos);
}

TEST(TimelineSvg, JoinsWhatATrainerDoesOnAStageWithoutAPause) {
  auto run = sample_run();
  const auto bars = [&] { return count(timeline_svg(run), "<g><title>"); };
  const auto before = bars();
  // Trainer 1 again, on the stage of its first stretch.
  run.timeline.insert(run.timeline.begin() + 1,
                      {1, 6, 7, 1, 2, 4, 0, 0.5, 0.25, 0.25, 0});
  EXPECT_EQ(bars(), before);
  const auto svg = timeline_svg(run);
  EXPECT_NE(svg.find("steps 0 to 4"), svg.npos);
  EXPECT_NE(svg.find("0.50 s to 7.00 s"), svg.npos);
  EXPECT_NE(svg.find("train 4.50 s"), svg.npos);
  auto& second = run.timeline[1];
  for (const auto& change : std::initializer_list<void (*)(busy_record&)>{
         [](busy_record& x) { x.begin = 6.5; },
         [](busy_record& x) { x.load = 0.1; },
         [](busy_record& x) { x.from = 3; },
         [](busy_record& x) { x.stage = 2; },
         [](busy_record& x) { x.trainer = 2; }}) {
    const auto same = second;
    change(second);
    EXPECT_EQ(bars(), before + 1);
    second = same;
  }
}

TEST(TimelineSvg, SurvivesTimesThatMakeNoSense) {
  auto run = sample_run();
  run.timeline[0].load = 1e9;
  run.timeline[1].end = run.timeline[1].begin - 1;
  const auto svg = timeline_svg(run);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(svg.find("=\"-"), svg.npos);
  for (auto at = svg.find("<rect x="); at != svg.npos;
       at = svg.find("<rect x=", at + 1)) {
    const auto width = svg.find("width=\"", at) + 7;
    EXPECT_LE(std::stod(svg.substr(width, 20)), 900) << svg.substr(at, 80);
  }
}

TEST(TimelineSvg, ClaimsNothingOfAStageThatTwoWorkloadsNumberAlike) {
  auto run = sample_run();
  EXPECT_NE(timeline_svg(run).find("lr = 0.1"), std::string::npos);
  run.stages.push_back({1, 0, 0, 2, "lr=0.7", {0}, 1, "cnn"});
  EXPECT_EQ(timeline_svg(run).find("lr = 0.1"), std::string::npos);
  EXPECT_EQ(timeline_svg(run).find("lr = 0.7"), std::string::npos);
}

} // namespace
} // namespace hippo
