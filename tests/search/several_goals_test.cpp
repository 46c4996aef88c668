// Studies of several metrics, or with constraints: algorithms, samplers and
// tuners that go by outcomes.

#include <gtest/gtest.h>

#include <random>

#include "hippo/search/accepted_study.hpp"
#include "hippo/search/algorithm/asha.hpp"
#include "hippo/search/algorithm/sha.hpp"
#include "hippo/search/pareto/dominance.hpp"
#include "hippo/search/pareto/hypervolume.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"
#include "search/studies.hpp"

namespace hippo {
namespace {

const std::vector<workload_descriptor>& two_metrics() {
  static const auto result = [] {
    auto all = toy_workloads();
    all[0].metrics.push_back({"ms", direction::minimize, "time"});
    return all;
  }();
  return result;
}

constexpr auto both = "[{metric: acc}, {metric: ms}]";
constexpr auto plane = "{x: {uniform: [0, 1]}, y: {uniform: [0, 1]},"
                       " z: {uniform: [0, 1]}}";

study_admission admit(const std::string& objective, const std::string& space,
                      const std::string& algorithm,
                      const std::string& more = "") {
  return admit_study("study: s\nworkload: toy\nobjective: " + objective
                       + "\nmax_steps: 27\nspace: " + space
                       + "\nalgorithm: " + algorithm + "\n" + more,
                     "s.yaml", two_metrics(), {true, {}});
}

study_spec spec_of(const std::string& algorithm,
                   const std::string& more = "budget: {trials: 40}",
                   const std::string& objective = both,
                   const std::string& space = plane) {
  const auto found = admit(objective, space, algorithm, more);
  for (const auto& x : found.errors)
    ADD_FAILURE() << to_text(x);
  return found.study ? found.study->spec() : study_spec{};
}

std::vector<std::string> errors_of(const study_admission& x) {
  std::vector<std::string> result;
  for (const auto& y : x.errors)
    result.push_back(to_text(y));
  return result;
}

// -- rungs --------------------------------------------------------------------

/// Outcomes of trials that are drawn: few values, so that many are equal.
struct drawn_outcomes {
  explicit drawn_outcomes(std::uint64_t seed) : draw{seed} {}

  const outcome& add(trial_no trial, step_t at) {
    known.add(trial, at,
              {{"acc", static_cast<double>(draw() % 6)},
               {"ms", draw() % 12 == 0 ? NAN
                                       : static_cast<double>(draw() % 6)}});
    return known.at(trial, at);
  }

  /// Who comes first, by the definition.
  [[nodiscard]] std::vector<trial_no> order(std::vector<trial_no> trials,
                                            step_t at) const {
    std::sort(trials.begin(), trials.end());
    std::vector<outcome> outcomes;
    for (auto trial : trials)
      outcomes.push_back(known.at(trial, at));
    std::vector<trial_no> result;
    for (auto i : best_first(outcomes))
      result.push_back(trials[i]);
    return result;
  }

  std::mt19937_64 draw;
  trial_outcomes known{{{{"acc", direction::maximize},
                         {"ms", direction::minimize}},
                        {{"ms", true, 4}}}};
};

TEST(ShaOfSeveral, TheFirstOfTheOrderGoOn) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    drawn_outcomes x{seed};
    // As a bracket whose first trial is 7.
    sha race{9, {1, 3, 9}, 3, direction::maximize, nullptr, 7, &x.known};
    race.open(9);
    std::vector<trial_no> all;
    std::vector<action> made;
    for (trial_no trial = 0; trial < 9; ++trial) {
      all.push_back(7 + trial);
      x.add(7 + trial, 1);
      made = race.on_result(trial, 1, 0);
    }
    const auto order = x.order(all, 1);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(std::get<advance>(made.at(i)),
                (advance{order[i] - 7, 3}));
    for (std::size_t i = 3; i < 9; ++i)
      EXPECT_TRUE(std::holds_alternative<prune>(made.at(i)));
  }
}

