#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "merge/merge_world.hpp"

namespace hippo::test {

inline const measuring each_three{3, {9}};

/// Random histories of a merger whose trainers join gangs: members die, fail,
/// say that they have ended, are asked back and do not hear of their leads'
/// ends.
struct gang_chaos : random_world {
  /// Limits of a history.
  struct limits {
    std::size_t turn_ms = 0; ///< the longest time between two events
    std::size_t leases = 0;  ///< with so many, new paths are seldom
    std::size_t trainers = 0;
  };

  gang_chaos(std::uint32_t seed, merger_options options, limits most)
    : random_world(seed, disturbed(std::move(options), seed),
                   seed % 5 == 0 ? 2 : 1),
      most_(most) {}
  virtual ~gang_chaos() = default;

  /// A trainer comes.
  virtual void join_any() { join("model"); }
  /// Something that happens before each event.
  virtual void prepare_turn() {}
  virtual bool grant_any() { return grant_for_demand(); }
  /// Lets the paths that are left get on. Called again and again.
  virtual void settle() = 0;

  void run() {
    for (std::size_t i = 0; i < 1 + pick(2); ++i)
      add_study(each_three, 1.0 + static_cast<double>(i));
    apply(merge_event::started{});
    for (int i = 0; i < 400; ++i)
      act();
    for (std::size_t i = 0; i < studies.size(); ++i) {
      studies[i].wants_capacity = false;
      give(i, orders_of(i));
    }
    for (int i = 0; i < 20; ++i)
      settle();
  }

  std::size_t gangs_seen = 0;
  std::map<trainer_id, moment> asked; ///< back, since when

private:
  static merger_options disturbed(merger_options options, std::uint32_t seed) {
    options.attempts_max = 1000; // nothing fails for good
    options.stall_max = std::chrono::seconds{30};
    options.unmeasured_stall_max = std::chrono::seconds{90};
    options.lease_steps_max = seed % 5 == 0 ? 4 : 1000;
    return options;
  }

  /// A lease gets on, or ends since its gang is not whole.
  void get_on(trainer_id id, lease_id number) {
    const auto& work = trainers.at(id).jobs.at(number).work;
    if (!is_whole(work)) {
      end(id, number, error{errc::gang_lost, "lost " + work.gang->members[0]});
      return;
    }
    if (!work.gang || work.gang->rank == 0)
      step(id, number);
    else
      heartbeat(id, number);
  }

  void ask_back() {
    std::vector<trainer_id> all;
    for (const auto& [id, x] : trainers)
      if (x.granted)
        all.push_back(id);
    if (all.empty())
      return;
    const auto id = all[pick(all.size())];
    asked.try_emplace(id, now);
    apply(merge_event::yield_asked{id});
  }

  void disturb() {
    const auto found = any_lease();
    if (!found)
      return;
    const auto [id, number] = *found;
    switch (pick(7)) {
      case 0:
        end(id, number, error{errc::io_failed, "disk"});
        break;
      case 1:
        end(id, number, error{errc::training_failed, "code"});
        break;
      case 2:
        end(id, number, error{errc::gang_lost, "lost"});
        break;
      case 3:
        apply(merge_event::malformed{id, "rubbish"});
        break;
      case 4:
        end(id, number);
        break; // so it says
      case 5: {
        auto job = trainers.at(id).jobs.at(number);
        const auto late = train_to(job, job.work.stops.at(job.next_stop));
        const bool is_own = !job.work.gang || job.work.gang->rank == 0;
        lose(id, pick(2) == 0 ? "killed" : "");
        if (is_own)
          report(late, pick(2) == 0);
        break;
      }
      default:
        hang(id, number);
    }
  }

  void act() {
    pass(static_cast<double>(pick(most_.turn_ms)) / 1000);
    prepare_turn();
    switch (pick(12)) {
      case 0:
        if (core.leases().leases().size() < most_.leases || pick(9) == 0)
          train(pick(studies.size()), {random_segments(rng, 9)},
                3 * (1 + pick(3)));
        break;
      case 1: {
        const auto no = pick(studies.size());
        studies[no].wants_capacity = pick(9) == 0;
        give(no, orders_of(no));
        break;
      }
      case 2:
        if (trainers.size() < most_.trainers)
          join_any();
        break;
      case 3:
        disturb();
        break;
      case 4:
        obey_cancels();
        if (pick(3) == 0)
          ask_back();
        break;
      case 5:
      case 6:
        if (!commits.empty())
          commit_one();
        break;
      case 7:
      case 8:
        if (grant_any())
          break;
        [[fallthrough]];
      case 9:
        if (!demands.empty())
          answer_demand();
        break;
      default:
        if (const auto x = any_lease())
          get_on(x->first, x->second);
    }
    gangs_seen += leads().size();
  }

  limits most_;
};

/// Runs the histories of some seeds: all is trained in the end, with the
/// results of one trainer, and nothing is left.
template <class Chaos>
void expect_all_is_trained_as_alone(std::uint32_t group) {
  constexpr std::uint32_t seeds_per_group = 25;
  std::size_t gangs = 0;
  for (auto seed = group * seeds_per_group;
       seed < (group + 1) * seeds_per_group; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos x{seed};
    x.run();
    gangs += x.gangs_seen;
    EXPECT_TRUE(x.commits.empty());
    EXPECT_TRUE(x.unanswered.empty());
    EXPECT_TRUE(x.core.leases().leases().empty());
    for (std::size_t i = 0; i < x.studies.size(); ++i)
      x.expect_results_as_alone(i, each_three);
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(gangs, 100u);
}

} // namespace hippo::test
