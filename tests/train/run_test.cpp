#include "hippo/train/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/train/data_wait.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/setup_time.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

stage stage_of(std::uint64_t node, step_t begin, step_t end, double lr) {
  return {node_id{node}, begin, end, {{"lr", form::constant(lr)}}};
}

/// Notes what each checkpoint is to survive.
class noting_store final : public checkpoint_store {
public:
  explicit noting_store(std::string folder) : behind_(std::move(folder)) {}

  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override {
    ++reads;
    return behind_.read(checkpoint, take);
  }

  std::optional<error> read_range(const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) override {
    ++reads;
    return behind_.read_range(checkpoint, offset, size, take);
  }

  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes,
                             durability how) override {
    written.push_back(how);
    if (on_write)
      on_write();
    return behind_.write(name, bytes, how);
  }

  expected<std::string> find_initial(const initial_file& file) override {
    return behind_.find_initial(file);
  }

  int reads = 0;
  std::vector<durability> written;
  std::function<void()> on_write;

private:
  folder_store behind_;
};

} // namespace

class Run : public testing::Test {
protected:
  Run() {
    work.on_load = [this] { ++loads; };
    x.number = lease_id{7};
    x.stages = {stage_of(1, 0, 3, 1), stage_of(4, 3, 5, 10)};
    x.stops = {{3, true, true}, {5, true, false}};
  }

  lease_end run_lease() {
    reports.clear();
    parted_store states{x, store, tables};
    return run(
      work, present, kept, x, states, "toy", control(), progress,
      [this] { return clock += 10; },
      [this](const stop_report& report) { reports.push_back(report); });
  }

  /// Runs another lease on the same workload after the first.
  lease_end run_next(const lease& next) {
    lease_control other{next.stops};
    parted_store states{next, store, tables};
    return run(
      work, present, kept, next, states, "toy", other, progress,
      [] { return 0; },
      [this](const stop_report& report) { reports.push_back(report); });
  }

  void control_anew() { control_.reset(); }

  lease_control& control() {
    if (!control_)
      control_ = std::make_unique<lease_control>(x.stops);
    return *control_;
  }

  temporary_folder folder;
  noting_store store{folder.path};
  /// Lets each step take so long that none is trained along with another.
  void make_steps_long() {
    work.on_train = [this](step_t, step_t) { clock += 1'000'000'000; };
  }

  /// Returns what waits until step 4 begins, and says in `has_begun` whether it
  /// has.
  std::function<void()> waits_for_step_4(bool& has_begun) {
    const auto begun = std::make_shared<std::promise<void>>();
    work.on_step = [begun](step_t at) {
      if (at == 4)
        begun->set_value();
    };
    return [&has_begun, begin = begun->get_future().share()] {
      has_begun = begin.wait_for(10s) == std::future_status::ready;
    };
  }

  lease x;
  summing_workload work;
  std::optional<checkpoint> present; ///< that `work` is in the state of
  part_tables tables;
  recent_states kept{200}; ///< room for five
  lease_progress progress;
  int loads = 0;
  std::uint64_t clock = 0;
  std::vector<stop_report> reports;

private:
  std::unique_ptr<lease_control> control_;
};

TEST_F(Run, PassesEveryStop) {
  const auto end = run_lease();
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(end.lease, lease_id{7});
  EXPECT_EQ(end.at, 5);
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(reports[0].lease, lease_id{7});
  EXPECT_EQ(reports[0].at, 3);
  EXPECT_EQ(reports[0].device, "toy");
  EXPECT_EQ(reports[0].values, (metrics{{"other", 1}, {"sum", 3}}));
  EXPECT_EQ(reports[0].trained_steps, 3);
  EXPECT_EQ(reports[1].at, 5);
  EXPECT_EQ(reports[1].device, "toy");
  EXPECT_EQ(reports[1].values.at("sum"), 23);
  EXPECT_EQ(reports[1].trained_steps, 2);
  EXPECT_FALSE(reports[1].saved);
}

TEST_F(Run, NamesCheckpointsByNodeStepAndLease) {
  ASSERT_FALSE(run_lease().failure);
  ASSERT_TRUE(reports[0].saved);
  // The state at the end of a stage is that stage's, not the next one's.
  EXPECT_EQ(reports[0].saved->file, "n1-s3-l7.ckpt");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"n1-s3-l7.ckpt"});
  EXPECT_EQ(*read_checkpoint(folder.path, *reports[0].saved), "sum 3");
}

TEST_F(Run, MeasuresTimesSinceTheStopBefore) {
  ASSERT_FALSE(run_lease().failure);
  // The clock ticks 10 ns at every look, so everything timed takes 10.
  EXPECT_EQ(reports[0].load_ns, 20);
  EXPECT_EQ(reports[0].train_ns, 20) << "in two calls";
  EXPECT_EQ(reports[0].evaluate_ns, 10);
  EXPECT_EQ(reports[0].save_ns, 10);
  EXPECT_EQ(reports[1].load_ns, 0);
  EXPECT_EQ(reports[1].train_ns, 10);
  EXPECT_EQ(reports[1].save_ns, 10) << "waits for what is being written";
}