/// Whoever goes on was the first at rest, and among the best third at that
/// time; nobody rests who might go on.
TEST(AshaOfSeveral, PromotesTheBestThirdOfTheOrder) {
  const std::vector<step_t> rungs{1, 3, 9};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    drawn_outcomes x{seed};
    asha_promotion race{30, rungs, 3, direction::maximize, 4, nullptr,
                        &x.known};
    std::map<trial_no, std::size_t> running; // rung to which it is trained
    std::vector<std::vector<trial_no>> came(3), resting(3);
    std::uint64_t failed = 0;
    const auto take = [&](const std::vector<action>& actions) {
      for (const auto& y : actions) {
        const auto* go = std::get_if<advance>(&y);
        if (go == nullptr)
          continue;
        std::size_t to = 0;
        while (rungs[to] != go->to)
          ++to;
        if (to > 0 && came[0].size() + failed < 30) {
          const auto order = x.order(came[to - 1], rungs[to - 1]);
          const auto& rest = resting[to - 1];
          const auto place
            = std::find_if(order.begin(), order.end(), [&](trial_no one) {
                return std::find(rest.begin(), rest.end(), one) != rest.end();
              });
          ASSERT_NE(place, order.end());
          EXPECT_EQ(go->trial, *place);
          EXPECT_LT(place - order.begin(),
                    static_cast<std::ptrdiff_t>(order.size() / 3));
        }
        if (to > 0)
          std::erase(resting[to - 1], go->trial);
        running[go->trial] = to;
      }
    };
    take(race.open(30));
    while (!running.empty()) {
      auto i = running.begin();
      std::advance(i, static_cast<std::ptrdiff_t>(x.draw() % running.size()));
      const auto [trial, rung] = *i;
      running.erase(i);
      x.add(trial, rungs[rung]);
      came[rung].push_back(trial);
      resting[rung].push_back(trial);
      take(race.on_result(trial, rungs[rung], 0));
    }
    EXPECT_TRUE(race.done());
    EXPECT_FALSE(came[2].empty());
  }
}

TEST(AshaOfSeveral, StoppingKeepsTheBestThird) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    drawn_outcomes x{seed};
    asha_stopping race{30, {1, 3}, 3, direction::maximize, 0, &x.known};
    race.open(30);
    std::vector<trial_no> recorded;
    for (trial_no trial = 0; trial < 30; ++trial) {
      const bool is_nan = x.add(trial, 1).is_nan;
      bool goes_on = recorded.empty();
      if (!is_nan) {
        recorded.push_back(trial);
        const auto order = x.order(recorded, 1);
        const auto place = std::find(order.begin(), order.end(), trial);
        goes_on = 3 * (place - order.begin())
                  < static_cast<std::ptrdiff_t>(order.size());
      }
      const auto made = race.on_result(trial, 1, 0);
      EXPECT_EQ(std::holds_alternative<advance>(made.at(0)), goes_on)
        << seed << ' ' << trial;
    }
  }
}

// -- whole studies ------------------------------------------------------------

double number(const trial_parameters& x, const std::string& name) {
  return std::get<double>(x.sequences.at(name).at(0));
}

/// ZDT1 of three variables, which is better after more steps.
metrics zdt1(const trial_parameters& x, step_t at) {
  const auto first = number(x, "x");
  const auto g = 1 + 4.5 * (number(x, "y") + number(x, "z"));
  const auto late = 1 / static_cast<double>(at);
  return {{"acc", -first - late},
          {"ms", g * (1 - std::sqrt(first / g)) + late}};
}

struct event {
  trial_no trial;
  step_t at; ///< 0: it fails
};

/// A tuner with trainers that report in random order.
class several_run {
public:
  explicit several_run(const study_spec& x) : tuner_(x, read_search(x), {}) {
    take(tuner_.start());
  }

