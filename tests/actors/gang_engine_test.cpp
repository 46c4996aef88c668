// Engines of several trainers that train a lease together, over loopback.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include "engine_events.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/shareable.hpp"
#include "lease_of_two_rates.hpp"
#include "train/loopback_gang.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"
#include "training_engine.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t parts = 8;

/// A workload whose steps are sums over parts, and whose measurements are of
/// shares.
class sharing_workload final : public summing_workload, public shareable {
public:
  void share(gang* members) override {
    if (members != nullptr && members->size() > parts)
      throw std::invalid_argument("there are 8 parts");
    members_ = members;
  }

  void train(const configuration& config, step_t from, step_t to) override {
    if (on_train)
      on_train(from, to);
    for (auto at = from; at < to; ++at) {
      if (on_step)
        on_step(at);
      const auto lr = std::get<double>(config.at("lr").at(at));
      const auto count = parts / (members_ == nullptr ? 1 : members_->size());
      const auto rank = members_ == nullptr ? 0 : members_->rank();
      auto own = tree(lr, at, rank * count, count);
      if (members_ != nullptr)
        sum_over_members(*members_, {&own, 1});
      sum += own;
    }
  }

  metrics evaluate() override {
    auto result = summing_workload::evaluate();
    std::vector<double> shares(21);
    const auto size = members_ == nullptr ? 1 : members_->size();
    const auto own = range_of_member(
      shares.size(), members_ == nullptr ? 0 : members_->rank(), size);
    for (auto i = own.first; i < own.end; ++i)
      shares[i] = sum / static_cast<double>(3 + i);
    if (members_ != nullptr)
      gather_from_members(*members_, std::as_writable_bytes(std::span{shares}),
                          sizeof(double));
    for (const auto x : shares)
      result["loss"] += x;
    return result;
  }

private:
  static float tree(double lr, step_t at, std::size_t first,
                    std::size_t count) {
    if (count == 1)
      return static_cast<float>(lr / static_cast<double>(3 + first + at));
    return tree(lr, at, first, count / 2)
           + tree(lr, at, first + count / 2, count / 2);
  }

  gang* members_ = nullptr;
};

/// Engines with a port each.
struct GangEngines : testing::Test {
  static constexpr std::size_t size_max = 8;

  GangEngines() {
    gang_limits limits;
    limits.silence = 20s;
    limits.hurry = 10s; // nobody is silent
    limits.retry = 5ms;
    ports = std::make_unique<loopback_gang>(size_max, false, limits);
    for (std::size_t i = 0; i < size_max; ++i)
      add_engine(i, [] { return std::make_unique<sharing_workload>(); });
  }

  /// @param make a workload of an engine; its calls are told to `prepare`
  void add_engine(std::size_t place,
                  std::function<std::unique_ptr<summing_workload>()> make) {
    workload_registry works;
    workload_descriptor x;
    x.name = "sharing";
    works.add(x, [this, place, make = std::move(make)](const workload_spec&) {
      auto work = make();
      work->on_load = [this, place] { ++loads[place]; };
      work->on_init = [this, place] { ++loads[place]; };
      if (prepare)
        prepare(place, *work);
      return work;
    });
    engines[place].reset();
    call_limits limits;
    limits.grace = 5s;
    engines[place] =
      std::make_unique<training_engine>(std::move(works), "test", folder_of, 0,
                                        limits, nullptr, ports->ports[place]);
  }

  /// A lease of one trainer.
  lease make_lease(step_t begin, step_t end) {
    auto x = test::lease_of_two_rates(begin, end, 0.7, 0.3);
    x.number = lease_id{++last_lease};
    x.workload.name = "sharing";
    x.folder = folder.path;
    if (begin > 0)
      x.start = saved;
    return x;
  }

  /// Starts a lease as a gang of the first engines.
  void start(lease x, std::size_t size) {
    gang_place place;
    place.lead = x.number;
    place.secret = "s3cret";
    for (std::size_t i = 0; i < size; ++i)
      place.members.push_back(ports->ports[i]->address());
    const auto end = x.stages.back().end;
    for (std::size_t i = 0; i < size; ++i) {
      place.rank = static_cast<std::uint32_t>(i);
      if (size > 1)
        x.gang = place;
      numbers[i] = x.number;
      engines[i]->start(x, events[i].sink());
      x.number = lease_id{++last_lease};
      x.stops = {{end, true, true}};
    }
  }

  /// Returns the ends of the leases by rank, once there are all.
  std::vector<lease_end> ends(std::size_t size) {
    std::vector<lease_end> result;
    for (std::size_t i = 0; i < size; ++i)
      result.push_back(events[i].wait_for_end());
    return result;
  }