TEST_F(Run, WaitingForDataIsAPartOfTraining) {
  struct waiting final : summing_workload, data_wait {
    std::uint64_t waited_ns() const noexcept override { return told_ns; }
    std::uint64_t told_ns = 0;
  } slow;
  slow.on_train = [&](step_t from, step_t) {
    // The second call says more than it has taken.
    slow.told_ns = from == 0 ? 70'000 : 90'000'000;
    clock += 100'000;
  };
  x.stages = {stage_of(1, 0, 1, 1), stage_of(2, 1, 2, 1)};
  x.stops = {{1, true, false}, {2, true, false}};
  lease_control other{x.stops};
  parted_store states{x, store, tables};
  ASSERT_FALSE(run(
                 slow, present, kept, x, states, "toy", other, progress,
                 [this] { return clock += 10; },
                 [this](const stop_report& y) { reports.push_back(y); })
                 .failure);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].wait_ns, 70'000);
  EXPECT_EQ(reports[0].train_ns, 100'010);
  EXPECT_EQ(reports[1].wait_ns, reports[1].train_ns);
}

TEST_F(Run, TimeBesideTheStepsOfACallIsLoading) {
  struct slow_start final : summing_workload, setup_time {
    std::uint64_t setup_ns() const noexcept override { return told_ns; }
    std::uint64_t told_ns = 0;
  } slow;
  slow.on_train = [&](step_t from, step_t) {
    slow.told_ns = from == 0 ? 3'000'000'000 : 0;
    clock += 100'000 + slow.told_ns;
  };
  x.stages = {stage_of(1, 0, 2, 1)};
  x.stops = {{2, true, false}};
  lease_control other{x.stops};
  parted_store states{x, store, tables};
  ASSERT_FALSE(run(
                 slow, present, kept, x, states, "toy", other, progress,
                 [this] { return clock += 10; },
                 [this](const stop_report& y) { reports.push_back(y); })
                 .failure);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].train_ns, 200'020);
  EXPECT_EQ(reports[0].load_ns, 3'000'000'020);
}

TEST_F(Run, TrainsOnWhileACheckpointIsWritten) {
  bool trained_on = false;
  store.on_write = waits_for_step_4(trained_on);
  ASSERT_FALSE(run_lease().failure);
  EXPECT_TRUE(trained_on);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].at, 3u);
  EXPECT_TRUE(reports[0].saved);
  EXPECT_EQ(reports[1].at, 5u);
}

TEST_F(Run, StopsAreReportedInTheirOrderHoweverLongTheirCheckpointsTake) {
  x.stops = {{1, true, true}, {2, true, false}, {3, false, true}, {5, true, true}};
  store.on_write = [] { std::this_thread::sleep_for(5ms); };
  ASSERT_FALSE(run_lease().failure);
  std::vector<step_t> order;
  for (const auto& report : reports) {
    order.push_back(report.at);
    EXPECT_EQ(report.saved.has_value(), report.at != 2) << report.at;
  }
  EXPECT_EQ(order, (std::vector<step_t>{1, 2, 3, 5}));
  EXPECT_EQ(present, reports.back().saved);
}

TEST_F(Run, TrainsOnPastStopsWhileACheckpointIsWritten) {
  make_steps_long();
  x.stops = {{1, false, true}, {2, true, true}, {3, true, true}, {4, true, false}, {5, true, false}};
  bool trained_on = false;
  auto until_step_4 = waits_for_step_4(trained_on);
  int writes = 0;
  store.on_write = [&] {
    if (++writes == 2) // how large they are is known from the first one
      until_step_4();
  };
  ASSERT_FALSE(run_lease().failure);
  EXPECT_TRUE(trained_on) << "past two stops, one of which saves";
  std::vector<step_t> order;
  for (const auto& report : reports)
    order.push_back(report.at);
  EXPECT_EQ(order, (std::vector<step_t>{1, 2, 3, 4, 5}));
}

TEST_F(Run, NothingIsReportedAfterACheckpointThatCannotBeWritten) {
  make_steps_long();
  x.stops = {{1, true, true}, {2, true, true}, {3, true, false}, {5, true, true}};
  int writes = 0;
  store.on_write = [&] {
    if (++writes == 2)
      std::filesystem::remove_all(folder.path);
  };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::io_failed);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].at, 1u);
  EXPECT_FALSE(present);
}

TEST_F(Run, ACheckpointBeingWrittenWhenTrainingFailsIsReported) {
  work.on_step = [](step_t at) {
    if (at == 3)
      throw std::runtime_error("no");
  };
  store.on_write = [] { std::this_thread::sleep_for(5ms); };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::training_failed);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].saved);
}

TEST_F(Run, NothingIsTrainedAgainWhenACheckpointCannotBeWritten) {
  std::filesystem::remove(folder.path);
  int calls = 0;
  work.in_one_go = true;
  work.on_train = [&](step_t from, step_t) { calls += from == 0; };
  work.on_step = [](step_t at) {
    if (at == 4)
      throw std::runtime_error("no");
  };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::io_failed);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(reports.empty());
}

TEST_F(Run, SyncsOnceASecondOfTrainingLiesBehind) {
  x.stages = {stage_of(1, 0, 5, 1)};
  x.stops.clear();
  for (step_t t = 1; t <= 5; ++t)
    x.stops.push_back({t, false, true});
  work.on_train = [this](step_t, step_t) { clock += 400'000'000; };
  ASSERT_FALSE(run_lease().failure);
  using enum durability;
  EXPECT_EQ(store.written,
            (std::vector{cached, cached, synced, cached, cached}));
}