  void run(std::uint64_t order, std::uint64_t failure_percent = 0) {
    std::mt19937_64 draw{order};
    while (!running_.empty()) {
      auto i = running_.begin();
      std::advance(i, static_cast<std::ptrdiff_t>(draw() % running_.size()));
      const auto trial = i->first;
      if (draw() % 100 < failure_percent) {
        tell({trial, 0});
        continue;
      }
      auto& heard = heard_[trial];
      heard = tuner_.when().next(heard);
      tell({trial, heard});
    }
    EXPECT_TRUE(tuner_.done());
  }

  void tell(const event& x) {
    events_.push_back(x);
    if (x.at == 0 || x.at == running_.at(x.trial))
      running_.erase(x.trial);
    if (x.at == 0) {
      take(tuner_.on_failure(x.trial));
      return;
    }
    const auto values = zdt1(tuner_.parameters(x.trial), x.at);
    if (x.at == 27)
      ends_.push_back({-values.at("acc"), values.at("ms")});
    take(tuner_.on_result(x.trial, x.at, values));
  }

  [[nodiscard]] double volume() const { return hypervolume(ends_, {1.1, 7}); }
  [[nodiscard]] const std::vector<event>& events() const { return events_; }
  [[nodiscard]] const std::vector<turn>& turns() const { return turns_; }
  [[nodiscard]] const tuner& decisions() const { return tuner_; }
  [[nodiscard]] const std::vector<losses>& ends() const { return ends_; }

private:
  void take(const turn& turn) {
    turns_.push_back(turn);
    for (const auto& [trial, to] : turn.asked)
      running_[trial] = to;
    for (auto trial : turn.pruned)
      running_.erase(trial);
  }

  tuner tuner_;
  std::map<trial_no, step_t> running_, heard_;
  std::vector<event> events_;
  std::vector<turn> turns_;
  std::vector<losses> ends_;
};

class EveryAlgorithmOfSeveral : public testing::TestWithParam<const char*> {};

TEST_P(EveryAlgorithmOfSeveral, DecidesAgainAsItDid) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    auto spec = spec_of(GetParam(), "constraints: ['ms <= 6']\n"
                                    "budget: {trials: 40}");
    spec.seed = seed;
    several_run x{spec};
    x.run(seed, seed % 2);
    several_run again{spec};
    for (const auto& y : x.events())
      again.tell(y);
    EXPECT_EQ(again.turns(), x.turns());
    EXPECT_FALSE(x.ends().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
  Algorithms, EveryAlgorithmOfSeveral,
  testing::Values("random", "tpe", "nsga2", "{nsga2: {population: 5}}", "sha",
                  "asha", "{asha: {mode: stopping}}", "{asha: {sampler: tpe}}",
                  "{asha: {sampler: nsga2, population: 4}}", "hyperband",
                  "{hyperband: {sampler: nsga2}}", "bohb"));

class EveryAlgorithmWithALimit : public testing::TestWithParam<const char*> {};

// Decisions of `freeze-thaw` are not stored.
TEST_P(EveryAlgorithmWithALimit, DecidesAgainAsItDid) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    auto spec = spec_of(GetParam(),
                        "constraints: ['ms <= 4', 'acc >= -0.9']\n"
                        "budget: {trials: 40}",
                        "{metric: acc}");
    spec.seed = seed;
    several_run x{spec};
    x.run(seed, seed);
    several_run again{spec};
    for (const auto& y : x.events())
      again.tell(y);
    EXPECT_EQ(again.turns(), x.turns());
    EXPECT_FALSE(x.ends().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithmWithALimit,
                         testing::Values("gp", "freeze-thaw",
                                         "{asha: {sampler: gp}}", "auto",
                                         "{asha: {sampler: tpe}}",
                                         "{hyperband: {sampler: gp}}"));

