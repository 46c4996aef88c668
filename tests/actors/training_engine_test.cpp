#include "training_engine.hpp"

#include <algorithm>
#include <barrier>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "engine_events.hpp"
#include "hippo/train/stoppable.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

/// A workload whose calls end with what trains elsewhere.
class remote_workload final : public summing_workload, public stoppable {
public:
  /// @param ends_with what it takes
  explicit remote_workload(stop_force ends_with) : ends_with_(ends_with) {}

  void stop(stop_force how) noexcept override {
    std::lock_guard guard{mutex_};
    has_ended_ = has_ended_ || how == ends_with_ || how == stop_force::kill;
    changed_.notify_all();
  }

  /// A call that does not return.
  void hang() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return has_ended_; });
    has_ended_ = false; // it is started again
    throw std::runtime_error("the workload's process ended with signal 15");
  }

private:
  const stop_force ends_with_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_ended_ = false;
};

/// A folder that counts how often it is read.
class counted_folder final : public checkpoint_store {
public:
  counted_folder(std::string folder, std::atomic<int>& reads)
    : behind_(std::move(folder)), reads_(reads) {}

  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override {
    ++reads_;
    return behind_.read(checkpoint, take);
  }

  std::optional<error> read_range(const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) override {
    ++reads_;
    return behind_.read_range(checkpoint, offset, size, take);
  }

  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes,
                             durability how) override {
    return behind_.write(name, bytes, how);
  }

  expected<std::string> find_initial(const initial_file& file) override {
    return behind_.find_initial(file);
  }

private:
  folder_store behind_;
  std::atomic<int>& reads_;
};

/// A device whose memory holds so many workloads that have begun to train.
class small_memory {
public:
  explicit small_memory(int room) : room_(room) {}

  /// Returns a registry of workloads that take a place of it, or throw.
  workload_registry registry() {
    workload_registry result;
    workload_descriptor x;
    x.name = "summing";
    result.add(x, [this](const workload_spec&) {
      auto work = std::make_unique<summing_workload>();
      work->keeps = true;
      work->on_step = [this, mine = std::shared_ptr<int>{}](step_t) mutable {
        if (!mine)
          mine = take();
        // So that others come by.
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
      };
      return work;
    });
    return result;
  }

  std::atomic<int> refused{0};
  std::atomic<int> most{0}; ///< places that were taken at once

private:
  std::shared_ptr<int> take() {
    const std::lock_guard guard{mutex_};
    if (taken_ == room_) {
      ++refused;
      throw std::bad_alloc{};
    }
    most = std::max(most.load(), ++taken_);
    return {new int{0}, [this](const int* x) {
              delete x;
              const std::lock_guard inner{mutex_};
              --taken_;
            }};
  }

  const int room_;
  std::mutex mutex_;
  int taken_ = 0;
};

struct TrainingEngineTest : testing::Test {
  temporary_folder folder;
  std::promise<void> started;
  std::promise<void> may_go_on;
  std::shared_future<void> gate = may_go_on.get_future().share();
  std::atomic<int> made{0};
  std::atomic<int> loads{0};
  event_log events;

  /// A registry whose workload waits at step 1 until the gate opens, the first
  /// time. It is trained in one call with step 2.
  workload_registry registry() {
    workload_registry result;
    workload_descriptor x;
    x.name = "summing";
    result.add(x, [this](const workload_spec&) {
      ++made;
      auto work = std::make_unique<summing_workload>();
      work->keeps = true;
      work->on_load = [this] { ++loads; };
      work->on_step = [this](step_t at) {
        if (at == 1 && !waited_.exchange(true)) {
          started.set_value();
          gate.wait();
        }
      };
      return work;
    });
    return result;
  }

  /// A registry whose workload waits for the gate, at its first step or while
  /// it is made. It may outlive its engine.
  /// @param in_use is had for as long as that is
  workload_registry hanging_registry(const std::shared_ptr<int>& in_use,
                                     bool while_made = false) {
    workload_registry result;
    workload_descriptor x;
    x.name = "summing";
    result.add(x, [this, in_use, while_made](const workload_spec&) {
      auto work = std::make_unique<summing_workload>();
      auto hang = [this, in_use, once = true]() mutable {
        if (!std::exchange(once, false))
          return;
        started.set_value();
        gate.wait();
      };
      if (while_made)
        std::function<void()>{hang}();
      else
        work->on_train = [hang](step_t, step_t) mutable { hang(); };
      return work;
    });
    return result;
  }

  static void await_end(const std::shared_ptr<int>& in_use) {
    while (in_use.use_count() > 1)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }

