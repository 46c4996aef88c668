#include "hippo/forecast/simulate/simulated_training.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "hippo/train/run.hpp"
#include "simulate/profiles.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using namespace test;

using duration = simulated_training::duration;

class SimulatedTrainingTest : public testing::Test {
public:
  simulation_profile profile = sample();
  simulated_store store;
  std::uint64_t seed = 1;

  /// What a lease told and when.
  struct history {
    std::vector<std::pair<duration, stop_report>> reports;
    duration ended{};
    lease_end end;
  };

  [[nodiscard]] configuration config(double lr = 0.1) const {
    return segments_of(profile, {{"lr", constant(lr)}}, 1)[0].config;
  }

  [[nodiscard]] lease make(std::vector<stage> stages,
                           std::vector<stop_point> stops,
                           const std::string& start = "") const {
    lease result;
    result.number = lease_id{7};
    result.workload.name = "net";
    result.folder = "folder";
    result.start.file = start;
    result.stages = std::move(stages);
    result.stops = std::move(stops);
    return result;
  }

  /// A lease of one stage to step 10, with a stop at 5.
  [[nodiscard]] lease ten_steps() const {
    return make({{node_id{1}, 0, 10, config()}},
                {{5, true, false}, {10, true, true}});
  }

  simulated_training begin(lease x) {
    return {profile, store, seed, std::move(x)};
  }

  static history finish(simulated_training& x) {
    history result;
    while (!x.ended()) {
      const auto when = x.next_time();
      const auto event = x.take();
      if (const auto* end = std::get_if<lease_end>(&event)) {
        result.ended = when;
        result.end = *end;
      } else {
        result.reports.emplace_back(when, std::get<stop_report>(event));
      }
    }
    return result;
  }

  history run(lease x) {
    auto training = begin(std::move(x));
    return finish(training);
  }
};