/// A list of one metric is that metric.
TEST(ListOfOne, DecidesAsTheMetricDoes) {
  for (const auto* name : {"asha", "tpe", "{hyperband: {sampler: gp}}"}) {
    const auto spec = spec_of(name, "budget: {trials: 30}", "[{metric: acc}]");
    ASSERT_TRUE(spec.objective.all().is_one());
    several_run x{spec};
    several_run y{spec_of(name, "budget: {trials: 30}", "{metric: acc}")};
    x.run(1);
    y.run(1);
    EXPECT_EQ(x.turns(), y.turns());
  }
}

/// Of one metric with a constraint nobody that breaks it goes before one that
/// keeps it.
TEST(ConstraintOnOneMetric, ComesBeforeTheMetric) {
  const auto spec = spec_of("sha", "constraints: [ms <= 4]\n"
                                   "budget: {trials: 27}",
                            "{metric: acc}");
  several_run x{spec};
  x.run(3);
  std::set<trial_no> first, gone;
  for (const auto& y : x.events()) {
    first.insert(y.trial);
    if (y.at == 3)
      gone.insert(y.trial);
  }
  const auto keeps = [&](trial_no trial) {
    return zdt1(x.decisions().parameters(trial), 1).at("ms") <= 4;
  };
  ASSERT_EQ(gone.size(), 9u);
  const auto able = std::count_if(first.begin(), first.end(), keeps);
  ASSERT_GT(able, 0);
  ASSERT_LT(able, 27);
  EXPECT_EQ(std::count_if(gone.begin(), gone.end(), keeps),
            std::min<std::ptrdiff_t>(able, 9));
}

double mean_volume(const std::string& algorithm) {
  double result = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    auto spec = spec_of(algorithm, "budget: {trials: 100}",
                        std::string{both} + "\neval_every: 27");
    spec.seed = seed;
    several_run x{spec};
    x.run(seed);
    EXPECT_EQ(x.ends().size(), 100u);
    result += x.volume() / 5;
  }
  return result;
}

TEST(SamplersOfSeveral, FindMoreThanRandom) {
  const auto random = mean_volume("random");
  EXPECT_GT(mean_volume("{tpe: {max_concurrent: 1}}"), random + .3);
  EXPECT_GT(mean_volume("{nsga2: {max_concurrent: 1}}"), random + .3);
}

TEST(Nsga2, SaysOfWhomATrialIsMade) {
  several_run x{spec_of("{nsga2: {population: 5, max_concurrent: 1}}")};
  x.run(1);
  EXPECT_EQ(x.decisions().choice_of(0)->why.how, "startup");
  const auto how = x.decisions().choice_of(39)->why.how;
  EXPECT_TRUE(how.starts_with("cross of ")) << how;
}

TEST(Nsga2, TriesNothingTwiceWhileOthersAreLeft) {
  several_run x{spec_of("{nsga2: {population: 4, max_concurrent: 1}}", "", both,
                        "{x: {choice: [0.1, 0.5, 0.9]},"
                        " y: {uniform: [0, 1], points: 4},"
                        " z: {choice: [0.2, 0.7]}}")};
  x.run(1);
  std::set<std::string> seen;
  for (trial_no trial = 0; trial < 24; ++trial)
    seen.insert(x.decisions().parameters(trial).shown.dump());
  EXPECT_EQ(seen.size(), 24u);
}

TEST(Nsga2, TakesChoicesBackAfterARestart) {
  const auto spec = spec_of("{nsga2: {population: 5, max_concurrent: 1}}");
  several_run x{spec};
  x.run(1);
  auto other = spec;
  other.seed = 77; // decides otherwise by itself
  tuner restored{other, read_search(other), {}};
  restored.restore(0, *x.decisions().choice_of(39));
  restored.start();
  EXPECT_EQ(restored.parameters(0).shown,
            x.decisions().parameters(39).shown);
}

