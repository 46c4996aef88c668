// Training that fails at any of its calls, in any way, everywhere or on one
// trainer: a merger comes to an end with it, and blames nobody else.

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/base/hash.hpp"
#include "merge/merge_world.hpp"

namespace hippo {
namespace {

constexpr unsigned attempts_max = 3;

/// What is wrong with a state.
struct flaw {
  enum class way : std::uint8_t { said, lost, silent };
  bool any = false;
  lease_part during{}; ///< `training`: the step that leads to it
  way how{};
  bool is_everywhere = false;
  std::size_t slot = 0; ///< else of the trainers there
};

struct flawed_world : test::merge_world {
  explicit flawed_world(std::uint32_t seed)
    : merge_world(options_for(seed), 1 + seed % 5 / 4),
      rng(seed),
      number_of_seed(seed) {}

  static merger_options options_for(std::uint32_t seed) {
    merger_options result;
    result.attempts_max = attempts_max;
    result.stall_max = std::chrono::seconds{30};
    result.unmeasured_stall_max = std::chrono::seconds{90};
    result.merge = seed % 7 != 0;
    return result;
  }

  [[nodiscard]] std::size_t pick(std::size_t n) { return rng() % n; }

  [[nodiscard]] flaw flaw_of(const test::model_state& x) const {
    const std::uint64_t words[]{x.value, number_of_seed};
    const auto h = hash_bytes(words, sizeof words);
    flaw result;
    result.any = h % 9 == 0;
    result.during = static_cast<lease_part>(h / 16 % 3);
    result.how = static_cast<flaw::way>(h / 64 % 3);
    result.is_everywhere = h / 256 % 2 == 0;
    result.slot = h / 1024 % slots;
    return result;
  }

  [[nodiscard]] bool strikes(const flaw& x, lease_part at,
                             trainer_id which) const {
    return x.any && x.during == at
           && (x.is_everywhere || slot_of.at(which) == x.slot);
  }

  void add_trainer(std::size_t slot) {
    const auto id = join("model");
    trainers[id];
    slot_of[id] = slot;
    std::map<trainer_id, std::string> able;
    for (const auto& kvp : trainers)
      able.emplace(kvp.first, "model");
    apply(merge_event::able_trainers{std::move(able)});
  }

  /// What a lease is to record next, as somebody from outside sees it.
  using target = std::tuple<node_id, step_t, std::string>;
  [[nodiscard]] target target_of(const trainer::job& x) const {
    const auto& stop = x.work.stops.at(x.next_stop);
    const auto* where = stage_reaching(x.work, stop.at);
    return {where ? where->node : root_node, stop.at, x.work.start.file};
  }

  void strike(trainer_id id, lease_id number, flaw::way how,
              lease_part during) {
    auto& job = trainers.at(id).jobs.at(number);
    const auto count = ++fruitless[target_of(job)];
    EXPECT_LE(count, 2 * attempts_max) << "there is no end of attempts";
    switch (how) {
      case flaw::way::said:
        end(id, number, error{errc::training_failed, "broken"}, during);
        return;
      case flaw::way::lost: {
        const auto slot = slot_of.at(id);
        is_any_lost = true;
        lose(id, "it closed the connection");
        add_trainer(slot); // somebody starts it again
        return;
      }
      case flaw::way::silent:
        // What its other lanes have is not what stands still.
        while (const auto other = other_lease(id, number))
          step(id, *other);
        // Ten times as long as the first step of the slowest has taken.
        for (int i = 0; i < 2000 && trainers.at(id).jobs.count(number) > 0;
             ++i) {
          pass(9);
          heartbeat(id, number);
        }
        EXPECT_FALSE(trainers.at(id).granted) << "it stands still for ever";
    }
  }

  /// A lease that a trainer has beside one.
  [[nodiscard]] std::optional<lease_id> other_lease(trainer_id id,
                                                    lease_id number) const {
    for (const auto& kvp : trainers.at(id).jobs)
      if (kvp.first != number)
        return kvp.first;
    return std::nullopt;
  }