  lease make_lease(std::uint64_t number, step_t to) {
    lease x;
    x.number = lease_id{number};
    x.workload.name = "summing";
    x.folder = folder.path;
    x.stages = {{node_id{1}, 0, to, {{"lr", form::constant(0.5)}}}};
    x.stops = {{to, true, true}};
    return x;
  }

private:
  std::atomic<bool> waited_{false};
};

TEST_F(TrainingEngineTest, AnswersWhileItTrains) {
  training_engine device{registry(), "test"};
  device.start(make_lease(7, 6), events.sink());
  started.get_future().wait();
  EXPECT_EQ(device.reached(lease_id{7}), 1u);
  device.add_stop(lease_id{7}, {4, true, false});
  device.add_stop(lease_id{8}, {5, true, false}); // of another lease
  may_go_on.set_value();
  const auto end = events.wait_for_end();
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(end.at, 6u);
  const auto reports = events.reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].at, 4u);
  EXPECT_EQ(reports[0].values.at("sum"), 2.0);
  EXPECT_EQ(reports[1].values.at("sum"), 3.0);
  EXPECT_TRUE(reports[1].saved);
  EXPECT_EQ(reports[1].device, "test");
}

TEST_F(TrainingEngineTest, ACallThatDoesNotReturnEndsWithItsProcess) {
  call_limits limits;
  limits.grace = limits.first = std::chrono::milliseconds{20};
  // In each call of training, and whatever it takes.
  for (const auto force : {stop_force::terminate, stop_force::kill})
    for (int call = 0; call < 5; ++call) {
      std::promise<void> hangs;
      std::atomic<bool> once{true};
      workload_registry works;
      workload_descriptor x;
      x.name = "summing";
      works.add(x, [&](const workload_spec&) {
        auto work = std::make_unique<remote_workload>(force);
        const auto hang = [&, self = work.get()](bool is_wanted) {
          return [&, self, is_wanted] {
            if (!is_wanted || !once.exchange(false))
              return;
            hangs.set_value();
            self->hang();
          };
        };
        work->on_prepare = hang(call == 0);
        work->on_init = hang(call == 1);
        work->on_step = [f = hang(call == 2)](step_t) { f(); };
        work->on_evaluate = hang(call == 3);
        work->on_save = hang(call == 4);
        return work;
      });
      training_engine device{std::move(works), "test", folder_of,
                             recent_state_bytes_max, limits};
      device.start(make_lease(1, 3), events.sink());
      hangs.get_future().wait();
      EXPECT_EQ(device.overdue(lease_id{1}).count(), 0) << "nobody waits";
      device.cancel(lease_id{1});
      EXPECT_GT(device.overdue(lease_id{1}).count(), 0);
      const auto end = events.wait_for_end();
      ASSERT_TRUE(end.failure);
      EXPECT_EQ(end.failure->code, errc::cancelled) << call;
      EXPECT_EQ(device.overdue(lease_id{1}).count(), 0);
      device.start(make_lease(2, 3), events.sink());
      EXPECT_FALSE(events.wait_for_end().failure) << call;
    }
}

TEST_F(TrainingEngineTest, OneThatIsStuckSaysSoAndIsNotWaitedFor) {
  call_limits limits;
  limits.grace = std::chrono::milliseconds{20};
  std::promise<void> told;
  const auto in_use = std::make_shared<int>();
  auto device = std::make_unique<training_engine>(
    hanging_registry(in_use), "test", folder_of, recent_state_bytes_max,
    limits, [&] { told.set_value(); });
  device->start(make_lease(7, 6), events.sink());
  started.get_future().wait();
  device->cancel(lease_id{7});
  const auto end = events.wait_for_stuck();
  EXPECT_EQ(end.lease, lease_id{7});
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::cancelled);
  told.get_future().wait();
  device.reset(); // although its thread is in the call
  may_go_on.set_value();
  await_end(in_use);
}

TEST_F(TrainingEngineTest, OneThatIsStuckWhileItIsMadeSaysSo) {
  call_limits limits;
  limits.grace = std::chrono::milliseconds{20};
  const auto in_use = std::make_shared<int>();
  {
    training_engine device{hanging_registry(in_use, true), "test", folder_of,
                           recent_state_bytes_max, limits};
    device.start(make_lease(7, 6), events.sink());
    started.get_future().wait();
    device.cancel(lease_id{7});
    EXPECT_EQ(events.wait_for_stuck().lease, lease_id{7});
  }
  may_go_on.set_value();
  await_end(in_use);
}

TEST_F(TrainingEngineTest, KeepsItsWorkloadFromLeaseToLease) {
  training_engine device{registry(), "test"};
  may_go_on.set_value();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    device.start(make_lease(i, 3), events.sink());
    EXPECT_FALSE(events.wait_for_end().failure);
  }
  EXPECT_EQ(made, 1);
}