TEST(Nsga2, DealsWithAlternativesThatOneParentHas) {
  several_run x{spec_of(
    "{nsga2: {population: 4, max_concurrent: 1}}", "budget: {trials: 60}", both,
    "{x: {uniform: [0, 1]}, y: {uniform: [0, 1]}, z: {choice: [0.5,"
    " {exponential: {initial: {uniform: [0, 1]}, gamma: 0.9}}]}}")};
  x.run(2);
  EXPECT_EQ(x.ends().size(), 60u);
}

// -- admission ----------------------------------------------------------------

TEST(SeveralGoals, AreRead) {
  const auto x = spec_of("random",
                         "constraints: ['ms <= 5', \"acc>=-0.5\"]\n"
                         "budget: {trials: 3}",
                         "[{metric: acc, direction: minimize}, {metric: ms}]\n"
                         "eval_every: 3");
  EXPECT_EQ(x.objective.all(),
            (goals{{{"acc", direction::minimize}, {"ms", direction::minimize}},
                   {{"ms", true, 5}, {"acc", false, -.5}}}));
  EXPECT_EQ(x.objective.every, 3u);
}

TEST(SeveralGoals, SayWhatIsWrong) {
  using lines = std::vector<std::string>;
  const auto one = [](const std::string& objective, const std::string& more) {
    return errors_of(
      admit(objective, endless, "random", "budget: {trials: 3}\n" + more));
  };
  EXPECT_EQ(one("[{metric: acc}, {metric: mss}]", ""),
            lines{"s.yaml:3:37: objective[1].metric: unknown metric 'mss', did "
                  "you mean 'ms'? Allowed: acc, ms"});
  EXPECT_EQ(one("[{metric: acc}, {metric: acc}]", ""),
            lines{"s.yaml:3:28: objective[1]: 'acc' is named twice"});
  EXPECT_EQ(one("[]", ""), lines{"s.yaml:3:12: objective: must hold 1 to 4 "
                                 "metrics, found 0"});
  EXPECT_EQ(one(both, "constraints: ms <= 5"),
            lines{"s.yaml:8:14: constraints: must be a list of 1 to 16 "
                  "constraints such as 'ms <= 5', found 'ms <= 5'"});
  EXPECT_EQ(one(both, "constraints: ['ms < 5']"),
            lines{"s.yaml:8:15: constraints[0]: must be a metric, <= or >=, "
                  "and a number, such as 'ms <= 5', found 'ms < 5'"});
  EXPECT_EQ(one(both, "constraints: ['m <= 5']"),
            lines{"s.yaml:8:15: constraints[0]: unknown metric 'm', did you "
                  "mean 'ms'? Allowed: acc, ms"});
  EXPECT_EQ(one(both, "constraints: ['ms <= five']"),
            lines{"s.yaml:8:15: constraints[0]: must be a finite number, found "
                  "'five'"});
}

std::vector<std::string> refusals(const std::string& algorithm,
                                  const std::string& more = "",
                                  const std::string& objective = both) {
  return errors_of(
    admit(objective, plane, algorithm, "budget: {trials: 40}\n" + more));
}