  /// Trains a path. Its state is `saved` then.
  void train(step_t begin, step_t end, std::size_t size) {
    start(make_lease(begin, end), size);
    for (const auto& x : ends(size)) {
      EXPECT_FALSE(x.failure) << x.failure->message;
      EXPECT_EQ(x.at, end);
    }
    saved = events[0].reports().back().saved.value();
  }

  std::string bytes_of(const checkpoint& x) const {
    std::ifstream in{folder.path + '/' + x.file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  std::string name_of(std::size_t rank, std::size_t size) const {
    return "member " + std::to_string(rank) + " of " + std::to_string(size)
           + " (" + ports->ports[rank]->address() + ")";
  }

  temporary_folder folder;
  std::unique_ptr<loopback_gang> ports;
  std::function<void(std::size_t, summing_workload&)> prepare;
  std::atomic<int> loads[size_max]{}; ///< or begun at step 0
  event_log events[size_max];
  std::unique_ptr<training_engine> engines[size_max];
  lease_id numbers[size_max]{};
  checkpoint saved;
  std::uint64_t last_lease = 0;
};

TEST_F(GangEngines, AnyNumberGivesTheSameBytesAndTheLeadReports) {
  train(0, 20, 1);
  const auto expected = bytes_of(saved);
  const auto measured = events[0].reports().back().values;
  for (const std::size_t size : {2, 4, 8}) {
    auto work = make_lease(0, 20);
    work.stops = {{3, true, false}, {11, false, true}, {20, true, true}};
    start(work, size);
    for (const auto& x : ends(size))
      EXPECT_FALSE(x.failure) << x.failure->message;
    const auto reports = events[0].reports();
    const auto& last = reports.back();
    EXPECT_EQ(last.values, measured);
    EXPECT_TRUE(bytes_of(*last.saved) == expected) << size;
    EXPECT_TRUE(reports[reports.size() - 2].saved);
    EXPECT_EQ(reports[reports.size() - 3].at, 3);
  }
  for (std::size_t i = 1; i < size_max; ++i)
    EXPECT_TRUE(events[i].reports().empty());
}

TEST_F(GangEngines, AStateIsMeasuredTogetherBeforeAnyStep) {
  train(0, 3, 1);
  const auto expected = events[0].reports().back().values;
  std::atomic<int> measured{0};
  prepare = [&](std::size_t, summing_workload& work) {
    work.on_evaluate = [&] { ++measured; };
  };
  for (std::size_t i = 0; i < 4; ++i)
    add_engine(i, [] { return std::make_unique<sharing_workload>(); });
  auto work = make_lease(3, 5);
  work.stops.insert(work.stops.begin(), {3, true, false});
  start(work, 4);
  for (const auto& x : ends(4))
    EXPECT_FALSE(x.failure) << x.failure->message;
  const auto reports = events[0].reports();
  EXPECT_EQ(reports[reports.size() - 2].values, expected);
  EXPECT_EQ(measured, 8);
}

TEST_F(GangEngines, AMemberThatIsLostWhileAllMeasureEndsTheGang) {
  for (const std::size_t victim : {1, 3})
    for (const bool fails : {true, false}) {
      // The others wait for the lead, the lead for the victim's end.
      std::atomic<bool> goes_on{fails};
      std::atomic<int> measuring{0};
      prepare = [&](std::size_t place, summing_workload& work) {
        work.on_evaluate = [&, place] {
          ++measuring;
          if (place == victim && fails)
            throw std::runtime_error("no data");
          while (place == 0 && !goes_on)
            std::this_thread::sleep_for(1ms);
        };
      };
      for (std::size_t i = 0; i < 4; ++i)
        add_engine(i, [] { return std::make_unique<sharing_workload>(); });
      auto work = make_lease(0, 1'000'000'000);
      work.stops.insert(work.stops.begin(), {5, true, true});
      const auto reported = events[0].reports().size();
      start(work, 4);
      while (!fails && measuring < 4)
        std::this_thread::sleep_for(1ms);
      if (!fails)
        engines[victim]->cancel(numbers[victim]);
      const auto first = events[victim].wait_for_end();
      goes_on = true;
      EXPECT_EQ(first.failure.value().code,
                fails ? errc::training_failed : errc::cancelled);
      for (std::size_t i = 0; i < 4; ++i) {
        if (i == victim)
          continue;
        const auto end = events[i].wait_for_end();
        EXPECT_EQ(end.failure.value().code, errc::gang_lost);
        EXPECT_TRUE(end.failure->message.starts_with(name_of(victim, 4)))
          << end.failure->message;
        EXPECT_EQ(end.at, 5);
      }
      EXPECT_EQ(events[0].reports().size(), reported);
      prepare = nullptr;
      train(0, 5, 1);
    }
}

TEST_F(GangEngines, TheLeadFindsThatTrainingHasDiverged) {
  prepare = [](std::size_t, summing_workload& work) {
    work.more = {{"val_loss", std::numeric_limits<double>::quiet_NaN()}};
  };
  auto work = make_lease(0, 100);
  work.stops.insert(work.stops.begin(), {5, true, true});
  start(work, 4);
  const auto all = ends(4);
  EXPECT_EQ(all[0].failure.value().code, errc::diverged);
  EXPECT_EQ(all[0].at, 5);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_FALSE(all[i].failure) << all[i].failure->message;
}

TEST_F(GangEngines, TheirNumberChangesOnTheWay) {
  train(0, 12, 1);
  const auto expected = bytes_of(saved);
  const auto whole = saved;
  step_t at = 0;
  for (const std::size_t size : {4, 2, 8, 1, 2, 4}) {
    train(at, at + 2, size);
    at += 2;
  }
  EXPECT_TRUE(bytes_of(saved) == expected);
  EXPECT_NE(saved, whole);
}

TEST_F(GangEngines, TheLeadGoesOnWithoutALoadAndNobodyIsInAWrongState) {
  train(0, 12, 1);
  const auto expected = bytes_of(saved);
  for (auto& x : loads)
    x = 0;
  train(0, 3, 2);
  EXPECT_EQ(loads[0], 1);
  EXPECT_EQ(loads[1], 1);
  train(3, 6, 1); // alone
  const auto at_6 = saved;
  train(6, 8, 2);
  const auto at_8 = saved;
  train(8, 9, 4);
  EXPECT_EQ(loads[0], 1);
  EXPECT_EQ(loads[1], 3); // it has missed what others have saved
  // Once more from where both have been: neither has that state any more.
  const auto at_9 = std::exchange(saved, at_6);
  for (auto& x : loads)
    x = 0;
  train(6, 8, 2);
  EXPECT_EQ(loads[0], 1);
  EXPECT_EQ(loads[1], 1);
  EXPECT_EQ(bytes_of(saved), bytes_of(at_8));
  train(8, 9, 1);
  EXPECT_EQ(bytes_of(saved), bytes_of(at_9));
  // Another one takes over; its state was one of a gang's.
  engines[0].swap(engines[1]);
  ports->ports[0].swap(ports->ports[1]);
  train(9, 12, 1);
  EXPECT_EQ(loads[1], 2);
  EXPECT_TRUE(bytes_of(saved) == expected);
}

TEST_F(GangEngines, AStopAtTheLeadEndsAll) {
  std::atomic<bool> is_asked{false};
  prepare = [&](std::size_t place, summing_workload& work) {
    work.on_step = [&, place](step_t at) {
      if (place == 0 && at >= 2)
        while (!is_asked)
          std::this_thread::sleep_for(1ms);
    };
  };
  start(make_lease(0, 1'000'000), 2);
  while (engines[1]->reached(numbers[1]) < 1)
    std::this_thread::sleep_for(1ms);
  engines[0]->add_stop(numbers[0], {.at = 0, .save = true, .last = true});
  is_asked = true;
  const auto all = ends(2);
  for (const auto& x : all)
    EXPECT_FALSE(x.failure) << x.failure->message;
  EXPECT_EQ(all[0].at, all[1].at);
  EXPECT_LT(all[0].at, 1'000'000);
  EXPECT_TRUE(events[0].reports().back().saved);
  EXPECT_EQ(engines[1]->reached(numbers[1]), 0);
}

TEST_F(GangEngines, AMemberThatLeavesHasTheLeadSaveAndEnd) {
  start(make_lease(0, 1'000'000), 4);
  while (engines[2]->reached(numbers[2]) < 3)
    std::this_thread::sleep_for(1ms);
  engines[2]->add_stop(
    numbers[2],
    {.at = engines[2]->reached(numbers[2]) + 1, .save = true, .last = true});
  const auto all = ends(4);
  for (const auto& x : all) {
    EXPECT_FALSE(x.failure) << x.failure->message;
    EXPECT_EQ(x.at, all[0].at);
  }
  EXPECT_LT(all[0].at, 1'000'000);
  const auto last = events[0].reports().back();
  EXPECT_EQ(last.at, all[0].at);
  EXPECT_TRUE(last.saved);
}

TEST_F(GangEngines, ACancelledLeadIsNobodysFailure) {
  start(make_lease(0, 1'000'000'000), 4);
  while (engines[3]->reached(numbers[3]) < 3)
    std::this_thread::sleep_for(1ms);
  engines[0]->cancel(numbers[0]);
  const auto all = ends(4);
  EXPECT_EQ(all[0].failure.value().code, errc::cancelled);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_FALSE(all[i].failure) << all[i].failure->message;
  train(0, 5, 4); // they are as good as new
}

TEST_F(GangEngines, ACancelledFollowerLosesTheGang) {
  start(make_lease(0, 1'000'000'000), 4);
  while (engines[3]->reached(numbers[3]) < 3)
    std::this_thread::sleep_for(1ms);
  engines[3]->cancel(numbers[3]);
  const auto all = ends(4);
  EXPECT_EQ(all[3].failure.value().code, errc::cancelled);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(all[i].failure);
    EXPECT_EQ(all[i].failure->code, errc::gang_lost);
    EXPECT_TRUE(all[i].failure->message.starts_with(name_of(3, 4)))
      << all[i].failure->message;
  }
  train(0, 5, 4);
}

TEST_F(GangEngines, CancellationEndsTheWaitForOthers) {
  for (const std::size_t rank : {0, 1}) {
    auto work = make_lease(0, 5);
    gang_place place{work.number,
                     {ports->ports[0]->address(), ports->ports[1]->address()},
                     static_cast<std::uint32_t>(rank),
                     "s3cret"};
    work.gang = place;
    engines[rank]->start(work, events[rank].sink());
    std::this_thread::sleep_for(20ms);
    engines[rank]->cancel(work.number);
    EXPECT_EQ(events[rank].wait_for_end().failure.value().code,
              errc::cancelled);
  }
}

TEST_F(GangEngines, AMemberOfItsOwnFailureSaysItAndTheOthersAreLost) {
  std::atomic<std::size_t> bad{0};
  std::atomic<bool> memory{false};
  prepare = [&](std::size_t place, summing_workload& work) {
    work.on_step = [&, place](step_t at) {
      if (place == bad && at == 2 && memory)
        throw std::bad_alloc{};
      if (place == bad && at == 2)
        throw std::runtime_error("no data");
    };
  };
  for (const bool of_memory : {false, true})
    for (const std::size_t x : {1, 3, 0}) {
      bad = x;
      memory = of_memory;
      start(make_lease(0, 2), 4); // nothing of that
      for (const auto& end : ends(4))
        EXPECT_FALSE(end.failure);
      saved = events[0].reports().back().saved.value();
      start(make_lease(2, 3), 4);
      const auto all = ends(4);
      for (std::size_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(all[i].failure) << i;
        EXPECT_EQ(all[i].failure->code,
                  i == bad ? errc::training_failed : errc::gang_lost)
          << all[i].failure->message;
        if (i != bad && !of_memory) {
          EXPECT_EQ(all[i].failure->message,
                    name_of(bad, 4) + " trains no more: no data");
        }
      }
      EXPECT_EQ(engines[0]->reached(numbers[0]), 0);
    }
}

TEST_F(GangEngines, AMemberThatHasTrainedHasNotTheStateItBeganIn) {
  train(0, 3, 2);
  const auto at_3 = saved;
  train(3, 5, 2);
  const auto expected = bytes_of(saved);
  saved = at_3;
  train(3, 5, 2);
  EXPECT_EQ(bytes_of(saved), expected);
}

/// Disturbs gangs at random moments.
class Disturbed : public GangEngines,
                  public testing::WithParamInterface<int> {};

TEST_P(Disturbed, AllLeasesEndAndTheNextGangIsAsGoodAsNew) {
  std::minstd_rand random{static_cast<unsigned>(GetParam())};
  const auto below = [&](std::size_t x) { return random() % x; };
  const std::size_t size = std::size_t{2} << below(3);
  const auto victim = below(size);
  enum way : std::uint8_t { cancels, stops, ends, throws, never_comes };
  const auto how = static_cast<way>(below(5));
  std::atomic<bool> is_bad{false};
  prepare = [&](std::size_t place, summing_workload& work) {
    work.on_step = [&, place](step_t) {
      if (place == victim && is_bad)
        throw std::runtime_error("bad");
    };
  };
  const auto reach = below(50); // before or after what the lead stops at
  if (how == never_comes) // an engine cannot be had before its gang is there
    engines[victim]->start(make_lease(0, 1'000'000'000), events[victim].sink());
  const auto busy = lease_id{last_lease};
  auto work = make_lease(0, 1'000'000'000);
  work.stops.insert(work.stops.begin(), {20, true, true});
  gang_place place{work.number, ports->places[0].members, 0, "s3cret"};
  place.members.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    place.rank = static_cast<std::uint32_t>(i);
    work.gang = place;
    work.number = lease_id{number_of(place.lead) + i};
    last_lease = number_of(work.number);
    numbers[i] = work.number;
    if (i != victim || how != never_comes)
      engines[i]->start(work, events[i].sink());
  }
  if (how == never_comes) {
    std::this_thread::sleep_for(std::chrono::milliseconds{below(30)});
    for (std::size_t i = 0; i < size; ++i)
      engines[i]->cancel(i == victim ? busy : numbers[i]);
  } else {
    while (engines[victim]->reached(numbers[victim]) < reach)
      std::this_thread::sleep_for(1ms);
    if (how == cancels)
      engines[victim]->cancel(numbers[victim]);
    else if (how == stops)
      engines[victim]->add_stop(
        numbers[victim], {.at = engines[victim]->reached(numbers[victim]) + 1,
                          .save = true,
                          .last = true});
    else if (how == throws)
      is_bad = true;
    else
      engines[victim].reset();
  }
  for (std::size_t i = 0; i < size; ++i) {
    const auto end = events[i].wait_for_end();
    if (how == stops || (how == cancels && victim == 0 && i > 0)) {
      EXPECT_FALSE(end.failure) << end.failure->message;
    } else if (how == throws && i == victim) {
      // Among several steps nobody knows at which one.
      EXPECT_TRUE(end.failure);
    } else if (how == never_comes && i != victim) {
      // One of the members that have come together is cancelled first.
      const auto code = end.failure.value().code;
      EXPECT_TRUE(code == errc::cancelled || code == errc::gang_lost)
        << end.failure->message;
    } else if (how == never_comes || (how == cancels && i == victim)) {
      EXPECT_EQ(end.failure.value().code, errc::cancelled);
    } else if (i != victim && (how != ends || victim > 0)) {
      EXPECT_EQ(end.failure.value().code, errc::gang_lost)
        << end.failure->message;
    }
  }
  is_bad = false;
  if (!engines[victim])
    add_engine(victim, [] { return std::make_unique<sharing_workload>(); });
  train(0, 5, size);
  const auto together = bytes_of(saved);
  train(0, 5, 1);
  EXPECT_EQ(bytes_of(saved), together);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Disturbed, testing::Range(1, 61));

TEST_F(GangEngines, AnEngineThatEndsIsLost) {
  start(make_lease(0, 1'000'000'000), 2);
  while (engines[1]->reached(numbers[1]) < 3)
    std::this_thread::sleep_for(1ms);
  engines[1].reset();
  EXPECT_EQ(events[0].wait_for_end().failure.value().code, errc::gang_lost);
}

TEST_F(GangEngines, AFailureAmongManyStepsEndsTheGangWithoutAnAttempt) {
  // At which step nobody knows; a trainer alone finds out.
  prepare = [&](std::size_t, summing_workload& work) {
    work.on_step = [&](step_t at) {
      if (at == 200)
        throw std::runtime_error("bad step");
    };
  };
  start(make_lease(0, 1000), 2);
  for (const auto& x : ends(2))
    EXPECT_TRUE(x.failure);
  start(make_lease(0, 1000), 1);
  const auto end = events[0].wait_for_end();
  EXPECT_EQ(end.at, 200);
  EXPECT_EQ(end.failure.value().code, errc::training_failed);
}

TEST_F(GangEngines, WorkloadsWithoutPartsAreRefused) {
  for (const std::size_t i : {0, 1})
    add_engine(i, [] { return std::make_unique<summing_workload>(); });
  start(make_lease(0, 5), 2);
  for (const auto& x : ends(2)) {
    EXPECT_EQ(x.failure.value().code, errc::gang_lost);
    EXPECT_EQ(x.failure->message,
              "workload sharing is not for a gang: it has no parts to share");
  }
  train(0, 5, 1);
}

TEST_F(GangEngines, OneWithoutAPortRefuses) {
  engines[0].reset();
  workload_registry works;
  training_engine alone{std::move(works), "test"};
  auto work = make_lease(0, 5);
  work.gang = gang_place{work.number, {"127.0.0.1:1", "127.0.0.1:2"}, 0, "x"};
  alone.start(work, events[0].sink());
  EXPECT_EQ(events[0].wait_for_end().failure.value().message,
            "this trainer is in no gang: it was started without "
            "--gang-listen");
}

} // namespace
} // namespace hippo