TEST_F(TrainingEngineTest, GoesOnWithoutALoadAsItDoesWithOne) {
  may_go_on.set_value();
  auto first = make_lease(1, 3);
  auto second = make_lease(2, 6);
  second.stages = {{node_id{1}, 3, 6, {{"lr", form::constant(0.1)}}}};
  training_engine device{registry(), "test"};
  device.start(first, events.sink());
  ASSERT_FALSE(events.wait_for_end().failure);
  second.start = *events.reports().back().saved;
  device.start(second, events.sink());
  ASSERT_FALSE(events.wait_for_end().failure);
  EXPECT_EQ(loads, 0);
  training_engine other{registry(), "test"};
  other.start(second, events.sink());
  ASSERT_FALSE(events.wait_for_end().failure);
  EXPECT_EQ(loads, 1);
  const auto reports = events.reports();
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[1].values, reports[2].values);
  EXPECT_EQ(reports[1].saved, reports[2].saved);
}

TEST_F(TrainingEngineTest, AnotherWorkloadIsInNoStateThatIsKnown) {
  may_go_on.set_value();
  training_engine device{registry(), "test"};
  device.start(make_lease(1, 3), events.sink());
  ASSERT_FALSE(events.wait_for_end().failure);
  auto next = make_lease(2, 6);
  next.workload.options["seed"] = 2.0;
  next.stages[0].begin = 3;
  next.start = *events.reports().back().saved;
  device.start(next, events.sink());
  ASSERT_FALSE(events.wait_for_end().failure);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(loads, 1);
}

TEST_F(TrainingEngineTest, LanesStartFromWhatOthersHaveSaved) {
  may_go_on.set_value();
  std::atomic<int> reads{0};
  for (const std::uint64_t room : {1000, 0}) {
    training_engine device{registry(), "test",
                           [&](const lease& y) {
                             return std::make_unique<counted_folder>(y.folder,
                                                                     reads);
                           },
                           room};
    const auto first = make_lease(1, 3);
    device.start(first, events.sink());
    ASSERT_FALSE(events.wait_for_end().failure);
    auto second = make_lease(2, 5);
    second.lane = 1;
    second.start = *events.reports().back().saved;
    second.stages[0].begin = 3;
    device.start(second, events.sink());
    ASSERT_FALSE(events.wait_for_end().failure);
    EXPECT_EQ(events.reports().back().values.at("sum"), 2.5);
    EXPECT_EQ(reads, room == 0 ? 1 : 0);
  }
}

TEST_F(TrainingEngineTest, TheFactoryChoosesWhereCheckpointsAre) {
  may_go_on.set_value();
  const temporary_folder other;
  training_engine device{
    registry(), "test", [&](const lease& x) {
      return std::make_unique<folder_store>(x.number == lease_id{2} ? other.path
                                                          : x.folder);
    }};
  for (const std::uint64_t number : {1, 2}) {
    device.start(make_lease(number, 3), events.sink());
    ASSERT_FALSE(events.wait_for_end().failure);
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"n1-s3-l1.ckpt"});
  EXPECT_EQ(other.names(), std::vector<std::string>{"n1-s3-l2.ckpt"});
}

TEST_F(TrainingEngineTest, LanesTrainAtOnceEachForItself) {
  constexpr std::uint32_t lanes = 3;
  // Each waits in its first step until all are there.
  std::barrier all{lanes};
  workload_registry works;
  workload_descriptor x;
  x.name = "summing";
  works.add(x, [&](const workload_spec&) {
    ++made;
    auto work = std::make_unique<summing_workload>();
    work->on_step = [&](step_t at) {
      if (at == 0)
        all.arrive_and_wait();
    };
    return work;
  });
  training_engine device{std::move(works), "test"};
  EXPECT_EQ(device.reached(lease_id{2}), 0u);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    auto work = make_lease(1 + lane, 2 + lane);
    work.lane = lane;
    work.stages[0].config["lr"] = form::constant(0.25 * (1 + lane));
    device.start(work, events.sink());
  }
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    EXPECT_FALSE(events.wait_for_end().failure);
  for (const auto& report : events.reports()) {
    const auto lane = static_cast<double>(number_of(report.lease) - 1);
    EXPECT_EQ(report.values.at("sum"), 0.25 * (1 + lane) * (2 + lane));
  }
  EXPECT_EQ(made, 3) << "a workload for each lane";
}

