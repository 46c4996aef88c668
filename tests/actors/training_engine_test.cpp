#include "training_engine.hpp"

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "hippo/train/lanes.hpp"
#include "hippo/train/stoppable.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

/// Collects events from the engine's thread.
class event_log {
public:
  engine_sink sink() {
    return [this](engine_event x) {
      std::lock_guard guard{mutex_};
      if (auto* end = std::get_if<lease_end>(&x))
        ends_.push_back(*end);
      else if (auto* stuck = std::get_if<device_stuck>(&x))
        stuck_.push_back(stuck->end);
      else
        reports_.push_back(std::get<stop_report>(x));
      changed_.notify_all();
    };
  }

  lease_end wait_for_end() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return !ends_.empty(); });
    auto result = ends_.front();
    ends_.erase(ends_.begin());
    return result;
  }

  lease_end wait_for_stuck() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return !stuck_.empty(); });
    return stuck_.front();
  }

  std::vector<stop_report> reports() {
    std::lock_guard guard{mutex_};
    return reports_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<stop_report> reports_;
  std::vector<lease_end> ends_;
  std::vector<lease_end> stuck_;
};

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

  expected<std::string> read(const checkpoint& x) override {
    ++reads_;
    return behind_.read(x);
  }

  expected<checkpoint> write(const std::string& name, const std::string& bytes,
                             durability how) override {
    return behind_.write(name, bytes, how);
  }

private:
  folder_store behind_;
  std::atomic<int>& reads_;
};

/// Lanes whose states are sums of learning rates.
class summing_lanes final : public laned_workload {
public:
  summing_lanes(std::size_t lanes, std::vector<std::size_t>& launches)
    : sums_(lanes), launches_(launches) {}

  [[nodiscard]] std::size_t lanes() const override { return sums_.size(); }
  void check(const part&) const override {}
  [[nodiscard]] bool fit(const part&, const part&) const override {
    return true;
  }

  void train(const std::vector<part>& xs) override {
    launches_.push_back(xs.size());
    for (const auto& x : xs)
      sums_[x.lane] += std::get<double>(x.config->at("lr").at(x.step));
  }

  std::vector<metrics> evaluate(const std::vector<std::size_t>& xs) override {
    std::vector<metrics> result;
    for (auto i : xs)
      result.push_back({{"sum", sums_[i]}});
    return result;
  }

  void init(std::size_t lane) override { sums_[lane] = 0; }
  std::string save(std::size_t lane) override {
    return "sum " + to_text(sums_[lane]);
  }
  void load(std::size_t lane, const std::string& bytes) override {
    sums_[lane] = std::stod(bytes.substr(4));
  }
  std::shared_ptr<const workload_state> snapshot(std::size_t lane) override {
    return std::make_shared<kept_sum>(sums_[lane], nullptr);
  }
  void restore(std::size_t lane, const workload_state& x) override {
    sums_[lane] = dynamic_cast<const kept_sum&>(x).sum;
  }
  void export_weights(std::size_t, const std::string&) override {}

private:
  std::vector<double> sums_;
  std::vector<std::size_t>& launches_;
};

/// Returns a registry whose workload `summing` has lanes.
/// @param launches is given how many lanes took part in each
workload_registry registry_of_lanes(std::vector<std::size_t>& launches) {
  workload_registry result;
  workload_descriptor x;
  x.name = "summing";
  result.add(x, [&](const workload_spec& spec) {
    return first_lane(
      std::make_unique<summing_lanes>(lanes_of(spec), launches));
  });
  return result;
}

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
  std::vector<std::size_t> launches;
  const auto registry = registry_of_lanes(launches);
  std::atomic<int> reads{0};
  for (const std::uint64_t room : {1000, 0}) {
    training_engine device{registry, "test",
                           [&](const lease& y) {
                             return std::make_unique<counted_folder>(y.folder,
                                                                     reads);
                           },
                           room};
    auto first = make_lease(1, 3);
    first.workload.options["lanes"] = 2.0;
    device.start(first, events.sink());
    ASSERT_FALSE(events.wait_for_end().failure);
    auto second = make_lease(2, 5);
    second.workload = first.workload;
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

TEST_F(TrainingEngineTest, LanesTrainTogether) {
  std::vector<std::size_t> launches;
  const auto registry = registry_of_lanes(launches);
  auto first = make_lease(1, 3);
  auto second = make_lease(2, 5);
  first.workload.options["lanes"] = second.workload.options["lanes"] = 3.0;
  second.lane = 2;
  second.stages[0].config["lr"] = form::constant(0.25);
  training_engine device{registry, "test"};
  EXPECT_EQ(device.reached(lease_id{2}), 0u);
  device.start(first, events.sink());
  device.start(second, events.sink());
  EXPECT_FALSE(events.wait_for_end().failure);
  EXPECT_FALSE(events.wait_for_end().failure);
  for (const auto& report : events.reports())
    EXPECT_EQ(report.values.at("sum"),
              report.lease == lease_id{1} ? 1.5 : 1.25);
  // Whether the first one waits for the second is a matter of when that comes.
  std::size_t steps = 0;
  for (auto n : launches)
    steps += n;
  EXPECT_EQ(steps, 8u);
  auto none = make_lease(3, 1);
  none.workload = first.workload;
  none.lane = 3;
  device.start(none, events.sink());
  const auto end = events.wait_for_end();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->message, "there is no lane 3: summing has 3");
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
