#include "hippo/service/notify/delivery_schedule.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using namespace std::chrono_literals;
using kind = post_outcome::kind;

http_answer status(long number) {
  http_answer result;
  result.status = number;
  return result;
}

TEST(PostOutcome, AnswersAreJudgedByTheirStatus) {
  for (const auto x : {200, 202, 204, 299})
    EXPECT_EQ(outcome_of(status(x)).how, kind::accepted) << x;
  for (const auto x : {408, 425, 429, 500, 503})
    EXPECT_EQ(outcome_of(status(x)).how, kind::deferred) << x;
  for (const auto x : {100, 301, 302, 307, 400, 401, 404, 410})
    EXPECT_EQ(outcome_of(status(x)).how, kind::refused) << x;
  EXPECT_EQ(outcome_of(status(404)).trouble, "it answered with status 404");
  EXPECT_EQ(
    outcome_of(status(302)).trouble,
    "it answered with status 302, a redirection, which is not followed");
  http_answer none;
  none.trouble = "no route";
  EXPECT_EQ(outcome_of(none).how, kind::deferred);
  EXPECT_EQ(outcome_of(none).trouble, "no route");
  none.is_forbidden = true;
  EXPECT_EQ(outcome_of(none).how, kind::refused);
}

due_notification due(std::uint64_t study, const std::string& url,
                     std::uint64_t number = 1,
                     notify_event event = notify_event::ended) {
  return {study_id{study}, event, url, number};
}

class DeliverySchedule : public testing::Test {
protected:
  std::optional<due_notification> take() { return schedule_.take(now_); }
  std::optional<notification_settled> note(const due_notification& x,
                                           kind how) {
    return schedule_.note(x, {how, how == kind::accepted ? "" : "trouble"},
                          now_);
  }

  moment now_{1h};
  delivery_schedule schedule_;
};

TEST_F(DeliverySchedule, WhatWasAcceptedIsSettledAndNotTakenAgain) {
  const auto x = due(1, "http://a/x");
  schedule_.set_due({x});
  EXPECT_TRUE(schedule_.has_untried());
  EXPECT_EQ(take(), x);
  EXPECT_FALSE(schedule_.has_untried());
  const auto settled = note(x, kind::accepted);
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->study, x.study);
  EXPECT_EQ(settled->number, 1u);
  EXPECT_EQ(settled->trouble, "");
  // The store does not know it yet.
  schedule_.set_due({x});
  EXPECT_FALSE(schedule_.has_untried());
  EXPECT_FALSE(take());
  // The study has ended once more.
  schedule_.set_due({due(1, "http://a/x", 2)});
  EXPECT_TRUE(schedule_.has_untried());
  EXPECT_TRUE(take());
}

TEST_F(DeliverySchedule, WhatIsRefusedIsSettledWithItsTrouble) {
  const auto x = due(1, "http://a/x");
  schedule_.set_due({x});
  take();
  const auto settled = note(x, kind::refused);
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->trouble, "trouble");
  EXPECT_FALSE(take());
}

TEST_F(DeliverySchedule, WaitsGrowUntilItIsGivenUp) {
  const auto x = due(1, "http://a/x");
  schedule_.set_due({x});
  const auto begin = now_;
  std::vector<moment::duration> waits;
  ASSERT_TRUE(take());
  for (;;) {
    if (const auto settled = note(x, kind::deferred)) {
      EXPECT_EQ(settled->trouble, "trouble");
      break;
    }
    const auto failed = now_;
    while (!take())
      now_ += 1s;
    waits.push_back(now_ - failed);
  }
  ASSERT_GT(waits.size(), 3u);
  EXPECT_EQ(waits[0], 5s);
  EXPECT_EQ(waits[1], 10s);
  EXPECT_EQ(waits.back(), 1h);
  EXPECT_GE(now_ - begin, 72h);
  EXPECT_LE(now_ - begin, 73h);
  EXPECT_FALSE(schedule_.take(now_ + 10h));
}

