// Simulated leases against `hippo::run`, which trains the same curve.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>

#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/forecast/simulate/draw.hpp"
#include "hippo/forecast/simulate/simulated_training.hpp"
#include "hippo/train/run.hpp"
#include "simulate/profiles.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using namespace test;

using duration = simulated_training::duration;

/// A learning curve as something that is really trained.
class curve_workload final : public workload {
public:
  explicit curve_workload(learning_curve curve) : curve_(std::move(curve)) {}

  void init() override { state_ = {}; }

  void train(const configuration& config, step_t from, step_t to) override {
    ASSERT_EQ(to, from + 1);
    before_step(from);
    if (from == fails_at)
      throw std::runtime_error{"failed"};
    curve_.train(state_, config, from);
  }

  metrics evaluate() override { return curve_.evaluate(state_); }

  std::string save() override {
    return {reinterpret_cast<const char*>(&state_), sizeof(state_)};
  }

  void load(const std::string& bytes) override {
    ASSERT_EQ(bytes.size(), sizeof(state_));
    std::memcpy(&state_, bytes.data(), sizeof(state_));
  }

  std::function<void(step_t)> before_step;
  std::optional<step_t> fails_at;

private:
  learning_curve curve_;
  curve_state state_;
};

struct history {
  std::vector<stop_report> reports;
  lease_end end;
};

/// A random lease from step 0, and what is asked for in the middle of a step.
struct scenario {
  lease work;
  step_t asked_in = 0;             ///< the step that trains then
  std::optional<stop_point> added; ///< none: it is cancelled
};

class RealTraining : public testing::TestWithParam<unsigned> {
public:
  simulation_profile profile = sample();
  temporary_folder folder;
  simulated_store simulated;

  template <class Rng>
  scenario draw(Rng& rng) {
    const auto one_in = [&rng](unsigned n) { return rng() % n == 0; };
    const auto coin = [&one_in] { return one_in(2); };
    profile.failure_rate = coin() ? 0.2 : 0;
    scenario result;
    auto& x = result.work;
    x.number = lease_id{GetParam()};
    x.workload.name = "net";
    x.folder = folder.path;
    step_t at = 0;
    const auto stages = 1 + rng() % 3;
    for (std::uint64_t node = 1; node <= stages; ++node) {
      const auto end = at + (node == 1 ? 0 : 1) + rng() % 6;
      const auto lr = constant(one_in(10) ? 5 : 0.1); // 5 diverges
      x.stages.push_back({node_id{node}, at, end,
                          segments_of(profile, {{"lr", lr}}, 1)[0].config});
      at = end;
    }
    for (step_t i = 0; i < at; ++i)
      if (one_in(3))
        x.stops.push_back({i, coin(), coin()});
    x.stops.push_back({at, true, coin()});
    result.asked_in = rng() % (at + 1);
    if (!one_in(3))
      result.added = stop_point{result.asked_in + rng() % 4, coin(), coin(),
                                coin()};
    return result;
  }

  history simulate(const scenario& what) {
    simulated_training training{profile, simulated, 1, what.work};
    history result;
    step_t at = 0;             // of the stretch
    auto begin = duration{1s}; // of its training
    const auto step = duration{10s};
    while (!training.ended()) {
      // The stops before the request are those that the lease came with.
      const auto passes =
        std::ranges::any_of(what.work.stops, [&](const auto& stop) {
          return at <= stop.at && stop.at <= what.asked_in
                 && !passed(result, stop.at);
        });
      const auto now = begin + step * static_cast<int>(what.asked_in - at) + 5s;
      if (!passes && what.asked_in >= at && now < training.next_time()) {
        if (what.added)
          training.add_stop(*what.added, now);
        else
          training.cancel(now);
      }
      const auto when = training.next_time();
      const auto event = training.take();
      if (const auto* report = std::get_if<stop_report>(&event)) {
        result.reports.push_back(*report);
        at = report->at;
        begin = when;
      } else {
        result.end = std::get<lease_end>(event);
      }
    }
    return result;
  }

  static bool passed(const history& x, step_t at) {
    return !x.reports.empty() && x.reports.back().at >= at;
  }

  history train(const scenario& what, std::optional<step_t> fails_at) {
    // The curve of a simulation that has run this lease.
    const auto key = key_of(what.work.workload);
    curve_workload work{learning_curve{
      profile.curve, hash_numbers({1, hash_bytes(key.data(), key.size())})}};
    lease_control control{what.work.stops};
    work.fails_at = fails_at;
    std::uint64_t now_ns = 0;
    work.before_step = [&](step_t at) {
      now_ns += 1'000'000'000; // so that none is trained along with another
      if (at != what.asked_in)
        return;
      if (what.added)
        control.add(*what.added);
      else
        control.cancel();
    };
    lease_progress progress;
    std::optional<checkpoint> present;
    recent_states kept{0};
    folder_store store{folder.path};
    part_tables tables;
    parted_store states{what.work, store, tables};
    history result;
    result.end = run(
      work, present, kept, what.work, states, profile.device, control, progress,
      [&now_ns] { return ++now_ns; },
      [&result](const stop_report& x) { result.reports.push_back(x); });
    return result;
  }
};

TEST_P(RealTraining, TellsTheSame) {
  std::mt19937 rng{GetParam()};
  const auto what = draw(rng);
  const auto x = simulate(what);
  const auto failed
    = x.end.failure && x.end.failure->message.starts_with("simulated failure");
  const auto y = train(what, failed ? std::optional{x.end.at} : std::nullopt);
  EXPECT_EQ(x.end.lease, y.end.lease);
  EXPECT_EQ(x.end.at, y.end.at);
  ASSERT_EQ(x.end.failure.has_value(), y.end.failure.has_value());
  if (x.end.failure) {
    EXPECT_EQ(x.end.failure->code, y.end.failure->code);
    if (!failed) {
      EXPECT_EQ(x.end.failure->message, y.end.failure->message);
    }
  }
  ASSERT_EQ(x.reports.size(), y.reports.size());
  for (std::size_t i = 0; i < x.reports.size(); ++i) {
    const auto& a = x.reports[i];
    const auto& b = y.reports[i];
    EXPECT_EQ(a.lease, b.lease);
    EXPECT_EQ(a.at, b.at);
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(a.device, b.device);
    EXPECT_EQ(a.trained_steps, b.trained_steps);
    ASSERT_EQ(a.saved.has_value(), b.saved.has_value());
    if (a.saved) {
      EXPECT_EQ(a.saved->file, b.saved->file);
    }
    EXPECT_EQ(a.train_ns > 0, b.train_ns > 0);
    EXPECT_EQ(a.evaluate_ns > 0, b.evaluate_ns > 0);
    if (a.save_ns > 0) { // b may wait for the checkpoint before as well
      EXPECT_GT(b.save_ns, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RealTraining, testing::Range(1u, 301u));

} // namespace
} // namespace hippo