TEST_F(Run, GoesOnFromACheckpoint) {
  ASSERT_FALSE(run_lease().failure);
  const auto whole = reports[1].values;
  lease rest;
  rest.number = lease_id{8};
  rest.start = *reports[0].saved;
  rest.stages = {x.stages[1]};
  rest.stops = {x.stops[1]};
  work.sum = -5;
  EXPECT_FALSE(run_next(rest).failure);
  EXPECT_EQ(reports.back().values, whole);
}

TEST_F(Run, LoadsNothingWhenItGoesOnWhereTheLastOneEnded) {
  // Cut in two at step 3, the second half with and without loading.
  x.stops = {{3, true, true, true}};
  x.stages.resize(1);
  ASSERT_FALSE(run_lease().failure);
  lease rest;
  rest.number = lease_id{8};
  rest.start = *reports[0].saved;
  rest.stages = {stage_of(4, 3, 5, 0.1)};
  rest.stops = {{4, true, true}, {5, true, true}};
  EXPECT_EQ(present, rest.start);
  loads = 0;
  reports.clear();
  ASSERT_FALSE(run_next(rest).failure);
  EXPECT_EQ(loads, 0);
  const auto without = reports;
  reports.clear();
  ASSERT_FALSE(run_next(rest).failure);
  EXPECT_EQ(loads, 1) << "it has trained since";
  ASSERT_EQ(reports.size(), without.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].values, without[i].values);
    EXPECT_EQ(reports[i].saved, without[i].saved);
  }
}

TEST_F(Run, LoadsNothingToMeasureAStateAgain) {
  ASSERT_FALSE(run_lease().failure);
  lease only;
  only.start = *reports[0].saved;
  only.stages = {stage_of(1, 3, 3, 1)};
  only.stops = {{3, true, false}};
  for (int i = 0; i < 3; ++i)
    ASSERT_FALSE(run_next(only).failure);
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(present, only.start);
}

TEST_F(Run, LoadsWhatIsNotTheStateItIsIn) {
  x.stops = {{3, true, true, true}};
  x.stages.resize(1);
  ASSERT_FALSE(run_lease().failure);
  lease next;
  next.stages = {stage_of(1, 3, 3, 1)};
  next.stops = {{3, true, false}};
  const auto saved = *reports[0].saved;
  for (auto other : {checkpoint{"other", saved.bytes, saved.digest},
                     checkpoint{saved.file, saved.bytes, saved.digest + 1},
                     checkpoint{saved.file, saved.bytes + 1, saved.digest}}) {
    present = saved;
    next.start = other;
    EXPECT_EQ(run_next(next).failure->code, errc::bad_checkpoint);
    EXPECT_FALSE(present);
  }
  present = saved;
  next.start = {};
  next.stages = {stage_of(1, 0, 0, 1)};
  next.stops = {{0, true, false}};
  ASSERT_FALSE(run_next(next).failure);
  EXPECT_EQ(reports.back().values.at("sum"), 0) << "it starts afresh";
  EXPECT_FALSE(present);
}

TEST_F(Run, ForgetsItsStateOnceAnythingThrows) {
  x.stops = {{3, true, true, true}};
  x.stages.resize(1);
  ASSERT_FALSE(run_lease().failure);
  const auto saved = *reports[0].saved;
  lease next;
  next.start = saved;
  next.stages = {stage_of(1, 3, 4, 1)};
  next.stops = {{3, true, true}, {4, true, false}};
  const auto fails = [](auto&&...) { throw std::runtime_error("no memory"); };
  work.on_step = fails;
  EXPECT_TRUE(run_next(next).failure);
  EXPECT_FALSE(present);
  work.on_step = nullptr;
  for (auto* hook : {&work.on_evaluate, &work.on_save}) {
    present = saved;
    *hook = fails;
    EXPECT_TRUE(run_next(next).failure);
    EXPECT_FALSE(present);
    *hook = nullptr;
  }
  present = {"other", 1, 1};
  work.on_load = fails;
  EXPECT_TRUE(run_next(next).failure);
  EXPECT_FALSE(present);
}

/// A lead of a gang that gives these orders.
class given_orders final : public gang_lead {
public:
  explicit given_orders(std::vector<gang_order> orders)
    : orders_(std::move(orders)) {}

  std::optional<gang_order> next() override {
    if (on_next)
      on_next();
    if (told.size() > orders_.size())
      return std::nullopt;
    return orders_[told.size() - 1];
  }

  void tell_done(bool leaves) override { told.push_back(leaves); }

  std::function<void()> on_next;
  std::vector<bool> told; ///< first that it is ready

private:
  std::vector<gang_order> orders_;
};

struct Follow : Run {
  lease_end follow_lead(gang_lead& lead) {
    parted_store states{x, store, tables};
    x.stops = {{5, false, false}};
    return follow(
      work, present, kept, x, states, "toy", control(), progress,
      [this] { return clock += 10; }, lead);
  }
};

