// A plan is a set of sequences: in which order they were inserted shows in the
// numbers of its nodes and in nothing else.

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "hippo/plan/search_plan.hpp"
#include "sequence/random_sequences.hpp"

namespace hippo {
namespace {

constexpr step_t range = 24;

struct asked_trial {
  std::vector<segment> segments;
  step_t to = 0;
};

/// Trials of two hyper-parameters. A result ends the sequences that depend on
/// it, so that they part as in a study.
std::vector<asked_trial> random_trials(unsigned seed) {
  test::random_sequences random{seed, range};
  std::mt19937 dice{seed};
  std::vector<sequence> pool;
  for (int i = 0; i < 12; ++i)
    pool.push_back(
      make_sequence(random.next(), range, random.results()).value);
  std::vector<asked_trial> result;
  for (int i = 0; i < 60; ++i)
    result.push_back({join({{"lr", pool[dice() % pool.size()]},
                            {"momentum", pool[dice() % 4]}},
                           range),
                      1 + dice() % range});
  return result;
}

struct plan_facts {
  std::set<std::string> paths; ///< from the root to each node
  std::uint64_t asked = 0;
  std::uint64_t unique = 0;
  friend bool operator==(const plan_facts&, const plan_facts&) = default;
};

plan_facts inserted(const std::vector<asked_trial>& trials,
                    const std::vector<std::size_t>& order) {
  search_plan plan;
  const auto study = plan.add_study({1, {range}});
  for (auto i : order)
    plan.ask(plan.add_trial(study, trials[i].segments), trials[i].to);
  plan_facts result;
  by_id<node_id, std::string> path(plan.size());
  for (auto id : id_range(node_id{1}, plan.size())) {
    const auto& x = plan.node(id);
    path[id] = path[x.parent] + '/' + std::to_string(x.begin) + ' '
               + to_text(plan.config_of(id));
    EXPECT_TRUE(result.paths.insert(path[id]).second) << path[id];
  }
  result.asked = plan.figures().asked_steps;
  result.unique = plan.figures().unique_steps;
  return result;
}

/// Counts the distinct states by their values alone.
std::uint64_t distinct_states(const std::vector<asked_trial>& trials) {
  std::set<std::string> seen;
  for (const auto& x : trials) {
    std::string state;
    std::size_t now = 0;
    for (step_t t = 0; t < x.to; ++t) {
      while (now + 1 < x.segments.size() && x.segments[now + 1].begin <= t)
        ++now;
      for (const auto& [name, shape] : x.segments[now].config)
        state += name + to_text(form::constant(
                          std::get<double>(shape.at(t)))) + '|';
      seen.insert(state);
    }
  }
  return seen.size();
}

class InsertionOrder : public testing::TestWithParam<unsigned> {};

TEST_P(InsertionOrder, GivesTheSamePlan) {
  const auto trials = random_trials(GetParam());
  std::vector<std::size_t> order(trials.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  const auto first = inserted(trials, order);
  EXPECT_LT(first.unique, first.asked);
  EXPECT_EQ(first.unique, distinct_states(trials));
  std::mt19937 dice{GetParam()};
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), dice);
    ASSERT_EQ(inserted(trials, order), first) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, InsertionOrder, testing::Range(1u, 21u));

} // namespace
} // namespace hippo
