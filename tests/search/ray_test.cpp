// Our decisions beside those of Ray Tune 2.60.0, on the streams of results that
// reference/record_ray.py recorded.

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/search/algorithm/asha.hpp"
#include "hippo/search/algorithm/hyperband.hpp"
#include "hippo/search/algorithm/median_stopping.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "search/trainers.hpp"

namespace hippo {
namespace {

using json = nlohmann::json;

const json& recording() {
  static const json result = [] {
    std::ifstream file{HIPPO_RAY_RECORDING};
    return json::parse(file);
  }();
  return result;
}

direction direction_of(const json& x) {
  return x.at("mode") == "max" ? direction::maximize : direction::minimize;
}

/// Feeds a stream of events [trial, step, value, whether Ray stops].
/// @returns how many trials we stop where Ray does not, or the other way
int differences(algorithm& tuner, const json& events) {
  int result = 0;
  start(tuner);
  for (const auto& x : events) {
    const auto trial = x[0].get<trial_no>();
    const auto decided
      = tuner.on_result(trial, x[1].get<step_t>(), x[2].get<double>());
    const bool stops = std::any_of(
      decided.begin(), decided.end(), [&](const action& y) {
        return y == action{(prune{trial})};
      });
    result += stops != (x[3] == 1);
  }
  return result;
}

TEST(Ray, IsTheVersionWeComparedWith) {
  EXPECT_EQ(recording().at("ray"), "2.60.0");
}

TEST(Ray, StopsTheSameTrialsByAsha) {
  for (const auto& x : recording().at("asha")) {
    const auto eta = x.at("eta").get<std::uint64_t>();
    asha_stopping tuner{x.at("trials"),
                        rung_steps(x.at("min"), x.at("max"), eta), eta,
                        direction_of(x), 0};
    EXPECT_EQ(differences(tuner, x.at("events")), 0);
    EXPECT_TRUE(tuner.done());
    EXPECT_GT(x.at("events").size(), 50u);
  }
  // What is not compared: a NaN. Ray goes on with the trial, because no number
  // is less than NaN; here it is worse than any number.
}

TEST(Ray, StopsTheSameTrialsByTheMedian) {
  int streams = 0;
  for (const auto& x : recording().at("median")) {
    median_stopping tuner{x.at("trials"), x.at("max"),         x.at("grace"),
                          x.at("min_others"), direction_of(x), 0};
    const auto found = differences(tuner, x.at("events"));
    // Ray's running means begin with the grace period, the paper's with the
    // first result. They agree where nothing is measured before.
    if (x.at("first") == x.at("grace")) {
      EXPECT_EQ(found, 0);
      ++streams;
    } else {
      EXPECT_GT(found, 0);
    }
  }
  EXPECT_EQ(streams, 4);
}

TEST(Ray, HasTheSameBracketsWhereMaxIsAPower) {
  for (const auto& x : recording().at("brackets")) {
    const auto max = x.at("max").get<step_t>();
    const auto eta = x.at("eta").get<std::uint64_t>();
    const auto found = hyperband_brackets(1, max, eta);
    json ours = json::array();
    for (const auto& y : found)
      ours.push_back({y.trials, y.rungs.front()});
    if (max == 120) {
      // Ray's brackets begin at int(120 / 4^s), each with rungs of its own;
      // ours have the rungs 1, 4, 16, 64 and 120 in common, so that they share.
      EXPECT_EQ(ours, json({{64, 1}, {22, 4}, {8, 16}, {4, 64}}));
      EXPECT_EQ(x.at("brackets"), json({{64, 1}, {22, 7}, {8, 30}, {4, 120}}));
    } else if (max == 60) {
      // Ray rounds log(60) / log(4) = 2.95 up, and gets a bracket that begins
      // at step 0, which it then skips. The paper rounds down.
      EXPECT_EQ(ours, json({{16, 1}, {6, 4}, {3, 16}}));
      EXPECT_EQ(x.at("brackets").front(), json({64, 0}));
    } else {
      EXPECT_EQ(ours, x.at("brackets")) << max;
    }
  }
}

/// How far each trial gets in one of our brackets.
std::vector<step_t> reached(const json& values, std::size_t s,
                            const std::vector<hyperband_bracket>& round,
                            std::uint64_t eta, direction better) {
  const auto& [trials, rungs] = round[round.size() - 1 - s];
  sha own{trials, rungs, eta, better};
  std::vector<step_t> result(trials, 0);
  auto todo = start(own);
  for (std::size_t i = 0; i < todo.size(); ++i)
    if (const auto* go = std::get_if<advance>(&todo[i])) {
      const auto [trial, to] = *go;
      result[trial] = to;
      const auto rung = round.size() - rungs.size()
                        + static_cast<std::size_t>(
                          std::find(rungs.begin(), rungs.end(), to)
                          - rungs.begin());
      const auto more = own.on_result(trial, to, values[trial][rung]);
      todo.insert(todo.end(), more.begin(), more.end());
    }
  EXPECT_TRUE(own.done());
  return result;
}

TEST(Ray, KeepsTheSameTrialsByHyperbandWhereNothingIsRounded) {
  int equal = 0, rounded = 0;
  for (const auto& x : recording().at("hyperband")) {
    const auto eta = x.at("eta").get<std::uint64_t>();
    const auto round = hyperband_brackets(1, x.at("max"), eta);
    for (const auto& bracket : x.at("brackets")) {
      const auto s = bracket.at("s").get<std::size_t>();
      const auto ours
        = reached(bracket.at("values"), s, round, eta, direction_of(x));
      const auto rays = bracket.at("reached").get<std::vector<step_t>>();
      ASSERT_EQ(ours.size(), rays.size());
      bool divides = true; // at each rung
      for (auto [n, left] = std::pair{ours.size(), s}; left > 0; --left) {
        divides = divides && n % eta == 0;
        n /= eta;
      }
      if (divides) {
        EXPECT_EQ(ours, rays);
        ++equal;
        continue;
      }
      // Of n trials Ray keeps ceil(n / eta), the paper floor(n / eta): each of
      // ours gets at most as far.
      for (std::size_t i = 0; i < ours.size(); ++i)
        EXPECT_LE(ours[i], rays[i]);
      EXPECT_NE(ours, rays);
      ++rounded;
    }
  }
  EXPECT_EQ(equal, 7);
  EXPECT_EQ(rounded, 5);
}

} // namespace
} // namespace hippo