TEST(SeveralGoals, AreRefusedWithWhatWouldDo) {
  using lines = std::vector<std::string>;
  const std::string full = "asha, hyperband or sha, or tpe or nsga2, which "
                           "train each trial in full";
  for (const std::string name : {"dehb", "median"})
    EXPECT_EQ(refusals(name),
              lines{"s.yaml:6:12: algorithm: " + name
                    + " takes one metric, without constraints: use " + full});
  EXPECT_EQ(refusals("gp"), lines{"s.yaml:6:12: algorithm: gp takes one metric:"
                                  " use tpe or nsga2"});
  EXPECT_EQ(refusals("freeze-thaw"), refusals("gp"));
  EXPECT_EQ(refusals("{asha: {sampler: gp}}"),
            lines{"s.yaml:6:29: algorithm.asha.sampler: gp takes one metric: "
                  "use tpe or nsga2"});
  for (const auto* name : {"gp", "freeze-thaw", "{asha: {sampler: gp}}"})
    EXPECT_EQ(refusals(name, "constraints: [ms <= 3]", "{metric: acc}"),
              lines{});
  EXPECT_EQ(refusals("{hyperband: {rule: sub-sampling}}"),
            lines{"s.yaml:6:31: algorithm.hyperband.rule: sub-sampling takes "
                  "one metric, without constraints: use halving"});
  EXPECT_EQ(refusals("boss").size(), 1u);
  EXPECT_EQ(refusals("nsga2", "", "{metric: acc}"),
            lines{"s.yaml:6:12: algorithm: nsga2 is for several metrics, or "
                  "constraints: use tpe or gp for one metric"});
  EXPECT_EQ(refusals("asha", "stop_when: {value: 3}"),
            lines{"s.yaml:8:20: stop_when.value: is for one metric: end a "
                  "study of several by stop_when.no_gain or budget"});
  EXPECT_EQ(refusals("{nsga2: {population: 1}}").size(), 1u);
  EXPECT_EQ(refusals("{nsga2: {startup: 3}}").size(), 1u);
}

TEST(SeveralGoals, AutoChoosesWhatTakesThem) {
  const auto budget = "budget: {trials: 40}";
  const auto halving = spec_of("auto", budget).algorithm;
  EXPECT_EQ(halving.name, "asha");
  EXPECT_EQ(std::get<std::string>(halving.options.at("sampler")), "nsga2");
  EXPECT_EQ(spec_of("auto", budget, std::string{both} + "\neval_every: 27")
              .algorithm.name,
            "tpe");
  // Constraints on one metric: there is no front to spread over.
  const auto limited = [&](const std::string& budget_of) {
    return spec_of("auto", budget_of + "\nconstraints: [ms <= 3]",
                   "{metric: acc}")
      .algorithm;
  };
  EXPECT_EQ(limited(budget).name, "asha");
  EXPECT_EQ(std::get<std::string>(limited(budget).options.at("sampler")), "gp");
  const auto many = limited("budget: {trials: 20000}"); // too many for gp
  EXPECT_EQ(many.name, "asha");
  EXPECT_EQ(std::get<std::string>(many.options.at("sampler")), "tpe");
}

TEST(SeveralGoals, AClientMayDecideByAllThatIsMeasured) {
  for (const auto& [sampler, how] :
       {std::pair<std::string, std::string>{"tpe", "model"},
        {"nsga2", "cross of "}}) {
    auto x =
      tuner_of(spec_of("{client: {interval: 9, sampler: " + sampler + "}}",
                       "budget: {trials: 200}"));
    x.start();
    for (trial_no i = 0; i < 200; ++i) {
      ASSERT_TRUE(x.client_ask({}));
      for (const step_t at : {9, 27}) {
        ASSERT_TRUE(x.client_train(i, at));
        x.on_result(i, at,
                    metrics{{"acc", static_cast<double>(i % 7 + at)},
                            {"ms", static_cast<double>(i % 3)}});
      }
    }
    EXPECT_TRUE(x.done());
    EXPECT_EQ(x.choice_of(199)->why.how.substr(0, how.size()), how);
  }
}

TEST(SeveralGoals, AClientsValueAloneIsRefused) {
  auto x = tuner_of(spec_of("client"));
  x.start();
  ASSERT_TRUE(x.client_ask({}));
  const auto wrong = x.client_end(0, observation{27, 0.5});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.failure().message,
            "one value does not tell what a trial is worth where there are "
            "several metrics or constraints: end it without a value");
  EXPECT_TRUE(x.refusal_of_end(0, true));
  EXPECT_FALSE(x.refusal_of_end(0, false));
  EXPECT_TRUE(x.client_end(0, {}));
}

} // namespace
} // namespace hippo