TEST_F(SimulatedTrainingTest, PassesEveryStopInTheProfilesTime) {
  const auto told = run(ten_steps());
  ASSERT_EQ(told.reports.size(), 2u);
  const auto& [first_time, first] = told.reports[0];
  EXPECT_EQ(first_time, 1s + 50s + 4s);
  EXPECT_EQ(first.lease, lease_id{7});
  EXPECT_EQ(first.at, 5u);
  EXPECT_EQ(first.device, "sample");
  EXPECT_EQ(first.values.size(), 3u);
  EXPECT_FALSE(first.saved);
  EXPECT_EQ(first.load_ns, 0u);
  EXPECT_EQ(first.train_ns, 50'000'000'000u);
  EXPECT_EQ(first.evaluate_ns, 4'000'000'000u);
  EXPECT_EQ(first.save_ns, 0u);
  EXPECT_EQ(first.trained_steps, 5u);
  const auto& [last_time, last] = told.reports[1];
  EXPECT_EQ(last_time, first_time + 50s + 4s + 3s);
  EXPECT_EQ(last.save_ns, 3'000'000'000u);
  EXPECT_EQ(last.trained_steps, 5u);
  ASSERT_TRUE(last.saved);
  EXPECT_EQ(last.saved->file, "n1-s10-l7.ckpt");
  EXPECT_EQ(last.saved->bytes, 5000u);
  EXPECT_EQ(told.ended, last_time);
  EXPECT_EQ(told.end.lease, lease_id{7});
  EXPECT_EQ(told.end.at, 10u);
  EXPECT_FALSE(told.end.failure);
}

TEST_F(SimulatedTrainingTest, MembersTrainAndMeasureTogether) {
  auto x = ten_steps();
  x.gang = gang_place{x.number, {"a:1", "b:1", "c:1", "d:1"}, 0, "s3cret"};
  const auto told = run(x);
  ASSERT_EQ(told.reports.size(), 2u);
  const auto& first = told.reports[0].second;
  // Each doubling is .9 of linear: 1.8 x 1.8 times as fast.
  EXPECT_NEAR(static_cast<double>(first.train_ns), 50e9 / 3.24, 10);
  EXPECT_NEAR(static_cast<double>(first.evaluate_ns), 4e9 / 3.24, 10);
  const auto& last = told.reports[1].second;
  EXPECT_EQ(last.save_ns, 3'000'000'000u) << "the lead saves alone";
  EXPECT_EQ(last.values, run(ten_steps()).reports[1].second.values);
}

TEST_F(SimulatedTrainingTest, MembersAreAsFastAsTheProfileSays) {
  profile.members.learn({}, {}, 4, 2.5);
  auto x = ten_steps();
  x.gang = gang_place{x.number, {"a:1", "b:1", "c:1", "d:1"}, 0, "s3cret"};
  const auto first = run(x).reports.at(0).second;
  EXPECT_NEAR(static_cast<double>(first.train_ns), 50e9 / 2.5, 10);
  EXPECT_NEAR(static_cast<double>(first.evaluate_ns), 4e9 / 2.5, 10);
  // Ranks of a trial are a part of what is trained.
  x.workload.name = "python";
  x.workload.options["ranks"] = scalar{4.0};
  EXPECT_EQ(run(x).reports.at(0).second.train_ns, 50'000'000'000u);
}

TEST_F(SimulatedTrainingTest, GoesOnFromACheckpoint) {
  const auto alone =
    run(make({{node_id{1}, 0, 10, config()}}, {{10, true, true}}));
  const auto head =
    run(make({{node_id{1}, 0, 4, config()}}, {{4, false, true}}));
  const auto& file = head.reports[0].second.saved->file;
  auto x = make({{node_id{2}, 4, 10, config()}}, {{10, true, true}}, file);
  x.number = lease_id{8};
  const auto tail = run(x);
  const auto& report = tail.reports[0].second;
  EXPECT_EQ(tail.reports[0].first, 1s + 2s + 60s + 4s + 3s);
  EXPECT_EQ(report.load_ns, 2'000'000'000u);
  EXPECT_EQ(report.values, alone.reports[0].second.values);
  EXPECT_EQ(report.saved->digest, alone.reports[0].second.saved->digest);
  EXPECT_EQ(report.saved->file, "n2-s10-l8.ckpt");
}

TEST_F(SimulatedTrainingTest, RefusesToStartFromWhatIsNotThere) {
  auto lost =
    run(make({{node_id{1}, 4, 9, config()}}, {{9, true, true}}, "gone.ckpt"));
  EXPECT_TRUE(lost.reports.empty());
  EXPECT_EQ(lost.ended, 3s);
  EXPECT_EQ(lost.end.at, 4u);
  EXPECT_EQ(lost.end.failure->code, errc::bad_checkpoint);
  lost = run(make({{node_id{1}, 4, 9, config()}}, {{9, true, true}}));
  EXPECT_EQ(lost.ended, 1s);
  EXPECT_EQ(lost.end.failure->code, errc::bad_checkpoint);
}

TEST_F(SimulatedTrainingTest, KeepsFoldersApart) {
  ASSERT_TRUE(run(ten_steps()).reports[1].second.saved);
  auto x = make({{node_id{1}, 10, 12, config()}}, {{12, true, false}},
                "n1-s10-l7.ckpt");
  EXPECT_FALSE(run(x).end.failure);
  x.folder = "other";
  EXPECT_TRUE(run(x).end.failure);
}

TEST_F(SimulatedTrainingTest, EvaluatesAStateWithoutTraining) {
  const auto told =
    run(make({{node_id{1}, 0, 0, config()}, {node_id{2}, 0, 2, config()}},
             {{0, true, true}, {2, true, false}}));
  ASSERT_EQ(told.reports.size(), 2u);
  EXPECT_EQ(told.reports[0].first, 1s + 4s + 3s);
  EXPECT_EQ(told.reports[0].second.trained_steps, 0u);
  EXPECT_EQ(told.reports[0].second.train_ns, 0u);
  EXPECT_EQ(told.reports[0].second.saved->file, "n1-s0-l7.ckpt");
  EXPECT_EQ(told.reports[1].first, 8s + 20s + 4s);
}

TEST_F(SimulatedTrainingTest, NamesACheckpointByTheStageThatEndsThere) {
  const auto told =
    run(make({{node_id{1}, 0, 3, config()}, {node_id{4}, 3, 5, config(0.01)}},
             {{3, false, true}, {4, false, true}, {5, false, true}}));
  ASSERT_EQ(told.reports.size(), 3u);
  EXPECT_EQ(told.reports[0].second.saved->file, "n1-s3-l7.ckpt");
  EXPECT_EQ(told.reports[1].second.saved->file, "n4-s4-l7.ckpt");
  EXPECT_EQ(told.reports[2].second.saved->file, "n4-s5-l7.ckpt");
}

TEST_F(SimulatedTrainingTest, TakesAStepsTimeFromItsOwnValues) {
  profile.step_seconds[0].by = "batch_size";
  profile.step_seconds[0].by_number = {{128, 10}, {256, 6}};
  const auto grown =
    segments_of(profile, {{"batch_size", multistep(128, 2, {3})}}, 5);
  const auto told = run(make(
    {{node_id{1}, 0, 3, grown[0].config}, {node_id{2}, 3, 5, grown[1].config}},
    {{5, false, false}}));
  EXPECT_EQ(told.ended, 1s + 30s + 12s);
}

TEST_F(SimulatedTrainingTest, SpreadsTheTimeOfStretches) {
  profile.spread = 0.5;
  double sum = 0;
  double squares = 0;
  const int n = 2000;
  for (int i = 0; i < n; ++i) {
    auto x = ten_steps();
    x.number = static_cast<lease_id>(i);
    const auto told = run(x);
    ASSERT_NE(told.reports[0].second.train_ns, told.reports[1].second.train_ns);
    const auto share =
      static_cast<double>(told.reports[0].second.train_ns) / 50e9;
    sum += share;
    squares += share * share;
    EXPECT_EQ(told.reports[0].second.evaluate_ns, 4'000'000'000u);
  }
  const auto mean = sum / n;
  EXPECT_NEAR(mean, 1, 0.04);
  EXPECT_NEAR(std::sqrt(squares / n - mean * mean), 0.5, 0.05);
}

TEST_F(SimulatedTrainingTest, DrawsByAddressAndNotInOrder) {
  profile.spread = 0.2;
  profile.failure_rate = 0.5;
  const auto ended = [this](auto change) {
    auto x = ten_steps();
    change(x);
    return run(x).ended;
  };
  const auto plain = ended([](lease&) {});
  EXPECT_EQ(ended([](lease&) {}), plain);
  EXPECT_NE(ended([](lease& x) { x.number = lease_id{8}; }), plain);
  EXPECT_NE(ended([](lease& x) { x.stages[0].node = node_id{2}; }), plain);
  EXPECT_NE(ended([](lease& x) { x.workload.name = "other"; }), plain);
  seed = 2;
  EXPECT_NE(ended([](lease&) {}), plain);
}

TEST_F(SimulatedTrainingTest, FailsTheShareOfStagesThatTheProfileSays) {
  profile.failure_rate = 0.2;
  std::map<step_t, int> failed_at;
  int failed = 0;
  const int n = 4000;
  for (int i = 0; i < n; ++i) {
    auto x = ten_steps();
    x.number = static_cast<lease_id>(i);
    const auto told = run(x);
    if (!told.end.failure)
      continue;
    ++failed;
    ++failed_at[told.end.at];
    EXPECT_EQ(told.end.failure->code, errc::training_failed);
    EXPECT_NE(told.end.failure->message.find("simulated failure"),
              std::string::npos);
    // The step that fails has taken its time.
    ASSERT_EQ(told.reports.size(), told.end.at / 5);
    EXPECT_EQ(told.ended,
              1s + 10s * (told.end.at + 1) + 4s * told.reports.size());
  }
  EXPECT_NEAR(failed, 0.2 * n, 80);
  ASSERT_EQ(failed_at.size(), 10u); // every step may fail
  for (const auto& [at, count] : failed_at)
    EXPECT_NEAR(count, 80, 40) << at;
}

TEST_F(SimulatedTrainingTest, EvaluatingAloneNeverFails) {
  profile.failure_rate = 1;
  const auto told =
    run(make({{node_id{1}, 0, 0, config()}}, {{0, true, false}}));
  EXPECT_FALSE(told.end.failure);
}

TEST_F(SimulatedTrainingTest, TellsOfDivergenceWhereItMeasures) {
  auto x = make({{node_id{1}, 0, 10, config(5)}},
                {{2, false, true}, {5, true, true}, {10, true, true}});
  const auto told = run(x);
  ASSERT_EQ(told.reports.size(), 2u);
  EXPECT_TRUE(told.reports[0].second.saved); // nobody has looked
  const auto& [when, report] = told.reports[1];
  EXPECT_EQ(report.at, 5u);
  EXPECT_TRUE(report.values.empty());
  EXPECT_FALSE(report.saved);
  EXPECT_EQ(report.save_ns, 0u);
  EXPECT_EQ(when, 1s + 20s + 3s + 30s + 4s);
  EXPECT_EQ(told.ended, when);
  EXPECT_EQ(told.end.at, 5u);
  EXPECT_EQ(told.end.failure->code, errc::diverged);
  EXPECT_EQ(told.end.failure->message, "diverged: accuracy is nan at step 5");
}

// -- stops that are added -----------------------------------------------------

TEST_F(SimulatedTrainingTest, StopsWhereItIsAskedTo) {
  profile.spread = 0.2;
  auto plain = begin(ten_steps());
  const auto expected = finish(plain);
  auto training = begin(ten_steps());
  EXPECT_EQ(training.reached(1s), 0u);
  const auto now = 1s + 20s;
  const auto reached = training.reached(now);
  ASSERT_TRUE(training.add_stop({4, false, true}, now));
  // The pace of what runs already stays.
  EXPECT_EQ(training.reached(now), reached);
  const auto told = finish(training);
  ASSERT_EQ(told.reports.size(), 3u);
  EXPECT_EQ(told.reports[0].second.at, 4u);
  EXPECT_TRUE(told.reports[0].second.values.empty());
  EXPECT_TRUE(told.reports[0].second.saved);
  EXPECT_NEAR(static_cast<double>(told.reports[0].second.train_ns),
              static_cast<double>(expected.reports[0].second.train_ns) * 0.8,
              2);
  EXPECT_EQ(told.reports[1].second.trained_steps, 1u);
  EXPECT_EQ(told.reports[1].second.values, expected.reports[0].second.values);
  EXPECT_EQ(told.reports[2].second.values, expected.reports[1].second.values);
}

TEST_F(SimulatedTrainingTest, AddsToAStopThatIsThere) {
  auto training = begin(ten_steps());
  ASSERT_TRUE(training.add_stop({5, false, true}, 10s));
  ASSERT_TRUE(training.add_stop({8, true, false}, 10s));
  const auto told = finish(training);
  ASSERT_EQ(told.reports.size(), 3u);
  EXPECT_TRUE(told.reports[0].second.saved);
  EXPECT_EQ(told.reports[0].second.values.size(), 3u);
  EXPECT_EQ(told.reports[1].second.at, 8u);
}

TEST_F(SimulatedTrainingTest, RefusesStopsThatArePassed) {
  auto training = begin(ten_steps());
  EXPECT_TRUE(training.add_stop({0, true, false}, 500ms)); // not yet begun
  EXPECT_EQ(training.next_time(), 1s + 4s);
  EXPECT_EQ(std::get<stop_report>(training.take()).at, 0u);
  EXPECT_FALSE(training.add_stop({0, true, false}, 5s));
  EXPECT_TRUE(training.add_stop({1, true, false}, 5s));
  EXPECT_EQ(std::get<stop_report>(training.take()).at, 1u);
  // Now is 19 s; step 2 ends at 29 s.
  EXPECT_FALSE(training.add_stop({2, true, false}, 29s));
  EXPECT_TRUE(training.add_stop({3, true, false}, 29s));
  EXPECT_FALSE(training.add_stop({11, true, false}, 29s));
  EXPECT_EQ(std::get<stop_report>(training.take()).at, 3u);
  // Evaluating at 5 is no time to ask for more there.
  EXPECT_EQ(training.next_time(), 43s + 20s + 4s);
  EXPECT_FALSE(training.add_stop({5, false, true}, 64s));
  finish(training);
  EXPECT_FALSE(training.add_stop({9, true, false}, 500s));
}

TEST_F(SimulatedTrainingTest, AStopThatIsMadeTheLastIsNeverTooLate) {
  auto training = begin(ten_steps());
  EXPECT_FALSE(training.add_stop({1, false, true}, 1s + 25s));
  EXPECT_TRUE(training.add_stop({1, false, true, true}, 1s + 25s));
  EXPECT_EQ(training.next_time(), 1s + 30s + 3s); // the third step, and saving
  const auto told = finish(training);
  ASSERT_EQ(told.reports.size(), 1u);
  EXPECT_EQ(told.reports[0].second.at, 3u);
  EXPECT_TRUE(told.reports[0].second.saved);
  EXPECT_FALSE(told.end.failure);
}

// -- cancelling ---------------------------------------------------------------

TEST_F(SimulatedTrainingTest, EndsAfterThePresentStepWhenCancelled) {
  auto training = begin(ten_steps());
  training.cancel(1s + 25s);
  EXPECT_EQ(training.next_time(), 1s + 30s);
  EXPECT_EQ(training.reached(1s + 25s), 2u);
  EXPECT_FALSE(training.add_stop({8, true, false}, 1s + 26s));
  const auto told = finish(training);
  EXPECT_TRUE(told.reports.empty());
  EXPECT_EQ(told.end.at, 3u);
  EXPECT_EQ(told.end.failure->code, errc::cancelled);
  EXPECT_EQ(told.end.failure->message, "cancelled at step 3");
}

TEST_F(SimulatedTrainingTest, TrainsNothingWhenCancelledBeforeItBegins) {
  auto training = begin(ten_steps());
  training.cancel(500ms);
  EXPECT_EQ(training.next_time(), 1s);
  EXPECT_EQ(training.reached(900ms), 0u);
  EXPECT_EQ(std::get<lease_end>(training.take()).at, 0u);
  EXPECT_TRUE(training.ended());
}

TEST_F(SimulatedTrainingTest, BringsAStopToItsEndWhenCancelled) {
  auto training = begin(ten_steps());
  training.cancel(1s + 50s + 2s);
  training.cancel(1s + 50s + 3s);
  const auto told = finish(training);
  ASSERT_EQ(told.reports.size(), 1u);
  EXPECT_EQ(told.ended, 55s);
  EXPECT_EQ(told.end.at, 5u);
  EXPECT_EQ(told.end.failure->code, errc::cancelled);
}

TEST_F(SimulatedTrainingTest, TheLastStopEndsTheLeaseEvenIfCancelled) {
  auto training = begin(ten_steps());
  (void)training.take();
  training.cancel(55s + 50s + 1s);
  const auto told = finish(training);
  EXPECT_EQ(told.reports.size(), 1u);
  EXPECT_FALSE(told.end.failure);
}

TEST_F(SimulatedTrainingTest, AStepThatFailsIsToldAsCancelledIfItIs) {
  profile.failure_rate = 1;
  auto x = make({{node_id{1}, 0, 1, config()}}, {{1, true, false}});
  auto training = begin(x);
  training.cancel(5s);
  EXPECT_FALSE(training.add_stop({1, false, true}, 6s));
  const auto told = finish(training);
  EXPECT_EQ(told.ended, 11s);
  EXPECT_EQ(told.end.at, 0u);
  EXPECT_EQ(told.end.failure->code, errc::cancelled);
  EXPECT_EQ(training.reached(20s), 0u);
}

// -- a table ------------------------------------------------------------------

class PlayedTrainingTest : public SimulatedTrainingTest {
public:
  PlayedTrainingTest() {
    profile.table_file = "net.csv";
    auto read = read_result_table(
      "lr,accuracy@5,loss@5,train_loss@5,accuracy@10,loss@10,train_loss@10\n"
      "0.1,0.5,1.5,1.25,0.75,1,0.5\n"
      "0.2,0.25,2,2,,,\n"
      "3,nan,nan,nan,nan,nan,nan\n"
      "\"{piecewise: [[0, 0.1], [5, 0.01]]}\",0.5,1.5,1.25,1,0.5,0.25\n",
      "net.csv", profile.workload);
    for (const auto& x : read.errors)
      ADD_FAILURE() << to_text(x);
    profile.table = std::make_shared<const result_table>(*read.table);
  }

  /// Trains to step 10 with one learning rate.
  history run_with(double lr) {
    return run(make({{node_id{1}, 0, 10, config(lr)}},
                    {{5, true, false}, {10, true, true}}));
  }
};

TEST_F(PlayedTrainingTest, MeasuresWhatTheTableHas) {
  const auto told = run_with(0.1);
  ASSERT_EQ(told.reports.size(), 2u);
  EXPECT_EQ(told.reports[0].second.values,
            (metrics{{"accuracy", 0.5}, {"loss", 1.5}, {"train_loss", 1.25}}));
  EXPECT_EQ(told.reports[1].second.values.at("accuracy"), 0.75);
  EXPECT_FALSE(told.end.failure);
  // Times are the profile's, as ever.
  EXPECT_EQ(told.ended, 1s + 100s + 2 * 4s + 3s);
}

TEST_F(PlayedTrainingTest, GoesOnFromACheckpointOnAnotherBranch) {
  const auto head =
    run(make({{node_id{1}, 0, 5, config()}}, {{5, false, true}}));
  const auto file = head.reports[0].second.saved->file;
  EXPECT_NE(head.reports[0].second.saved->digest, 0u);
  const auto tail = run(make({{node_id{2}, 5, 10, config(0.01)}},
                             {{10, true, false}}, file));
  ASSERT_EQ(tail.reports.size(), 1u);
  EXPECT_EQ(tail.reports[0].second.values.at("accuracy"), 1);
}

TEST_F(PlayedTrainingTest, NaNIsTrainingThatHasDiverged) {
  const auto told = run_with(3);
  ASSERT_TRUE(told.end.failure);
  EXPECT_EQ(told.end.failure->code, errc::diverged);
  EXPECT_EQ(told.end.at, 5u);
}

TEST_F(PlayedTrainingTest, FailsWhereTheTableHasNoSuchTraining) {
  const auto told = run_with(0.3);
  EXPECT_TRUE(told.reports.empty());
  ASSERT_TRUE(told.end.failure);
  EXPECT_EQ(told.end.failure->code, errc::fails_everywhere);
  EXPECT_EQ(told.end.at, 0u);
  EXPECT_EQ(told.end.failure->message.find(
              "net.csv has no training that goes on at step 0 with "),
            0u);
  EXPECT_NE(told.end.failure->message.find("lr=0.3"), std::string::npos);
}

TEST_F(PlayedTrainingTest, FailsWhereNothingWasMeasured) {
  const auto told = run_with(0.2);
  EXPECT_EQ(told.reports.size(), 1u);
  ASSERT_TRUE(told.end.failure);
  EXPECT_EQ(told.end.failure->message,
            "net.csv has no measurement at step 10 of this training");
}

} // namespace
} // namespace hippo