  /// Trains a lease up to its next stop, or to where it fails.
  void go_on(trainer_id id, lease_id number) {
    heartbeat(id, number);
    auto& job = trainers.at(id).jobs.at(number);
    const auto stop = job.work.stops.at(job.next_stop);
    auto state = job.state;
    for (const auto& stage : job.work.stages)
      for (auto t = std::max(job.at, stage.begin);
           t < std::min(stage.end, stop.at); ++t) {
        state.train(stage.config, t, t + 1);
        if (const auto x = flaw_of(state);
            strikes(x, lease_part::training, id)) {
          job.at = t;
          job.state = {}; // it is of no use any more
          strike(id, number, x.how, lease_part::training);
          return;
        }
      }
    const auto x = flaw_of(state);
    for (const auto during : {lease_part::measuring, lease_part::saving})
      if (strikes(x, during, id)
          && (during == lease_part::measuring ? stop.evaluate : stop.save)) {
        job.at = stop.at;
        strike(id, number, x.how, during);
        return;
      }
    const auto report = step(id, number);
    std::erase_if(fruitless, [&](const auto& kvp) {
      return std::get<node_id>(kvp.first) == report.node;
    });
  }

  /// Those that are left to others rest, so that others have their turn.
  void grant_any() {
    std::vector<trainer_id> idle;
    for (const auto& [id, x] : trainers)
      if (!x.granted)
        idle.push_back(id);
    if (wanted == 0 || idle.empty())
      return;
    --wanted;
    grant(idle[pick(idle.size())]);
  }

  void run() {
    slots = 1 + pick(4);
    for (std::size_t i = 0; i < slots; ++i)
      add_trainer(i);
    when = {{3, {9}}, {9, {9}}, {1, {3, 9}}};
    for (const auto& x : when)
      add_study(x);
    apply(merge_event::started{});
    for (std::size_t i = 0; i < when.size(); ++i) {
      std::vector<std::vector<segment>> trials;
      for (auto n = pick(4); n > 0; --n)
        trials.push_back(test::random_segments(rng, 9));
      train(i, trials, 9);
    }
    int turns = 0, quiet = 0;
    for (; turns < 5000 && quiet < 60; ++turns) {
      pass(1);
      commit_all();
      grant_any();
      if (!demands.empty())
        answer_demand();
      std::vector<std::pair<trainer_id, lease_id>> busy;
      for (const auto& [id, x] : trainers)
        for (const auto& [number, job] : x.jobs)
          busy.emplace_back(id, number);
      quiet = busy.empty() ? quiet + 1 : 0;
      if (busy.empty())
        continue;
      const auto [id, number] = busy[pick(busy.size())];
      go_on(id, number);
      if (testing::Test::HasFailure())
        return;
    }
    EXPECT_LT(turns, 5000) << "it goes on without an end: "
                           << log.back().text << "; it leased "
                           << sent_leases.size() << " times";
  }

  /// Whether a trial may fail: it does alone, or nobody healthy could try it.
  [[nodiscard]] bool may_fail(const test::model_trial& x,
                              const measuring& by) const {
    test::model_state state;
    std::set<std::size_t> hit; // slots
    for (step_t t = 0; t < 9; ++t) {
      state.train(x.at(t), t, t + 1);
      const auto y = flaw_of(state);
      const bool is_hit = y.during != lease_part::measuring
                          || by.next(t) == t + 1;
      // Those that take the places of trainers that died are other ones.
      if (y.any && is_hit && (y.is_everywhere || is_any_lost))
        return true;
      if (y.any && is_hit)
        hit.insert(y.slot);
    }
    return hit.size() >= std::min<std::size_t>(slots, attempts_max);
  }

  void expect_all_over() {
    EXPECT_TRUE(commits.empty());
    EXPECT_TRUE(core.leases().leases().empty());
    for (std::size_t i = 0; i < studies.size(); ++i) {
      expect_results_as_alone(i, when[i]);
      for (const auto& [no, failure] : studies[i].failed)
        EXPECT_TRUE(may_fail(studies[i].trials.at(no), when[i]))
          << "study " << i << ", trial " << no << ": "
          << failure.reason.message;
    }
  }