TEST_F(TrainingEngineTest, LanesTrainWithSeveralSeedsAtOnce) {
  std::barrier both{2}; // each waits in its first step until both are there
  workload_registry works;
  workload_descriptor x;
  x.name = "summing";
  std::mutex seeds_mutex;
  std::vector<double> seeds;
  works.add(x, [&](const workload_spec& spec) {
    const std::lock_guard guard{seeds_mutex};
    seeds.push_back(std::get<double>(spec.options.at("seed")));
    auto work = std::make_unique<summing_workload>();
    work->on_step = [&](step_t at) {
      if (at == 0)
        both.arrive_and_wait();
    };
    return work;
  });
  training_engine device{std::move(works), "test"};
  const auto train = [&](std::uint64_t number, std::uint32_t lane,
                         double seed) {
    auto work = make_lease(number, 3);
    work.lane = lane;
    work.workload.options["seed"] = seed;
    device.start(work, events.sink());
  };
  train(1, 0, 1);
  train(2, 1, 2);
  EXPECT_FALSE(events.wait_for_end().failure);
  EXPECT_FALSE(events.wait_for_end().failure);
  train(3, 0, 2); // each lane has its own
  train(4, 1, 2);
  EXPECT_FALSE(events.wait_for_end().failure);
  EXPECT_FALSE(events.wait_for_end().failure);
  for (const auto& report : events.reports())
    EXPECT_EQ(report.values, events.reports().front().values);
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(seeds, (std::vector<double>{1, 2, 2}));
}

TEST_F(TrainingEngineTest, FewerAreTrainedAtOnceWhereMemoryIsShort) {
  for (const int room : {1, 2, 3}) {
    small_memory memory{room};
    training_engine device{memory.registry(), "test"};
    constexpr std::uint32_t lanes = 4;
    for (int round = 0; round < 3; ++round) {
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        auto work = make_lease(1 + lane + 10 * round, 5);
        work.lane = lane;
        work.stops = {{2, true, true}, {5, true, true}};
        device.start(work, events.sink());
      }
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const auto end = events.wait_for_end();
        EXPECT_FALSE(end.failure) << end.failure->message;
      }
    }
    for (const auto& report : events.reports())
      EXPECT_EQ(report.values.at("sum"),
                0.5 * static_cast<double>(report.at));
    EXPECT_EQ(memory.most, room);
    EXPECT_GT(memory.refused, 0);
  }
  // No stop is told twice.
  EXPECT_EQ(events.reports().size(), 3u * 3u * 4u * 2u);
}

TEST_F(TrainingEngineTest, ALeaseThatNeedsMoreThanThereIsFails) {
  small_memory memory{0};
  training_engine device{memory.registry(), "test"};
  auto second = make_lease(2, 3);
  second.lane = 1;
  device.start(make_lease(1, 3), events.sink());
  device.start(second, events.sink());
  for (int i = 0; i < 2; ++i) {
    const auto end = events.wait_for_end();
    ASSERT_TRUE(end.failure);
    EXPECT_EQ(end.failure->code, errc::training_failed);
  }
}

TEST_F(TrainingEngineTest, ALeaseThatWaitsForRoomCanBeCancelled) {
  small_memory memory{1};
  training_engine device{memory.registry(), "test"};
  auto second = make_lease(2, 100'000);
  second.lane = 1;
  device.start(make_lease(1, 100'000), events.sink());
  device.start(second, events.sink());
  while (memory.refused == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  for (const std::uint64_t number : {1, 2})
    device.cancel(lease_id{number});
  for (int i = 0; i < 2; ++i) {
    const auto end = events.wait_for_end();
    ASSERT_TRUE(end.failure);
    EXPECT_EQ(end.failure->code, errc::cancelled);
  }
}

TEST_F(TrainingEngineTest, CancelEndsALeaseAfterItsStep) {
  training_engine device{registry(), "test"};
  device.start(make_lease(7, 1000), events.sink());
  started.get_future().wait();
  device.cancel(lease_id{7});
  may_go_on.set_value();
  const auto end = events.wait_for_end();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::cancelled);
  EXPECT_EQ(end.at, 3u);
}

TEST_F(TrainingEngineTest, AnUnknownWorkloadFailsTheLease) {
  training_engine device{registry(), "test"};
  auto x = make_lease(7, 3);
  x.workload.name = "suming";
  device.start(x, events.sink());
  const auto end = events.wait_for_end();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::unknown_workload);
}

TEST_F(TrainingEngineTest, EndsInTheMiddleOfALease) {
  {
    training_engine device{registry(), "test"};
    device.start(make_lease(7, 1'000'000), events.sink());
    started.get_future().wait();
    may_go_on.set_value();
  }
  EXPECT_EQ(events.wait_for_end().failure->code, errc::cancelled);
}

} // namespace
} // namespace hippo
