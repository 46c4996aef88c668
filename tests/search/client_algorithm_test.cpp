#include "hippo/search/algorithm/client_algorithm.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "hippo/search/sampler/client_sampler.hpp"
#include "search/studies.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

actions wanted(const expected<actions>& x) {
  EXPECT_TRUE(x) << x.failure().message;
  return x ? *x : actions{};
}

std::string refusal(const expected<actions>& x) {
  return x ? "granted" : x.failure().message;
}

/// Measured at every third step, to the ninth.
measuring by_three() { return {3, {9}}; }

TEST(ClientAlgorithm, DoesWhatItIsTold) {
  client_algorithm x{10, by_three(), 0};
  EXPECT_EQ(x.open(0), actions{});
  EXPECT_FALSE(x.done());
  EXPECT_EQ(wanted(x.ask()), actions{});
  EXPECT_EQ(wanted(x.ask()), actions{});
  EXPECT_EQ(x.trials(), 2u);
  EXPECT_EQ(wanted(x.train(0, 3)), (actions{advance{0, 3}}));
  EXPECT_EQ(wanted(x.train(1, 9)), (actions{advance{1, 9}}));
  EXPECT_EQ(x.on_result(0, 2, 1), actions{});
  EXPECT_EQ(x.on_result(0, 3, 1), actions{});
  EXPECT_EQ(wanted(x.train(0, 6)), (actions{advance{0, 6}}));
  EXPECT_EQ(wanted(x.stop(1)), (actions{prune{1}})); // on its way
  EXPECT_EQ(x.on_result(0, 6, 1), actions{});
  wanted(x.ask());
  wanted(x.ask());
  EXPECT_EQ(wanted(x.train(2, 3)), (actions{advance{2, 3}}));
  EXPECT_EQ(wanted(x.train(3, 9)), (actions{advance{3, 9}}));
  EXPECT_EQ(x.close(), (actions{prune{0}})); // others finish
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(2, 3, 1), (actions{prune{2}}));
  EXPECT_EQ(x.on_result(3, 9, 1), actions{});
  EXPECT_TRUE(x.done());
}

TEST(ClientAlgorithm, SaysWhyNot) {
  client_algorithm x{2, by_three(), 1};
  EXPECT_EQ(refusal(x.train(0, 3)), "there is no trial 0");
  EXPECT_EQ(refusal(x.stop(0)), "there is no trial 0");
  wanted(x.ask());
  EXPECT_EQ(refusal(x.train(0, 4)),
            "a trial cannot be trained to step 4, where nothing is measured:"
            " the nearest step is 6");
  EXPECT_EQ(refusal(x.train(0, 10)),
            "a trial cannot be trained to step 10, where nothing is measured:"
            " the nearest step is 9");
  wanted(x.train(0, 3));
  EXPECT_EQ(refusal(x.train(0, 6)),
            "as many trials are in flight as may be: 1");
  wanted(x.ask());
  EXPECT_EQ(refusal(x.train(1, 3)),
            "as many trials are in flight as may be: 1");
  x.on_result(0, 3, 1);
  EXPECT_EQ(refusal(x.train(0, 3)), "trial 0 is at step 3 already");
  wanted(x.train(1, 6));
  x.on_failure(1);
  EXPECT_EQ(refusal(x.train(1, 9)), "trial 1 has ended");
  EXPECT_EQ(refusal(x.stop(1)), "trial 1 has ended");
  EXPECT_EQ(refusal(x.ask()),
            "there may be 2 trials, and there are that many");
  wanted(x.train(0, 9));
  EXPECT_FALSE(x.done());
  x.on_result(0, 9, 1);
  EXPECT_TRUE(x.done()); // no trial could be asked for any more
  x.close();
  EXPECT_EQ(refusal(x.ask()), "the study was closed");
}

TEST(ClientAlgorithm, ATrialOnItsWayCannotGoFurther) {
  client_algorithm x{2, by_three(), 0};
  wanted(x.ask());
  wanted(x.train(0, 3));
  EXPECT_EQ(refusal(x.train(0, 6)), "trial 0 is on its way to step 3");
}

TEST(ClientAlgorithm, EndsWhateverIsWantedAndWhateverFails) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random{seed};
    client_algorithm x{1 + random() % 10, {2, {6}}, random() % 3};
    std::map<trial_no, step_t> running;
    const auto take = [&](const actions& ys) {
      for (const auto& y : ys) {
        if (const auto* go = std::get_if<advance>(&y)) {
          EXPECT_FALSE(running.contains(go->trial));
          running[go->trial] = go->to;
        } else {
          running.erase(std::get<prune>(y).trial);
        }
      }
    };
    const auto want = [&](const expected<actions>& ys) {
      if (ys)
        take(*ys);
    };
    bool closed = false;
    for (int i = 0; i < 60; ++i) {
      const trial_no trial = random() % 10;
      switch (random() % 6) {
        case 0: want(x.ask()); break;
        case 1: want(x.train(trial, random() % 8)); break;
        case 2: want(x.stop(trial)); break;
        case 3:
          if (random() % 10 == 0) {
            closed = true;
            take(x.close());
          }
          break;
        case 4:
          if (running.contains(trial)) {
            running.erase(trial);
            take(x.on_failure(trial));
          }
          break;
        default:
          if (running.contains(trial)) {
            const auto to = running[trial];
            running.erase(trial);
            take(x.on_result(trial, to, 1));
          }
      }
    }
    if (!closed)
      take(x.close());
    while (!running.empty()) {
      ASSERT_FALSE(x.done());
      const auto [trial, to] = *running.begin();
      running.erase(trial);
      take(x.on_result(trial, to, 1));
    }
    ASSERT_TRUE(x.done()) << seed;
  }
}

TEST(ClientSampler, TakesGivenValuesElseDraws) {
  const auto x = study(twelve, "client", "budget: {trials: 20}");
  const auto values = sampler_of(x);
  auto& client = dynamic_cast<client_sampler&>(*values);
  client.give(1, x.space.at(7));
  const auto random = sampler_of(study(twelve, "random"));
  EXPECT_EQ(client.draw(0).shown, random->draw(0).shown);
  EXPECT_EQ(client.draw(1).shown, x.space.at(7).shown);
  EXPECT_FALSE(client.is_static());
  // More trials than combinations: they begin again.
  EXPECT_EQ(client.draw(12).shown, random->draw(0).shown);
}

} // namespace
} // namespace hippo
