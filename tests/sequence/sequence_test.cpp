#include "hippo/sequence/sequence.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

form at(double x) {
  return form::constant(x);
}

TEST(Sequence, IsTheConstantZeroUnlessTold) {
  EXPECT_EQ(sequence{}, sequence{at(0)});
  EXPECT_EQ(sequence{}.at(1000), scalar{0.0});
}

TEST(Sequence, JoinsEqualNeighbours) {
  const sequence x{{{0, at(1)}, {3, at(1)}, {5, at(2)}, {6, at(2)}}};
  const std::vector<piece> expected{{0, at(1)}, {5, at(2)}};
  EXPECT_EQ(x.pieces(), expected);
}

TEST(Sequence, KeepsTheLastOfSeveralPiecesWithOneBegin) {
  const sequence x{{{0, at(1)}, {0, at(2)}, {4, at(3)}, {4, at(4)}}};
  const std::vector<piece> expected{{0, at(2)}, {4, at(4)}};
  EXPECT_EQ(x.pieces(), expected);
}

TEST(Sequence, JoinsAcrossAPieceWithoutLength) {
  const sequence x{{{0, at(1)}, {4, at(3)}, {4, at(1)}}};
  EXPECT_EQ(x, sequence{at(1)});
}

TEST(Sequence, APieceRulesFromItsBeginToTheNext) {
  const sequence x{{{0, at(1)}, {3, at(2)}, {7, form::text("sgd")}}};
  EXPECT_EQ(x.at(0), scalar{1.0});
  EXPECT_EQ(x.at(2), scalar{1.0});
  EXPECT_EQ(x.at(3), scalar{2.0});
  EXPECT_EQ(x.at(6), scalar{2.0});
  EXPECT_EQ(x.at(7), scalar{"sgd"});
  EXPECT_EQ(x.at(1'000'000'000), scalar{"sgd"});
}

} // namespace
} // namespace hippo