TEST_F(Follow, TrainsAsItIsTold) {
  given_orders lead{{{0, 2}, {2, 3}, {3, 4}}};
  const auto end = follow_lead(lead);
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(end.lease, lease_id{7});
  EXPECT_EQ(end.at, 4);
  EXPECT_EQ(progress.at, 4);
  EXPECT_EQ(work.sum, 13);
  EXPECT_EQ(lead.told, std::vector<bool>(4));
  EXPECT_FALSE(present) << "no checkpoint is of that state";
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(Follow, OrdersThatDoNotFitAreRefused) {
  for (const gang_order& wrong :
       {gang_order{1, 2}, {3, 4}, {2, 2}, {2, 1}, {2, 4}, {2, 6}}) {
    given_orders lead{{{0, 2}, wrong}};
    const auto end = follow_lead(lead);
    ASSERT_TRUE(end.failure);
    EXPECT_EQ(end.failure->code, errc::gang_lost);
    EXPECT_EQ(end.failure->message, "the lead of the gang orders steps "
                                      + std::to_string(wrong.from) + " to "
                                      + std::to_string(wrong.to)
                                      + ", and this member is at 2");
    EXPECT_EQ(lead.told.size(), 2);
  }
}

TEST_F(Follow, MeasuresAsItIsTold) {
  const gang_order measure{.what = gang_call::evaluate};
  int measured = 0;
  work.on_evaluate = [&] { ++measured; };
  // It is up to the lead to find that training has diverged.
  work.more = {{"loss", std::nan("")}};
  given_orders lead{{measure, {0, 2}, measure, {2, 3}}};
  const auto end = follow_lead(lead);
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(end.at, 3);
  EXPECT_EQ(measured, 2);
  EXPECT_EQ(lead.told, std::vector<bool>(5));
}

TEST_F(Follow, KnowsItsStateAfterMeasuring) {
  given_orders first{{{0, 2}}};
  EXPECT_FALSE(follow_lead(first).failure);
  EXPECT_FALSE(present);
  work.init();
  present = x.start = checkpoint{"of-2", 1, 1};
  x.stages = {stage_of(1, 2, 5, 1)};
  work.on_load = [] { FAIL() << "it is in that state"; };
  given_orders lead{{gang_order{.what = gang_call::evaluate}}};
  EXPECT_FALSE(follow_lead(lead).failure);
  EXPECT_EQ(present, x.start);
}

TEST_F(Follow, AFailureToMeasureIsItsOwn) {
  given_orders lead{{{0, 2}, {.what = gang_call::evaluate}}};
  work.on_evaluate = [] { throw gang_lost{"member 1 is gone"}; };
  auto end = follow_lead(lead);
  EXPECT_EQ(end.failure.value().code, errc::gang_lost);
  EXPECT_EQ(end.at, 2);
  work.on_evaluate = [] { throw std::runtime_error("no data"); };
  lead.told.clear();
  end = follow_lead(lead);
  EXPECT_EQ(end.failure.value().code, errc::training_failed);
  EXPECT_EQ(lead.told.size(), 2) << "it does not say that it has";
}

TEST_F(Follow, LeavesOnceItIsAskedTo) {
  given_orders lead{{{0, 1}, {1, 2}, {2, 3}}};
  lead.on_next = [&] {
    if (lead.told.size() == 2)
      control().add({.at = 2, .save = true, .last = true});
  };
  EXPECT_FALSE(follow_lead(lead).failure);
  EXPECT_EQ(lead.told, (std::vector{false, false, true, true}));
}

TEST_F(Follow, FailuresKeepTheirKind) {
  given_orders lost{{}};
  lost.on_next = [] { throw gang_lost{"the lead is gone"}; };
  auto end = follow_lead(lost);
  EXPECT_EQ(end.failure.value().code, errc::gang_lost);
  EXPECT_EQ(end.failure->message, "the lead is gone");
  work.on_step = [](step_t) { throw std::bad_alloc{}; };
  given_orders lead{{{0, 1}}};
  EXPECT_EQ(follow_lead(lead).failure.value().code, errc::resource_exhausted);
  // A gang that is lost because the lease was cancelled is no failure.
  lost.on_next = [&] {
    control().cancel();
    throw gang_lost{"is left"};
  };
  EXPECT_EQ(follow_lead(lost).failure.value().code, errc::cancelled);
}

TEST_F(Run, ALostGangIsNoFailureOfTraining) {
  // Nor is it looked for at which of several steps it was.
  int calls = 0;
  work.on_train = [&](step_t from, step_t to) {
    if (to - from > 1) {
      ++calls;
      throw gang_lost{"member 1 is gone"};
    }
  };
  x.stages = {stage_of(1, 0, 100, 1)};
  x.stops = {{100, true, true}};
  const auto end = run_lease();
  EXPECT_EQ(end.failure.value().code, errc::gang_lost);
  EXPECT_EQ(calls, 1);
}

TEST_F(Run, MetricsThatNobodyCouldBeToldFailTheTraining) {
  using namespace std::string_literals;
  for (const auto& name : {"\xff"s, ""s, "a\0b"s, " a"s, "a\nb"s,
                           std::string(2000, 'm')}) {
    work.more = {{name, 1}};
    reports.clear();
    const auto end = run_next(x);
    ASSERT_TRUE(end.failure) << name;
    EXPECT_EQ(end.failure->code, errc::training_failed);
    EXPECT_NE(end.failure->message.find("a metric whose name"),
              std::string::npos);
    for (const auto& report : reports)
      EXPECT_TRUE(report.values.empty());
  }
}

TEST_F(Run, ForgetsItsStateWhenItIsCancelledInTheMiddle) {
  x.stops = {{3, true, true, true}};
  x.stages.resize(1);
  ASSERT_FALSE(run_lease().failure);
  lease next;
  next.start = *reports[0].saved;
  next.stages = {stage_of(1, 3, 9, 1)};
  next.stops = {{9, true, false}};
  lease_control other{next.stops};
  work.on_step = [&](step_t) { other.cancel(); };
  parted_store states{next, store, tables};
  EXPECT_TRUE(run(
                work, present, kept, next, states, "toy", other, progress,
                [] { return 0; }, [](const stop_report&) {})
                .failure);
  EXPECT_FALSE(present);
}

/// Leases of a workload that keeps states, and one that branches off from the
/// first one.
class RunKeeping : public Run {
protected:
  RunKeeping() {
    work.keeps = true;
    work.on_restore = [this] { ++restores; };
  }

  /// Runs the first lease. @returns the one that branches off at step 3
  lease branch() {
    EXPECT_FALSE(run_lease().failure);
    lease result;
    result.number = lease_id{8};
    result.start = reports.front().saved.value();
    result.stages = {stage_of(9, 3, 6, 0.1)};
    result.stops = {{4, true, true}, {6, true, true}};
    store.reads = 0;
    return result;
  }

  int restores = 0;
};

TEST_F(RunKeeping, BranchesOffWithoutReading) {
  const auto next = branch();
  reports.clear();
  ASSERT_FALSE(run_next(next).failure);
  ASSERT_FALSE(run_next(next).failure);
  EXPECT_EQ(restores, 2);
  EXPECT_EQ(loads, 0);
  EXPECT_EQ(store.reads, 0);
  kept.clear();
  ASSERT_FALSE(run_next(next).failure);
  EXPECT_EQ(restores, 2);
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(store.reads, 1);
  ASSERT_EQ(reports.size(), 6u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(reports[i].values, reports[4 + i % 2].values);
    EXPECT_EQ(reports[i].saved, reports[4 + i % 2].saved);
  }
}

TEST_F(RunKeeping, KnowsWhichStateItHasRestored) {
  auto next = branch();
  next.stages = {stage_of(9, 3, 3, 1)};
  next.stops = {{3, true, false}};
  ASSERT_FALSE(run_next(next).failure);
  EXPECT_EQ(present, next.start);
  EXPECT_EQ(reports.back().values.at("sum"), 3);
  ASSERT_FALSE(run_next(next).failure);
  EXPECT_EQ(restores, 1) << "it is there already";
}

TEST_F(RunKeeping, ReadsWhatIsNotTheSame) {
  auto next = branch();
  ++next.start.digest;
  EXPECT_EQ(run_next(next).failure->code, errc::bad_checkpoint);
  EXPECT_EQ(store.reads, 1);
  EXPECT_EQ(restores, 0);
}

TEST_F(RunKeeping, LoadsWhatCannotBeRestored) {
  const auto next = branch();
  reports.clear();
  work.on_restore = [this] {
    work.sum = -7;
    throw std::runtime_error("no memory");
  };
  ASSERT_FALSE(run_next(next).failure);
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(reports.front().values.at("sum"), 3.1);
}

TEST_F(RunKeeping, LetsGoOfStatesOnceAnythingFails) {
  const auto next = branch();
  work.on_step = [](step_t) { throw std::runtime_error("no memory"); };
  EXPECT_TRUE(run_next(next).failure);
  EXPECT_FALSE(kept.find(next.start));
}

TEST_F(RunKeeping, WithoutRoomForACopyItSavesAtOnce) {
  const auto next = branch();
  reports.clear();
  int saves = 0;
  work.on_save = [&] { ++saves; };
  work.on_snapshot = [] { throw std::bad_alloc{}; };
  ASSERT_FALSE(run_next(next).failure);
  EXPECT_EQ(saves, 2);
  EXPECT_FALSE(kept.find(next.start)) << "it makes room";
  for (const auto& report : reports) {
    ASSERT_TRUE(report.saved);
    EXPECT_FALSE(kept.find(*report.saved));
  }
  EXPECT_EQ(*read_checkpoint(folder.path, *reports.front().saved), "sum 3.1");
}

TEST_F(RunKeeping, ADivergedStateIsNotKept) {
  x.stages[0].config["lr"] =
    form::constant(std::numeric_limits<double>::quiet_NaN());
  int snapshots = 0;
  work.on_snapshot = [&] { ++snapshots; };
  EXPECT_EQ(run_lease().failure->code, errc::diverged);
  EXPECT_EQ(snapshots, 0);
}

TEST_F(RunKeeping, WritesAStateAsItWasWhileItTrainsOn) {
  bool trained_on = false;
  work.on_bytes = waits_for_step_4(trained_on);
  ASSERT_FALSE(run_lease().failure);
  EXPECT_TRUE(trained_on);
  EXPECT_EQ(*read_checkpoint(folder.path, *reports[0].saved), "sum 3");
}

TEST_F(RunKeeping, AStateThatCannotBeWrittenFailsTheLeaseAtTheNextStop) {
  work.on_bytes = [] { throw std::runtime_error("no memory"); };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::training_failed);
  EXPECT_EQ(end.failure->message, "saving step 3 failed: no memory");
  EXPECT_EQ(end.during, lease_part::saving);
  EXPECT_EQ(end.at, 3) << "wherever training has got meanwhile";
  EXPECT_TRUE(reports.empty());
  EXPECT_FALSE(present);
}