  std::mt19937 rng;
  std::uint64_t number_of_seed;
  std::size_t slots = 1;
  bool is_any_lost = false;
  std::map<trainer_id, std::size_t> slot_of;
  std::map<target, unsigned> fruitless; ///< leases since the last result
  std::vector<measuring> when;
};

class FlawedTraining : public testing::TestWithParam<std::uint32_t> {};

TEST_P(FlawedTraining, ComesToAnEndAndFailsWhatFailsAlone) {
  constexpr std::uint32_t seeds_per_case = 250;
  for (auto seed = GetParam() * seeds_per_case;
       seed < (GetParam() + 1) * seeds_per_case; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    flawed_world x{seed};
    x.run();
    if (!testing::Test::HasFailure())
      x.expect_all_over();
    if (testing::Test::HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FlawedTraining, testing::Range(0u, 8u));

// -- one by one ---------------------------------------------------------------

/// A trial that measures each third state, and one that shares all with it and
/// measures the last alone.
struct two_trials : test::merge_world {
  two_trials() : merge_world(options()) {
    add_study({3, {9}});
    add_study({9, {9}});
    apply(merge_event::started{});
    train(0, {constant(.1)}, 9);
    train(1, {constant(.1)}, 9);
  }

  static merger_options options() {
    merger_options result;
    result.attempts_max = attempts_max;
    return result;
  }

  /// Grants trainers and lets each fail where it can measure or save state 3.
  template <class F>
  int fail_at_three(const F& fail) {
    int failed = 0;
    for (int i = 0; i < 50 && studies[0].failed.empty(); ++i) {
      pass(2);
      commit_all();
      const auto id = trainers.empty() || !trainers.begin()->second.jobs.empty()
                        ? grant()
                        : grant(trainers.begin()->first);
      if (trainers.at(id).jobs.empty())
        continue;
      const auto number = lease_of(id);
      trainers.at(id).jobs.at(number).at = 3;
      heartbeat(id, number);
      fail(id, number);
      ++failed;
      commit_all();
    }
    return failed;
  }

  void finish() {
    grant();
    run_all();
    expect_results_as_alone(1, {9, {9}});
  }
};

TEST(MergeCore, AStateThatNobodyCanMeasureFailsThoseThatMeasureIt) {
  two_trials x;
  EXPECT_EQ(x.fail_at_three([&](trainer_id id, lease_id number) {
    x.end(id, number, error{errc::training_failed, "evaluating step 3 failed"},
          lease_part::measuring);
  }),
            3);
  ASSERT_EQ(x.studies[0].failed.count(0), 1u);
  EXPECT_EQ(x.studies[0].failed.at(0).at, 3u);
  EXPECT_EQ(x.studies[0].failed.at(0).reason.message,
            "evaluating step 3 failed");
  x.finish();
  EXPECT_TRUE(x.studies[1].failed.empty()) << "it would not alone";
}

/// What is told by a trainer that knows no better, as those of before.
TEST(MergeCore, AFailureWhereAStateIsMeasuredIsAnAttemptAtThatState) {
  two_trials x;
  EXPECT_EQ(x.fail_at_three([&](trainer_id id, lease_id number) {
    x.end(id, number, error{errc::training_failed, "a zero"});
  }),
            3);
  ASSERT_EQ(x.studies[0].failed.count(0), 1u);
  EXPECT_EQ(x.studies[0].failed.at(0).at, 3u);
}

TEST(MergeCore, TrainersThatAreLostFailWhatTheyWereAt) {
  two_trials x;
  EXPECT_EQ(x.fail_at_three([&](trainer_id id, lease_id) {
    x.lose(id, "it closed the connection");
  }),
            3);
  ASSERT_EQ(x.studies[0].failed.count(0), 1u);
  EXPECT_EQ(x.studies[0].failed.at(0).reason.message,
            "3 trainers died on the way from step 0 to step 3: it closed the "
            "connection\nthe last one was 3");
  x.finish();
  EXPECT_TRUE(x.studies[1].failed.empty()) << "nobody knows that it would";
}

TEST(MergeCore, TrainersThatLeaveOrNeverBeganAreNoAttempts) {
  two_trials x;
  for (int i = 0; i < 10; ++i) {
    const auto leaves = x.grant();
    x.heartbeat(leaves, x.lease_of(leaves));
    x.lose(leaves);
    x.lose(x.grant(), "it closed the connection"); // it has not said a word
    x.commit_all();
  }
  x.finish();
  x.expect_results_as_alone(0, {3, {9}});
}

TEST(MergeCore, ATrainerThatComesAgainWasNotKilled) {
  two_trials x;
  for (std::uint64_t i = 1; i <= 10; ++i) {
    const trainer_id id{100 + i};
    x.trainers[id].granted = true;
    x.apply(merge_event::granted{id, "model", 0, 0, "host:7"});
    x.heartbeat(id, x.lease_of(id));
    x.lose(id, "silent for 15 s");
    x.apply(merge_event::trainer_back{"host:7"});
    x.commit_all();
  }
  x.finish();
  x.expect_results_as_alone(0, {3, {9}});
}

/// State 3 is kept and was not measured. One study waits for its measurement
/// alone, another passes it.
struct kept_state : test::merge_world {
  kept_state() : merge_world(two_trials::options()) {
    add_study({9, {9}, {3}});
    add_study({3, {3}});
    add_study({9, {9}});
    apply(merge_event::started{});
    train(0, {constant(.1)}, 9);
    grant();
    run_all();
    trainers.clear();
    train(1, {constant(.1)}, 3);
  }

  /// Grants a trainer, which is given the measurement.
  lease_id begin(trainer_id id) {
    pass(2);
    commit_all();
    grant(id);
    answer_demands();
    const auto number = lease_of(id);
    const auto& stage = trainers.at(id).jobs.at(number).work.stages.front();
    EXPECT_EQ(stage.begin, 3u);
    EXPECT_EQ(stage.end, 3u);
    heartbeat(id, number);
    return number;
  }

  void expect_measuring_failed() {
    commit_all();
    ASSERT_EQ(studies[1].failed.count(0), 1u);
    EXPECT_EQ(studies[1].failed.at(0).at, 3u);
    EXPECT_TRUE(studies[2].failed.empty()) << "it does not measure that";
    grant();
    run_all();
    expect_results_as_alone(2, {9, {9}});
  }
};

TEST(MergeCore, TrainersThatAreLostOverAMeasurementAloneAreAttempts) {
  kept_state x;
  for (std::uint64_t i = 11; i <= 13; ++i) {
    EXPECT_TRUE(x.studies[1].failed.empty());
    x.begin(trainer_id{i});
    if (i == 13)
      x.train(2, {x.change(.1, 3, .2)}, 9);
    x.lose(trainer_id{i}, "it closed the connection");
  }
  x.expect_measuring_failed();
}

TEST(MergeCore, AMeasurementAloneThatHangsFailsWhoMeasures) {
  kept_state x;
  for (std::uint64_t i = 11; i <= 13; ++i) {
    EXPECT_TRUE(x.studies[1].failed.empty());
    const auto number = x.begin(trainer_id{i});
    if (i == 13)
      x.train(2, {x.change(.1, 3, .2)}, 9);
    for (int n = 0; n < 1000 && x.trainers.at(trainer_id{i}).granted; ++n) {
      x.pass(9);
      x.heartbeat(trainer_id{i}, number);
    }
  }
  x.expect_measuring_failed();
}

TEST(MergeCore, AMeasurementAloneIsMadeByOneTrainer) {
  kept_state x;
  x.begin(trainer_id{11});
  x.grant(trainer_id{12});
  x.answer_demands();
  EXPECT_TRUE(x.trainers.at(trainer_id{12}).jobs.empty());
  EXPECT_EQ(x.core.status().runnable_paths, 0u);
  x.step(trainer_id{11}, x.lease_of(trainer_id{11}));
  x.commit_all();
  x.expect_results_as_alone(1, {3, {3}});
}

/// Both lanes are suspects of it, and each is an attempt of its own.
TEST(MergeCore, ATrainerThatStallsWithAllItsLanesWasNotCutOff) {
  auto options = two_trials::options();
  options.stall_max = options.unmeasured_stall_max = std::chrono::seconds{30};
  test::merge_world x{options, 2};
  x.add_study({3, {9}});
  x.apply(merge_event::started{});
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  int turns = 0;
  for (; turns < 20 && x.studies[0].failed.size() < 2; ++turns) {
    x.pass(2);
    x.commit_all();
    const trainer_id id{7};
    x.trainers[id].granted = true;
    x.apply(merge_event::granted{id, "model", 0, 0, "host:7", 2});
    x.answer_demands();
    ASSERT_FALSE(x.trainers.at(id).jobs.empty());
    const auto number = x.trainers.at(id).jobs.begin()->first;
    for (int n = 0; n < 20 && x.trainers.at(id).granted; ++n) {
      x.pass(9);
      x.heartbeat(id, number);
    }
    EXPECT_FALSE(x.trainers.at(id).granted);
    x.apply(merge_event::trainer_back{"host:7"});
    x.commit_all();
  }
  EXPECT_LT(turns, 20) << "there is no end of attempts";
}

/// Else each loss would count for all that its trainer had.
TEST(MergeCore, WhatATrainerWasLostOverIsTrainedAlone) {
  test::merge_world x{{}, 2};
  x.add_study({3, {9}});
  x.apply(merge_event::started{});
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto first = x.grant();
  x.answer_demands();
  ASSERT_EQ(x.trainers.at(first).jobs.size(), 2u);
  for (const auto& kvp : std::map{x.trainers.at(first).jobs})
    x.heartbeat(first, kvp.first);
  x.lose(first, "it closed the connection");
  x.grant();
  x.grant();
  x.answer_demands();
  for (const auto& [id, y] : x.trainers)
    EXPECT_EQ(y.jobs.size(), 1u);
  x.run_all();
  x.expect_results_as_alone(0, {3, {9}});
}

} // namespace
} // namespace hippo
