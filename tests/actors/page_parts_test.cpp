// What the page's answers are made of: columns, and answers that are kept.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/cell_column.hpp"
#include "gateway/response_cache.hpp"
#include "gateway/schedule_curves.hpp"

namespace hippo {
namespace {

using json = nlohmann::json;

// -- schedules ----------------------------------------------------------------

struct ScheduleCurvesTest : ::testing::Test {
  const configuration high{{"batch", form::constant(64)},
                           {"lr", form::constant(0.5)},
                           {"optimizer", form::text("sgd")}};
  const configuration low{{"batch", form::constant(64)},
                          {"lr", form::constant(0.25)},
                          {"optimizer", form::text("adam")}};

  json curves(const std::vector<trained_way>& trials, std::size_t most = 10) {
    return json::parse(schedule_curves(trials, most)).at("parameters");
  }
};

TEST_F(ScheduleCurvesTest, NumbersThatChangeAreThereOnceForAllWhoHaveThem) {
  const auto x = curves({{0, 6, {{0, &high}, {3, &low}}},
                         {4, 6, {{0, &high}, {3, &low}}},
                         {7, 6, {{0, &low}}}});
  ASSERT_EQ(x.size(), 1u) << "neither what stays nor words: " << x;
  const auto& lr = x.at("lr");
  EXPECT_EQ(lr.at("trial"), (json{0, 4, 7}));
  EXPECT_EQ(lr.at("curve"), (json{0, 0, 1}));
  EXPECT_EQ(lr.at("all_curves"), 2);
  EXPECT_EQ(lr.at("step").at(0), (json{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(lr.at("value").at(0), (json{0.5, 0.5, 0.5, 0.25, 0.25, 0.25}));
  for (const auto& value : lr.at("value").at(1))
    EXPECT_EQ(value, 0.25);
}

TEST_F(ScheduleCurvesTest, ALongScheduleHasFewPointsAndTheEndsOfItsPieces) {
  const configuration falling{
    {"lr", {form_kind::cosine, 1000, {0.5, 0.0, 1'000'000}, {}}}};
  const auto lr
    = curves({{3, 1'000'000, {{0, &high}, {1000, &falling}}}}).at("lr");
  const auto& step = lr.at("step").at(0);
  EXPECT_LT(step.size(), 80u);
  EXPECT_TRUE(std::is_sorted(step.begin(), step.end()));
  for (const auto at : {0, 999, 1000, 999'999})
    EXPECT_NE(std::find(step.begin(), step.end(), at), step.end()) << at;
  EXPECT_LT(lr.at("value").at(0).back(), 0.001);
}

TEST_F(ScheduleCurvesTest, ATrialThatEndedBeforeHasAShorterCurve) {
  const auto lr = curves({{0, 6, {{0, &high}, {3, &low}}},
                          {1, 2, {{0, &high}}},
                          {2, 0, {{0, &high}}}})
                    .at("lr");
  EXPECT_EQ(lr.at("trial"), (json{0, 1}));
  EXPECT_EQ(lr.at("step").at(1), (json{0, 1}));
}

TEST_F(ScheduleCurvesTest, OfTooManyTheFirstAreShownWithWhoHasThem) {
  const auto lr = curves({{0, 6, {{0, &high}, {3, &low}}},
                          {1, 6, {{0, &high}, {4, &low}}},
                          {2, 6, {{0, &high}, {3, &low}}}},
                         1)
                    .at("lr");
  EXPECT_EQ(lr.at("trial"), (json{0, 2}));
  EXPECT_EQ(lr.at("all_curves"), 2);
  EXPECT_EQ(lr.at("step").size(), 1u);
}

// -- columns ------------------------------------------------------------------

std::vector<float> floats_of(const std::string& base64) {
  static const std::string digits
    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (std::size_t i = 0; i < base64.size(); i += 4) {
    std::uint32_t x = 0;
    int there = 3;
    for (std::size_t k = 0; k < 4; ++k) {
      const auto c = base64[i + k];
      x = x << 6 | (c == '=' ? 0 : static_cast<std::uint32_t>(digits.find(c)));
      there -= c == '=' ? 1 : 0;
    }
    for (int k = 0; k < there; ++k)
      bytes += static_cast<char>(x >> (16 - 8 * k) & 255);
  }
  std::vector<float> result(bytes.size() / sizeof(float));
  EXPECT_EQ(bytes.size() % sizeof(float), 0u);
  std::memcpy(result.data(), bytes.data(), result.size() * sizeof(float));
  return result;
}

/// Reads a column as a page does.
std::vector<json> decoded(const std::string& text) {
  const auto x = json::parse(text);
  if (x.is_array())
    return x;
  std::vector<json> result;
  if (x.contains("float32")) {
    for (const auto y : floats_of(x.at("float32")))
      result.push_back(std::isnan(y) ? json(nullptr) : json(y));
  } else {
    for (const auto& at : x.at("at"))
      result.push_back(x.at("of").at(at.get<std::size_t>()));
  }
  return result;
}

TEST(CellColumnTest, AnyColumnIsReadAsItWasSet) {
  std::mt19937_64 random{7};
  for (int round = 0; round < 60; ++round) {
    const auto size = round % 2 == 0 ? random() % 50 : 1000 + random() % 50;
    const auto kinds = 1 + random() % 2000;
    const bool has_words = random() % 2 == 0;
    cell_column column;
    std::vector<json> expected(size);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < size; ++i) {
      for (int change = 0; change <= round % 3; ++change) {
        const auto kind = random() % kinds;
        expected[i] = kind == 0                     ? json(nullptr)
                      : has_words && kind % 5 == 1
                        ? json("w" + std::to_string(kind))
                        : json(double(kind) / 8);
        if (expected[i].is_number())
          column.set(i, expected[i].get<double>());
        else
          column.set(i, expected[i].dump());
      }
      if (random() % 8 != 0 || size > 1000)
        rows.push_back(i);
    }
    std::string text;
    column.add_to(text, rows);
    const auto found = decoded(text);
    ASSERT_EQ(found.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      ASSERT_EQ(found[i], expected[rows[i]]) << "row " << rows[i];
  }
}

TEST(CellColumnTest, RowsThatWereNeverSetAreNull) {
  cell_column column;
  column.set(2, 0.5);
  std::string text;
  column.add_to(text, {0, 1, 2, 3});
  EXPECT_EQ(text, "[null,null,0.5,null]");
}

TEST(CellColumnTest, TenThousandNumbersTakeSixBytesEach) {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<> draw;
  cell_column column;
  std::vector<std::size_t> rows(10'000);
  std::iota(rows.begin(), rows.end(), 0);
  for (const auto i : rows)
    column.set(i, draw(random));
  std::string text;
  column.add_to(text, rows);
  EXPECT_LT(text.size(), 60'000u);
}

TEST(CellColumnTest, NumbersAreWrittenInFullAndOthersAreNull) {
  std::string text;
  for (const double x : {0.1, -0.0, 1e300, 1. / 3, std::nan(""),
                         std::numeric_limits<double>::infinity()}) {
    text.clear();
    add_number(text, x);
    const auto read = json::parse(text);
    if (std::isfinite(x)) {
      EXPECT_EQ(read.get<double>(), x);
    } else {
      EXPECT_TRUE(read.is_null());
    }
  }
}

// -- answers that are kept ----------------------------------------------------

struct KeptAnswersTest : testing::Test {
  ~KeptAnswersTest() noexcept override = default;

  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  std::uint64_t news = 1; // what is stored
  int made = 0;

  std::string ask(response_cache& from, const std::string& key,
                  std::uint64_t seen, kj::Maybe<kj::Duration> age = nullptr,
                  std::size_t size = 100) {
    return from
      .get(key, {news, seen, age},
           [&]() -> kj::Promise<response_cache::answer> {
             ++made;
             auto text = std::to_string(news);
             text.resize(size);
             return std::make_shared<const packed_body>(pack_body(text));
           })
      .wait(scope)
      ->plain.c_str();
  }
};

TEST_F(KeptAnswersTest, AnAnswerIsMadeOnceUntilSomethingNewerIsKnown) {
  response_cache kept{timer, 1 << 20};
  EXPECT_EQ(ask(kept, "x", 1), "1");
  EXPECT_EQ(ask(kept, "x", 1), "1");
  EXPECT_EQ(made, 1);
  news = 5;
  // A page that has heard of 1 alone is served, one that has heard of 5 is not.
  EXPECT_EQ(ask(kept, "x", 1), "1");
  EXPECT_EQ(ask(kept, "x", 5), "5");
  EXPECT_EQ(ask(kept, "x", 1), "5");
  EXPECT_EQ(made, 2);
  EXPECT_EQ(ask(kept, "y", 1), "5");
  EXPECT_EQ(made, 3);
  // What was made for one who had heard of less is as new as it is.
  EXPECT_EQ(ask(kept, "y", 5), "5");
  EXPECT_EQ(made, 3);
}

TEST_F(KeptAnswersTest, AnAnswerThatComesLateTakesNoRoom) {
  response_cache kept{timer, 4000};
  auto slow = kj::newPromiseAndFulfiller<response_cache::answer>();
  auto first = kept.get("x", {1, 1, nullptr},
                        [&]() -> kj::Promise<response_cache::answer> {
                          return kj::mv(slow.promise);
                        });
  news = 2;
  ask(kept, "x", 2, nullptr, 1500);
  // It is as large as all the room: counted, it would drive the newer one out.
  auto text = std::string(3900, 'x');
  slow.fulfiller->fulfill(std::make_shared<const packed_body>(pack_body(text)));
  first.wait(scope);
  scope.poll();
  made = 0;
  ask(kept, "x", 2, nullptr, 1500);
  EXPECT_EQ(made, 0);
}

TEST_F(KeptAnswersTest, WhatRunsIsAskedForAgainAfterAMoment) {
  response_cache kept{timer, 1 << 20};
  const auto age = 400 * kj::MILLISECONDS;
  ask(kept, "x", 1, age);
  timer.advanceTo(timer.now() + 300 * kj::MILLISECONDS);
  ask(kept, "x", 1, age);
  EXPECT_EQ(made, 1);
  timer.advanceTo(timer.now() + 200 * kj::MILLISECONDS);
  ask(kept, "x", 1, age);
  EXPECT_EQ(made, 2);
}

TEST_F(KeptAnswersTest, MoreThanThereIsRoomForIsForgotten) {
  response_cache kept{timer, 4000};
  for (int i = 0; i < 20; ++i)
    ask(kept, std::to_string(i), 1, nullptr, 900);
  scope.poll();
  EXPECT_EQ(made, 20);
  ask(kept, "19", 1, nullptr, 900);
  EXPECT_EQ(made, 20) << "the last one is there";
  ask(kept, "0", 1, nullptr, 900);
  EXPECT_EQ(made, 21) << "the first one is not";
}

TEST_F(KeptAnswersTest, WhoWaitsForTheSameGetsTheSameAndFailuresAreNotKept) {
  response_cache kept{timer, 1 << 20};
  auto pair = kj::newPromiseAndFulfiller<response_cache::answer>();
  const auto make = [&]() -> kj::Promise<response_cache::answer> {
    ++made;
    return kj::mv(pair.promise);
  };
  auto first = kept.get("x", {1, 1, nullptr}, make);
  auto second = kept.get("x", {1, 1, nullptr}, make);
  EXPECT_EQ(made, 1);
  pair.fulfiller->reject(kj::Exception{kj::Exception::Type::FAILED, __FILE__,
                                       __LINE__, kj::str("no")});
  EXPECT_THROW(first.wait(scope), kj::Exception);
  EXPECT_THROW(second.wait(scope), kj::Exception);
  scope.poll();
  EXPECT_EQ(ask(kept, "x", 1), "1");
  EXPECT_EQ(made, 2);
}

} // namespace
} // namespace hippo