TEST_F(RunKeeping, ALastStateThatCannotBeWrittenFailsTheLease) {
  x.stops = {{3, true, false}, {5, true, true}};
  work.on_bytes = [] { throw missing_data_error("gone"); };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::missing_data);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].at, 3u);
  EXPECT_FALSE(present);
}

TEST_F(RunKeeping, TheLastStateIsWrittenAndKeptWhenTheLeaseEnds) {
  x.stops = {{5, true, true}};
  ASSERT_FALSE(run_lease().failure);
  const auto saved = reports.back().saved.value();
  EXPECT_EQ(*read_checkpoint(folder.path, saved), "sum 23");
  EXPECT_EQ(present, saved);
  const auto state = kept.find(saved);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->bytes(), "sum 23");
}

TEST_F(RunKeeping, OldStatesGiveWayToNewOnes) {
  x.stages = {stage_of(1, 0, 7, 1)};
  x.stops.clear();
  for (step_t t = 1; t <= 7; ++t)
    x.stops.push_back({t, false, true});
  ASSERT_FALSE(run_lease().failure);
  for (const auto& report : reports)
    EXPECT_EQ(kept.find(*report.saved) != nullptr, report.at > 2) << report.at;
}

TEST_F(Run, OnlyEvaluates) {
  ASSERT_FALSE(run_lease().failure);
  lease only;
  only.start = *reports[0].saved;
  only.stages = {stage_of(1, 3, 3, 1)};
  only.stops = {{3, true, false}};
  const auto end = run_next(only);
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(end.at, 3);
  EXPECT_EQ(reports.back().values.at("sum"), 3);
  EXPECT_EQ(reports.back().trained_steps, 0);
}

