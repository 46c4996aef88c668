#include "hippo/space/sequence_text.hpp"

#include <gtest/gtest.h>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

using lines = std::vector<std::string>;

lines alternatives(const std::string& text) {
  const auto x = read_sequence(text, "here", 12);
  EXPECT_EQ(test::texts(x.errors), lines{});
  lines result;
  for (const auto& value : x.alternatives)
    result.push_back(value.dump());
  return result;
}

lines errors(const std::string& text) {
  const auto x = read_sequence(text, "here", 12);
  EXPECT_TRUE(x.alternatives.empty());
  return test::texts(x.errors);
}

TEST(SequenceText, IsAValueOfAStudyFile) {
  EXPECT_EQ(alternatives("0.1"), lines{"0.1"});
  EXPECT_EQ(alternatives("adamw"), lines{R"("adamw")"});
  EXPECT_EQ(alternatives("cosine: {initial: 1, horizon: 9}"),
            lines{R"({"cosine":{"initial":1,"horizon":9}})"});
  EXPECT_EQ(alternatives("constant: {choice: [1, {int_uniform: [4, 6]}]}"),
            (lines{R"({"constant":1})", R"({"constant":4})",
                   R"({"constant":5})", R"({"constant":6})"}));
}

TEST(SequenceText, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(errors("cosine: {initial: 1, horizn: 9}"),
            (lines{"here:1:30: cosine.horizn: unknown parameter of cosine "
                   "'horizn', did you mean 'horizon'? Allowed: initial, end, "
                   "horizon",
                   "here:1:9: cosine: 'horizon' is missing"}));
  EXPECT_EQ(errors("constant: {uniform: [1, 2]}"),
            lines{"here:1:1: has infinitely many alternatives; a range needs "
                  "`points`"});
  EXPECT_EQ(errors("constant: {int_uniform: [1, 17]}"),
            lines{"here:1:1: has 17 alternatives, at most 16 are shown"});
  EXPECT_EQ(errors("constant:\n  cosine: 3"),
            lines{"here:2:3: constant: must be a number or a word, found a "
                  "map"});
  EXPECT_EQ(errors("[").size(), 1u);
  EXPECT_EQ(errors(""), lines{"here:1:1: must be a value, found nothing"});
  EXPECT_EQ(errors("1\nother: 2").size(), 1u);
}

TEST(SequenceText, Warns) {
  EXPECT_EQ(test::texts(
              read_sequence("piecewise: [[0, 1], [20, 2]]", "here", 12)
                .warnings),
            lines{"here:1:21: piecewise[1]: is never reached, training ends at "
                  "step 12"});
}

} // namespace
} // namespace hippo
