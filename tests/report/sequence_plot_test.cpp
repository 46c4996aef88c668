#include "hippo/report/sequence_plot.hpp"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "hippo/report/text.hpp"

namespace hippo {
namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);)
    result.push_back(line);
  return result;
}

sequence_curve stairs() {
  return {"stairs", {4, 4, 3, 3, 2, 2, 1, 1}, {2, 4, 6}};
}

TEST(SequencePlot, IsDrawnInAscii) {
  EXPECT_EQ(plot_text(stairs(), 36, 4, plot_charset::ascii),
            "         4 |*******\n"
            "           |      *******\n"
            "           |            *******\n"
            "         1 |                  ******\n"
            "           +------------------------\n"
            "            0                      8\n");
}

TEST(SequencePlot, IsDrawnInBraille) {
  const sequence_curve x{"line", {0, 1, 2, 3, 4, 5, 6, 7}, {}};
  EXPECT_EQ(plot_text(x, 30, 3, plot_charset::braille),
            "         7 ┤           ⢀⣀⣠⠤⠤⠏⠉\n"
            "           ┤       ⡤⠤⠖⠒⠚\n"
            "         0 ┤⣀⣀⣰⠒⠚⠉⠉⠁\n"
            "           └──────────────────\n"
            "            0                8\n");
}

TEST(SequencePlot, AConstantLiesInTheMiddle) {
  const auto text
    = lines(plot_text({"", {0.1, 0.1}, {}}, 40, 5, plot_charset::ascii));
  ASSERT_EQ(text.size(), 7u);
  EXPECT_EQ(text[2], "       0.1 |" + std::string(28, '*'));
  EXPECT_EQ(text[0], "           |");
}

TEST(SequencePlot, CoversEveryValueOfManySteps) {
  sequence_curve x;
  x.values.assign(100'000, 0.5);
  x.values[77'777] = 2; // a single step
  const auto text = lines(plot_text(x, 80, 6, plot_charset::ascii));
  EXPECT_EQ(std::count(text[0].begin(), text[0].end(), '*'), 1);
  EXPECT_EQ(text[0].substr(0, 11), "         2 ");
  for (const auto charset : {plot_charset::ascii, plot_charset::braille})
    for (const auto& line : lines(plot_text(x, 80, 6, charset)))
      EXPECT_LE(display_width(line), 80u);
}

TEST(SequencePlot, HugeValuesStayInTheFrame) {
  const sequence_curve x{"", {-1.7e308, 1.7e308, 0}, {}};
  const auto text = lines(plot_text(x, 40, 5, plot_charset::ascii));
  EXPECT_NE(text[0].find('*'), std::string::npos);
  EXPECT_NE(text[4].find('*'), std::string::npos);
  EXPECT_EQ(plot_svg({x}, "").find("nan"), std::string::npos);
}

TEST(SequencePlot, APictureHasACurveAndItsCuts) {
  const auto one = plot_svg({stairs()}, "a < b");
  EXPECT_TRUE(one.starts_with("<svg ")) << one;
  EXPECT_TRUE(one.ends_with("</svg>\n"));
  EXPECT_NE(one.find("a &lt; b"), std::string::npos);
  EXPECT_NE(one.find("points=\"70,40 138.8,40 138.8,40 207.5,40 207.5,86"),
            std::string::npos)
    << one;
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t result = 0;
    for (auto at = text.find(what); at != text.npos;
         at = text.find(what, at + 1))
      ++result;
    return result;
  };
  EXPECT_EQ(count(one, "#cccccc"), 3u);
  const auto two = plot_svg({stairs(), {"other", {1, 2}, {1}}}, "t");
  EXPECT_EQ(count(two, "<polyline"), 2u);
  EXPECT_EQ(count(two, "#cccccc"), 0u);
  EXPECT_NE(two.find(">other<"), std::string::npos);
  EXPECT_EQ(one, plot_svg({stairs()}, "a < b"));
}

} // namespace
} // namespace hippo