TEST_F(Run, ShowsItsProgress) {
  make_steps_long();
  std::vector<step_t> seen;
  work.on_step = [&](step_t) {
    EXPECT_EQ(progress.lease, lease_id{7});
    seen.push_back(progress.at);
  };
  ASSERT_FALSE(run_lease().failure);
  EXPECT_EQ(seen, (std::vector<step_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(progress.at, 5);
}

TEST_F(Run, AcceptsStopsWhileItTrains) {
  make_steps_long();
  work.on_step = [this](step_t at) {
    if (at == 1) {
      EXPECT_FALSE(control().add({1, true, false})) << "passed already";
      EXPECT_TRUE(control().add({2, false, true}));
    }
  };
  ASSERT_FALSE(run_lease().failure);
  ASSERT_EQ(reports.size(), 3);
  EXPECT_EQ(reports[0].at, 2);
  EXPECT_TRUE(reports[0].values.empty());
  ASSERT_TRUE(reports[0].saved);
  EXPECT_EQ(reports[0].saved->file, "n1-s2-l7.ckpt");
  EXPECT_EQ(reports[1].trained_steps, 1);
}

TEST_F(Run, CancelEndsItAfterThePresentStep) {
  make_steps_long();
  work.on_step = [this](step_t at) {
    if (at == 3)
      control().cancel();
  };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::cancelled);
  EXPECT_EQ(end.at, 4);
  EXPECT_EQ(reports.size(), 1) << "what was passed before is kept";
}

TEST_F(Run, WhatFailsOnceItIsCancelledIsNoFailure) {
  // Its process was ended for that, say, whatever call it was in.
  const auto fails = [this](bool is_wanted) {
    return [this, is_wanted] {
      if (!is_wanted)
        return;
      control().cancel();
      throw std::runtime_error("ended with signal 15");
    };
  };
  for (int call = 0; call < 5; ++call) {
    control_anew();
    work.on_prepare = fails(call == 0);
    work.on_init = fails(call == 1);
    work.on_step = [f = fails(call == 2)](step_t) { f(); };
    work.on_evaluate = fails(call == 3);
    work.on_save = fails(call == 4);
    const auto end = run_lease();
    ASSERT_TRUE(end.failure) << call;
    EXPECT_EQ(end.failure->code, errc::cancelled) << call;
    EXPECT_EQ(end.during, lease_part::training) << call;
  }
}

TEST_F(Run, CancelledBeforeItBegins) {
  control().cancel();
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::cancelled);
  EXPECT_EQ(end.at, 0);
  EXPECT_TRUE(reports.empty());
}

TEST_F(Run, DivergenceIsReportedThenFails) {
  x.stages[0].config["lr"] =
    form::constant(std::numeric_limits<double>::quiet_NaN());
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::diverged);
  EXPECT_EQ(end.failure->message, "diverged: sum is nan at step 3");
  EXPECT_EQ(end.at, 3);
  ASSERT_EQ(reports.size(), 1);
  EXPECT_TRUE(reports[0].values.empty()) << "nothing of it is a result";
  EXPECT_EQ(reports[0].trained_steps, 3);
  EXPECT_FALSE(reports[0].saved);
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(Run, ExceptionsBecomeFailures) {
  work.on_step = [](step_t at) {
    if (at == 4)
      throw std::runtime_error("out of memory");
  };
  auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::training_failed);
  EXPECT_EQ(end.failure->message, "out of memory");
  EXPECT_EQ(end.during, lease_part::training);
  EXPECT_EQ(end.at, 4);
  EXPECT_EQ(reports.size(), 1);
}