TEST_F(DeliverySchedule, AHostThatFailsHoldsUpNobodyElse) {
  const auto bad = due(1, "http://bad:80/x"), bad2 = due(2, "http://bad:80/y"),
             good = due(3, "http://good/?q"), good2 = due(4, "http://good#f");
  schedule_.set_due({bad, bad2, good, good2});
  // One at a time to a host.
  EXPECT_EQ(take(), bad);
  EXPECT_EQ(take(), good);
  EXPECT_FALSE(take());
  EXPECT_TRUE(note(good, kind::accepted));
  EXPECT_EQ(take(), good2);
  EXPECT_FALSE(note(bad, kind::deferred));
  // Its other notifications wait along with the one that failed.
  EXPECT_FALSE(take());
  now_ += 5s;
  const auto again = take();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->url.substr(0, 10), "http://bad");
}

TEST_F(DeliverySchedule, HostsThatHaveFailedComeLast) {
  const auto bad = due(1, "http://bad/"), good = due(2, "http://good/");
  schedule_.set_due({bad});
  take();
  EXPECT_FALSE(note(bad, kind::deferred));
  now_ += 1h;
  schedule_.set_due({bad, good});
  EXPECT_EQ(take(), good);
  EXPECT_TRUE(note(good, kind::accepted));
  // Also if its last attempt is longer ago.
  const auto again = due(2, "http://good/", 2);
  schedule_.set_due({bad, again});
  EXPECT_EQ(take(), again);
  EXPECT_EQ(take(), bad);
}

TEST_F(DeliverySchedule, TheBestIsPostedOnceAMinuteAtMost) {
  const auto x = [](std::uint64_t number) {
    return due(1, "http://a/", number, notify_event::best);
  };
  schedule_.set_due({x(1)});
  ASSERT_TRUE(take());
  EXPECT_TRUE(note(x(1), kind::accepted));
  schedule_.set_due({x(2), due(1, "http://a/")});
  EXPECT_EQ(take(), due(1, "http://a/")); // the end is posted at once
  EXPECT_TRUE(note(due(1, "http://a/"), kind::accepted));
  EXPECT_FALSE(take());
  now_ += 60s;
  EXPECT_EQ(take(), x(2));
}

// Whatever hosts do: each is posted to one at a time, and in the end everything
// is settled once for each number.
TEST(DeliveryScheduleProperty, EverythingIsSettledOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 draw{seed};
    const auto below = [&draw](std::uint64_t n) { return draw() % n; };
    delivery_schedule schedule;
    moment now{1h};
    std::map<std::uint64_t, due_notification> store; // by study
    for (std::uint64_t i = 0; i < 6; ++i)
      store[i] = due(i, "http://" + std::to_string(below(3)) + "/");
    std::multiset<std::pair<std::uint64_t, std::uint64_t>> settled;
    std::vector<due_notification> on_their_way;
    const auto hosts = [&] {
      std::multiset<std::string> result;
      for (const auto& x : on_their_way)
        result.insert(x.url);
      return result;
    };
    const auto look = [&] {
      std::vector<due_notification> all;
      for (const auto& [no, x] : store)
        if (!settled.contains({no, x.number}))
          all.push_back(x);
      schedule.set_due(all);
      return all.empty();
    };
    for (int i = 0; i < 4000; ++i) {
      now += 1s * below(600);
      if (i < 1000 && below(20) == 0)
        ++store[below(6)].number; // it has happened again
      const bool is_over = look() && on_their_way.empty();
      if (is_over && i >= 1000)
        break;
      if (auto x = schedule.take(now)) {
        ASSERT_EQ(hosts().count(x->url), 0u);
        on_their_way.push_back(*x);
      }
      if (on_their_way.empty() || below(3) == 0)
        continue;
      const auto at = below(on_their_way.size());
      const auto x = on_their_way[at];
      on_their_way.erase(on_their_way.begin() + static_cast<long>(at));
      const auto how =
        i >= 1000 ? kind::accepted : kind{std::uint8_t(below(3))};
      if (auto done = schedule.note(x, {how, ""}, now))
        settled.emplace(number_of(done->study), done->number);
    }
    EXPECT_TRUE(look()) << seed;
    for (const auto& x : settled)
      EXPECT_EQ(settled.count(x), 1u) << seed;
  }
}

} // namespace
} // namespace hippo
