#include "hippo/train/call_watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace hippo {
namespace {

using namespace std::chrono_literals;
using duration = call_watch::duration;
using effect = call_watch::effect;

struct CallWatch : testing::Test {
  /// What is done until `to`, by who looks once a millisecond, and when.
  std::vector<std::pair<effect, duration>> until(duration to, bool can_stop) {
    std::vector<std::pair<effect, duration>> result;
    for (; now < to; now += 1ms)
      if (const auto x = watch.tick(now, can_stop); x != effect::nothing)
        result.emplace_back(x, now);
    return result;
  }

  using done = std::vector<std::pair<effect, duration>>;

  call_watch watch;
  duration now{};
};

TEST_F(CallWatch, NothingIsDoneAboutACallThatNobodyWaitsFor) {
  watch.start_lease(true);
  watch.begin(call_kind::training, 1, now);
  EXPECT_EQ(watch.due(true), std::nullopt);
  EXPECT_EQ(until(100s, true), done{});
  EXPECT_EQ(watch.overdue(now), 0s);
}

TEST_F(CallWatch, AProcessGetsSigtermAndAfterTheGraceSigkill) {
  watch.start_lease(true);
  watch.begin(call_kind::training, 1, now);
  until(3s, true);
  watch.cancel(now);
  EXPECT_EQ(until(60s, true), (done{{effect::terminate, 4s},
                                    {effect::kill, 14s},
                                    {effect::give_up, 24s}}));
  EXPECT_EQ(watch.overdue(now), 57s);
  EXPECT_EQ(watch.due(true), std::nullopt) << "there is no more to do";
}

TEST_F(CallWatch, WhatTrainsInThisProcessIsGivenUpAfterTheGrace) {
  watch.start_lease(true);
  watch.begin(call_kind::training, 1, now);
  until(3s, false);
  watch.cancel(now);
  EXPECT_EQ(until(60s, false), (done{{effect::give_up, 13s}}));
}

TEST_F(CallWatch, ACallThatReturnsIsLeftAlone) {
  watch.start_lease(true);
  watch.begin(call_kind::training, 1, now);
  watch.cancel(now);
  until(500ms, true);
  watch.end(now);
  EXPECT_EQ(watch.overdue(now), 0s);
  EXPECT_EQ(until(60s, true), done{});
  watch.start_lease(false);
  watch.begin(call_kind::training, 1, now);
  EXPECT_EQ(until(120s, true), done{}) << "the next lease was not cancelled";
}

TEST_F(CallWatch, AHealthyLongStepMayEndWhatItHasBegun) {
  watch.start_lease(true);
  watch.begin(call_kind::training, 1, now);
  now = 8s;
  watch.end(now);
  watch.begin(call_kind::training, 1, now);
  watch.cancel(now);
  // Steps take 8 s: the process is not ended before it is late, within the
  // grace all the same.
  EXPECT_EQ(until(19s, true), (done{{effect::terminate, 18s}}));
}

TEST_F(CallWatch, AYieldWaitsForWhatCallsLikeItTake) {
  for (const bool is_known : {false, true}) {
    watch = call_watch{};
    now = 0s;
    watch.start_lease(true);
    watch.begin(call_kind::starting, 1, now);
    now = 1s; // says nothing of steps
    watch.end(now);
    if (is_known) {
      watch.begin(call_kind::training, 4, now);
      now += 400s;
      watch.end(now);
    }
    watch.begin(call_kind::training, 2, now);
    watch.wind_down(now);
    const auto bound = is_known ? now + 10 * 200s : now + 6h;
    EXPECT_EQ(watch.due(true), bound);
    EXPECT_EQ(watch.tick(bound - 1s, true), effect::nothing);
    EXPECT_EQ(watch.overdue(bound - 1s), 0s);
    // From here on it is as if it had been cancelled.
    EXPECT_EQ(watch.tick(bound, true), effect::nothing);
    EXPECT_GT(watch.overdue(bound), 0s);
    EXPECT_EQ(watch.tick(bound + 10s, true), effect::terminate);
  }
}

TEST_F(CallWatch, WhatWasEndedSaysNothingOfHowLongCallsTake) {
  watch.start_lease(true);
  watch.begin(call_kind::training, 1, now);
  watch.cancel(now);
  EXPECT_EQ(until(8s, true), (done{{effect::terminate, 1s}}));
  watch.end(now);
  watch.start_lease(false);
  watch.begin(call_kind::training, 1, now);
  watch.cancel(now);
  EXPECT_EQ(until(10s, true), (done{{effect::terminate, 9s}}));
}

/// Whatever happens in whatever order: what is done, and when, is what follows
/// from all that has happened by then.
class CallWatches : public testing::TestWithParam<unsigned> {};

TEST_P(CallWatches, DoWhatFollowsFromAllThatHasHappened) {
  std::mt19937 random{GetParam()};
  const auto below = [&](unsigned n) {
    return static_cast<unsigned>(random() % n);
  };
  call_limits limits;
  limits.grace = 1s * below(4);
  limits.first = 1s;
  limits.usual_factor = 3;
  limits.usual_min = 5s;
  limits.unknown_max = 12s;
  call_watch watch{limits};
  const bool can_stop = below(2) == 0;
  struct known_call {
    call_kind what{};
    duration begun{};
    unsigned units = 1;
  };
  std::map<call_kind, duration> longest; // of a unit
  std::optional<known_call> running;
  bool is_cancelled = false, is_wound_down = false;
  duration cancelled{}, wound_down{};
  std::vector<effect> done; // about the one that runs
  std::vector<duration> done_at;
  watch.start_lease(true);
  for (duration now = 0s; now < 400s; now += 1s) {
    const auto x = watch.tick(now, can_stop);
    // The model, from the beginning.
    auto expected = effect::nothing;
    if (running) {
      const auto i = longest.find(running->what);
      const auto usual = i == longest.end() ? 0s : i->second * running->units;
      if (!is_cancelled && is_wound_down) {
        const auto from = std::max(wound_down, running->begun);
        if (now >= from + (usual > 0s ? std::max<duration>(3 * usual, 5s)
                                      : duration{12s}))
          is_cancelled = true, cancelled = now;
      } else if (is_cancelled) {
        const auto since = std::max(cancelled, running->begun);
        const auto late = running->begun + 2 * usual;
        const auto first
          = can_stop ? std::clamp(late,
                                  since + std::min(limits.first, limits.grace),
                                  since + limits.grace)
                     : std::max(since + limits.grace, late);
        const std::vector<effect> order
          = can_stop ? std::vector{effect::terminate, effect::kill,
                                   effect::give_up}
                     : std::vector{effect::give_up};
        const auto at = done.empty() ? first : done_at.back() + limits.grace;
        if (done.size() < order.size() && now >= at)
          expected = order[done.size()];
      }
    }
    ASSERT_EQ(x, expected) << now / 1s << " s";
    if (x != effect::nothing) {
      done.push_back(x);
      done_at.push_back(now);
    }
    ASSERT_EQ(watch.overdue(now) > 0s, running && is_cancelled);
    switch (below(8)) {
      case 0:
        if (!running) {
          running = known_call{static_cast<call_kind>(below(5)), now,
                               1 + below(3)};
          watch.begin(running->what, running->units, now);
        }
        break;
      case 1:
        if (running && below(3) == 0) {
          if (done.empty() && now > running->begun)
            longest[running->what]
              = std::max(longest[running->what],
                         duration{(now - running->begun).count()
                                  / running->units});
          watch.end(now);
          running.reset();
          done.clear();
          done_at.clear();
        }
        break;
      case 2:
        if (below(6) == 0) {
          watch.cancel(now);
          if (!std::exchange(is_cancelled, true))
            cancelled = now;
        }
        break;
      case 3:
        if (below(4) == 0) {
          watch.wind_down(now);
          if (!std::exchange(is_wound_down, true))
            wound_down = now;
        }
        break;
      case 4:
        if (!running) {
          const bool is_new = below(4) == 0;
          watch.start_lease(is_new);
          if (is_new)
            longest.clear();
          is_cancelled = is_wound_down = false;
        }
        break;
      default:;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CallWatches, testing::Range(1u, 301u));

} // namespace
} // namespace hippo