/// What failed, and where, is what the service counts by.
TEST_F(Run, AFailureOfAnyCallSaysWhichAtWhichStep) {
  const auto fails = [] { throw std::runtime_error("broken"); };
  struct known {
    std::function<void()> summing_workload::*call;
    lease_part during;
    step_t at;
    std::string text;
  };
  const std::vector<known> calls{
    {&summing_workload::on_init, lease_part::training, 0,
     "making the initial state failed: broken"},
    {&summing_workload::on_evaluate, lease_part::measuring, 3,
     "evaluating step 3 failed: broken"},
    {&summing_workload::on_save, lease_part::saving, 3,
     "saving step 3 failed: broken"},
    {&summing_workload::on_snapshot, lease_part::saving, 3,
     "saving step 3 failed: broken"},
    {&summing_workload::on_bytes, lease_part::saving, 3,
     "saving step 3 failed: broken"},
    {&summing_workload::on_size, lease_part::saving, 3,
     "telling of step 3 failed: broken"},
    {&summing_workload::on_output, lease_part::saving, 3,
     "telling of step 3 failed: broken"},
  };
  for (const auto& [call, during, at, text] : calls) {
    SCOPED_TRACE(text);
    present.reset();
    work.keeps = call == &summing_workload::on_snapshot
                 || call == &summing_workload::on_bytes;
    work.*call = fails;
    reports.clear();
    const auto end = run_next(x);
    work.*call = nullptr;
    ASSERT_TRUE(end.failure);
    EXPECT_EQ(end.failure->code, errc::training_failed);
    EXPECT_EQ(end.failure->message, text);
    EXPECT_EQ(end.during, during);
    EXPECT_EQ(end.at, at);
    EXPECT_TRUE(reports.empty());
  }
}

TEST_F(Run, AFailureWithinALongCallIsPlacedAtItsStep) {
  x.stages = {stage_of(1, 0, 30, 1)};
  x.stops = {{10, true, true}, {30, true, false}};
  int tries = 0;
  work.on_step = [&](step_t at) {
    if (at == 25 && ++tries < 3)
      throw std::runtime_error("out of memory");
  };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.at, 25);
  EXPECT_EQ(tries, 2) << "once among other steps, once alone";
  EXPECT_EQ(reports.size(), 1) << "stop 10 is reported once";
}

TEST_F(Run, AFailureThatDoesNotComeAgainIsNone) {
  x.stages = {stage_of(1, 0, 30, 1)};
  x.stops = {{10, true, true}, {30, true, false}};
  int tries = 0;
  work.on_step = [&](step_t at) {
    if (at == 25 && ++tries < 2)
      throw std::runtime_error("out of memory");
  };
  EXPECT_FALSE(run_lease().failure);
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(reports[1].values.at("sum"), 30);
  EXPECT_EQ(reports[1].trained_steps, 30) << "the first ten once more";
}

TEST_F(Run, MissingDataBecomesItsOwnFailure) {
  work.on_step = [](step_t) { throw missing_data_error("shard 3 is gone"); };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::missing_data);
}

TEST_F(Run, ForeignExceptionsBecomeFailures) {
  work.on_step = [](step_t) { throw 3; };
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::training_failed);
}

TEST_F(Run, RefusesBadCheckpoints) {
  x.stages = {stage_of(1, 3, 5, 1)};
  x.stops = {{5, true, false}};
  EXPECT_EQ(run_lease().failure->code, errc::bad_checkpoint)
    << "no initial state at step 3";
  x.start = {"n1-s3-l7.ckpt", 5, 1};
  EXPECT_EQ(run_lease().failure->code, errc::bad_checkpoint) << "missing";
  x.start = *write_checkpoint(folder.path, "a.ckpt", "something else");
  const auto failure = run_lease().failure;
  EXPECT_EQ(failure->code, errc::training_failed)
    << "its digest is right: it is not to be deleted";
  EXPECT_NE(failure->message.find("no sum"), std::string::npos);
  EXPECT_TRUE(reports.empty());
}

TEST_F(Run, TrainsSeveralShortStepsInOneCall) {
  std::vector<std::pair<step_t, step_t>> calls;
  work.on_train = [&](step_t from, step_t to) { calls.emplace_back(from, to); };
  x.stages = {stage_of(1, 0, 30, 1)};
  x.stops = {{20, true, true}, {30, true, false}};
  EXPECT_FALSE(run_lease().failure);
  EXPECT_EQ(calls, (std::vector<std::pair<step_t, step_t>>{
                     {0, 1}, {1, 3}, {3, 7}, {7, 15}, {15, 20}, {20, 30}}));
  EXPECT_EQ(reports[0].trained_steps, 20);
  EXPECT_EQ(reports[1].trained_steps, 10);
}

TEST_F(Run, TrainsLongStepsOneByOne) {
  std::vector<step_t> calls;
  work.on_train = [&](step_t from, step_t) {
    calls.push_back(from);
    clock += 200'000'000;
  };
  EXPECT_FALSE(run_lease().failure);
  EXPECT_EQ(calls, (std::vector<step_t>{0, 1, 2, 3, 4}));
}

TEST_F(Run, GoesToTheNextStopAtOnceIfTheWorkloadPrefersThat) {
  std::vector<step_t> calls;
  work.in_one_go = true;
  work.on_train = [&](step_t from, step_t) {
    calls.push_back(from);
    clock += 200'000'000;
  };
  EXPECT_FALSE(run_lease().failure);
  EXPECT_EQ(calls, (std::vector<step_t>{0, 3}));
}

TEST_F(Run, PreparesBeforeItLoadsAndBlamesNoCheckpointForThat) {
  ASSERT_FALSE(run_lease().failure);
  lease rest;
  rest.number = lease_id{8};
  rest.start = *reports[0].saved;
  rest.stages = {x.stages[1]};
  rest.stops = {x.stops[1]};
  work.on_prepare = [] { throw std::runtime_error("no such module"); };
  const auto end = run_next(rest);
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::cannot_start);
  EXPECT_EQ(end.failure->message, "no such module");
}

TEST_F(Run, PassesOnWhatIsPrinted) {
  work.on_step = [this](step_t at) {
    work.printed += "step " + std::to_string(at) + '\n';
    if (at == 4)
      throw std::runtime_error("out of memory");
  };
  const auto end = run_lease();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(reports[0].output, "step 0\nstep 1\nstep 2\n");
  EXPECT_EQ(end.failure->message,
            "out of memory\nprinted before that:\nstep 3\nstep 4\n");
}

TEST_F(Run, OfALotThatIsPrintedBeforeAFailureTheEndIsTold) {
  work.on_step = [this](step_t at) {
    for (int i = 0; i < 1000; ++i)
      work.printed += "line " + std::to_string(i) + '\n';
    if (at == 0)
      throw std::runtime_error("no");
  };
  const auto message = run_lease().failure->message;
  EXPECT_LT(message.size(), 4200);
  EXPECT_TRUE(message.ends_with("line 999\n"));
  EXPECT_NE(message.find("that:\nline "), message.npos);
}

TEST_F(Run, FolderGone) {
  std::filesystem::remove(folder.path);
  const auto end = run_lease();
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::io_failed);
  EXPECT_EQ(end.at, 3) << "the state that could not be saved";
  EXPECT_EQ(end.during, lease_part::saving);
  EXPECT_TRUE(reports.empty());
}

TEST(LeaseControl, PeeksAtTheNextStop) {
  lease_control x{{{3, true, false}, {5, false, true}}};
  EXPECT_EQ(x.peek(0)->at, 3);
  EXPECT_EQ(x.peek(3)->at, 3);
  EXPECT_EQ(x.peek(4)->at, 5);
  EXPECT_FALSE(x.peek(6));
}

TEST(LeaseControl, TakesOnlyTheStopAtThatStep) {
  lease_control x{{{3, true, false}, {5, false, true}}};
  EXPECT_FALSE(x.take(0));
  EXPECT_EQ(x.take(3), (stop_point{3, true, false}));
  EXPECT_FALSE(x.take(3));
  EXPECT_EQ(x.take(5), (stop_point{5, false, true}));
}

TEST(LeaseControl, AddsStopsThatAreAhead) {
  lease_control x{{{5, false, false}}};
  EXPECT_TRUE(x.add({3, true, false}));
  EXPECT_TRUE(x.add({3, false, true}));
  EXPECT_EQ(x.peek(0), (stop_point{3, true, true}));
  EXPECT_TRUE(x.add({5, true, false}));
  EXPECT_EQ(x.peek(4), (stop_point{5, true, false}));
  EXPECT_TRUE(x.add({0, true, false}));
  EXPECT_EQ(x.peek(0)->at, 0);
}

TEST(LeaseControl, AStopThatIsMadeTheLastTakesAwayWhatFollows) {
  lease_control x{{{3, true, false}, {5, true, true}, {9, true, true}}};
  EXPECT_TRUE(x.add({4, false, true, true}));
  EXPECT_FALSE(x.add({5, true, false})) << "it ends before";
  EXPECT_TRUE(x.take(3));
  EXPECT_FALSE(x.done());
  EXPECT_TRUE(x.take(4));
  EXPECT_TRUE(x.done());
  lease_control y{{{3, true, false}, {5, true, true}}};
  EXPECT_TRUE(y.add({3, false, false, true}));
  EXPECT_EQ(y.take(3)->evaluate, true);
  EXPECT_TRUE(y.done());
}

TEST(LeaseControl, AStopThatIsMadeTheLastIsNeverTooLate) {
  lease_control x{{{3, true, false}, {9, true, true}}};
  EXPECT_TRUE(x.take(3));
  EXPECT_FALSE(x.take(4));
  EXPECT_FALSE(x.add({4, false, true}));
  EXPECT_TRUE(x.add({4, false, true, true}));
  EXPECT_EQ(x.take(5), (stop_point{5, false, true, true}));
  EXPECT_TRUE(x.done());
  EXPECT_FALSE(x.add({4, false, true, true})) << "it has ended";
}

TEST(LeaseControl, WhatIsClaimedIsOutOfReach) {
  lease_control x{{{5, true, false}, {9, true, true}}};
  EXPECT_EQ(x.claim(0, 3), 3);
  EXPECT_FALSE(x.add({2, false, true}));
  EXPECT_TRUE(x.add({3, false, true})) << "there it can still stop";
  EXPECT_TRUE(x.take(3));
  EXPECT_EQ(x.claim(3, 100), 5) << "not beyond a stop";
  EXPECT_TRUE(x.take(5));
  EXPECT_EQ(x.claim(5, 8), 8);
  EXPECT_TRUE(x.add({6, false, true, true})) << "as soon as may be";
  EXPECT_EQ(x.take(8), (stop_point{8, false, true, true}));
  EXPECT_TRUE(x.done());
}

TEST(LeaseControl, RefusesStopsBehindAndBeyond) {
  lease_control x{{{5, true, true}}};
  EXPECT_FALSE(x.add({6, true, false})) << "ends before it";
  EXPECT_FALSE(x.take(2));
  EXPECT_FALSE(x.add({2, true, false}));
  EXPECT_TRUE(x.add({3, true, false}));
  ASSERT_TRUE(x.take(5));
  EXPECT_FALSE(x.add({5, true, false}));
  EXPECT_FALSE(x.peek(0));
}

} // namespace hippo
