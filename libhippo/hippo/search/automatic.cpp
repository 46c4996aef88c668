#include "hippo/search/automatic.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/number.hpp"
#include "hippo/search/algorithm/dehb.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "hippo/search/sampler/gp_sampler.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t eta = 3;

/// So few combinations are trained, each of them.
constexpr std::uint64_t trials_of_grid_max = 9;

/// With no more measurements of a trial there is not much to end early.
constexpr step_t few_measurements = eta;

/// A Gaussian process takes some milliseconds for each trial.
constexpr std::uint64_t gp_trials_max = 10'000;

/// Trials that a study trains in full at least, if it ends with its trials.
constexpr std::uint64_t trained_in_full = 6;

/// A budget of steps is small if it is not enough for more trainings.
constexpr std::uint64_t few_trainings = 30;

/// Combinations that are looked at.
constexpr std::uint64_t looked_at = 64;

/// As many as there will be, if an end is known.
std::uint64_t trials_of(const study_spec& study) {
  const auto& budget = study.budget.trials;
  const auto size = study.space.size();
  if (!size)
    return budget.value_or(gp_trials_max);
  return budget ? std::min(*size, *budget) : *size;
}

/// From which step on what is to be decided makes a difference: found by
/// deciding it in another way, one thing at a time, in some combinations.
class effects {
public:
  explicit effects(const study_spec& study) : steps_(study.max_steps) {
    for (std::uint64_t i = 0; i < looked_at; ++i) {
      std::map<std::string, std::uint64_t> decided;
      const auto draw = search_space::decider_of(study.seed, i);
      const auto trial = segments_of(study, [&](const space_leaf& x) {
        return decided[x.path()] = draw(x);
      });
      // Of a large space some, others in each combination.
      const auto part = decided.size() / leaves_max + 1;
      std::size_t place = 0;
      for (const auto& [path, before] : decided)
        if (++place % part == i % part)
          look_at(study, trial, decided, path, i);
    }
  }

  /// Whether anything does so only after the first tenth of the steps.
  [[nodiscard]] bool are_on_the_way() const {
    return share_at(steps_ / 10 + 1) < 1;
  }

  /// The share of what is decided that makes a difference to state `at`.
  [[nodiscard]] double share_at(step_t at) const {
    const auto there
      = std::ranges::count_if(begins_, [at](step_t x) { return x < at; });
    return begins_.empty() ? 1
                           : static_cast<double>(there)
                               / static_cast<double>(begins_.size());
  }

private:
  static constexpr std::size_t leaves_max = 16;

  static std::vector<segment> segments_of(const study_spec& study,
                                          const leaf_decider& pick) {
    return join(study.space.decide(pick).sequences, study.max_steps);
  }

  void look_at(const study_spec& study, const std::vector<segment>& trial,
               const std::map<std::string, std::uint64_t>& decided,
               const std::string& path, std::uint64_t i) {
    const auto anew = search_space::decider_of(study.seed, looked_at + i);
    const auto other = segments_of(study, [&](const space_leaf& x) {
      const auto known = decided.find(x.path());
      return x.path() == path || known == decided.end() ? anew(x)
                                                        : known->second;
    });
    const auto [x, y] = std::ranges::mismatch(trial, other);
    if (x != trial.end() || y != other.end())
      begins_.push_back(x == trial.end()   ? y->begin
                        : y == other.end() ? x->begin
                                           : std::min(x->begin, y->begin));
  }

  step_t steps_;
  std::vector<step_t> begins_;
};

/// Trials that begin at once, and so with random values, cost no more up to
/// where they are first compared than so many would there on one trainer. It
/// is as many as `gp` and `tpe` wait for.
constexpr std::size_t blind_trials = 10;

/// With fewer trials for each trainer little can be learned of those that begin
/// at once, and a low rung just ends most of them.
constexpr std::size_t learning_trials = 4;

/// Where `asha` may compare trials first, in order: the last step divided by
/// powers of eta, at measurements, so that each rung has eta times the steps of
/// the one before.
std::vector<step_t> possible_rungs(const study_spec& study) {
  const auto every = study.objective.every;
  std::vector<step_t> result;
  for (auto step = study.max_steps; step > every;) {
    step = (step + eta - 1) / eta;
    step = (step + every - 1) / every * every;
    result.insert(result.begin(), step);
  }
  return result;
}

/// Chooses one of `rungs`, of which there is one at least, by its place.
class first_rung {
public:
  explicit first_rung(std::vector<step_t> rungs) : rungs_(std::move(rungs)) {}

  [[nodiscard]] step_t step() const { return rungs_[place_]; }

  /// For a few trainers: the first measurements, which say little, are over,
  /// and two thirds of the drawn values have acted; else the last rung.
  void rise_for_values(const effects& x, step_t every) {
    while (place_ + 1 < rungs_.size()
           && (step() < every * eta || 3 * x.share_at(step()) < 2))
      ++place_;
  }

  /// Rises so far that some of a number of trials are trained in full.
  /// @returns whether they are
  [[nodiscard]] bool rise_for_trials(std::uint64_t trials) {
    for (;;) {
      auto needed = trained_in_full;
      for (auto i = place_; i < rungs_.size() && needed <= trials; ++i)
        needed *= eta;
      if (needed <= trials)
        return true;
      if (place_ + 1 == rungs_.size())
        return false;
      ++place_;
    }
  }

  /// Sinks, so that trials which begin at once cost no more up to it than those
  /// of one trainer.
  void sink_for_trainers(std::uint64_t trials, std::size_t trainers) {
    const auto of_few = step();
    if (trials >= learning_trials * trainers)
      while (place_ > 0 && step() * trainers > of_few * blind_trials)
        --place_;
  }

private:
  std::vector<step_t> rungs_;
  std::size_t place_ = 0;
};

/// Whether a study ends with its trials, not with a time.
bool is_bounded_by_trials(const study_spec& study) {
  const auto& budget = study.budget;
  return (budget.trials || study.space.size()) && !budget.seconds
         && !budget.device_seconds && !budget.cost && !budget.steps;
}

bool has_few_steps(const study_spec& study) {
  return study.budget.steps
         && *study.budget.steps
              <= few_trainings * study.max_steps * study.repeats.seeds;
}

} // namespace

automatic_algorithm choose_algorithm(const study_spec& study,
                                     std::size_t trainers) {
  const auto trials = trials_of(study);
  const auto number = static_cast<double>(eta);
  const bool has_prior = !study.prior.empty(); // which tpe and gp take
  if (trials <= trials_of_grid_max && study.space.size() == trials
      && !has_prior)
    return {{"grid", {}},
            "the space has " + std::to_string(trials)
              + (trials == 1 ? " combination" : " combinations, and each")
              + " is trained"};
  const auto goals = study.objective.all();
  const bool may_be_gp = goals.metrics.size() == 1
                         && study.space.leaves() <= gp_leaves_max
                         && trials <= gp_trials_max;
  const std::string learning = may_be_gp ? "gp" : "tpe";
  if (study.space.has_lengths())
    return {{learning, {}},
            "trials of several lengths are compared where they end"};
  if (study.max_steps / study.objective.every <= few_measurements)
    return {{learning, {}},
            "with " + std::to_string(few_measurements)
              + " measurements or fewer there is little to gain by ending"
                " trials early"};
  const effects some{study};
  first_rung rung{possible_rungs(study)};
  rung.rise_for_values(some, study.objective.every);
  if (some.share_at(rung.step()) <= 0.5)
    return {{learning, {}},
            "half of what is decided, or more, makes a difference only after"
            " step "
              + std::to_string(rung.step())
              + ": how trials begin says little of how they end"};
  if (is_bounded_by_trials(study) && !rung.rise_for_trials(trials))
    return {{learning, {}},
            std::to_string(trials)
              + " trials are few: each is trained to its end"};
  if (may_be_gp && !has_prior && !some.are_on_the_way()
      && trainers < blind_trials && has_few_steps(study))
    return {{"freeze-thaw", {}},
            "the budget is not enough for more than "
              + std::to_string(few_trainings)
              + " whole trials, and a model says which one is worth the next"
                " steps"};
  const auto of_few = rung.step();
  // Where values hold from the first step, a low rung tells no more of them.
  if (some.are_on_the_way())
    rung.sink_for_trainers(trials, trainers);
  const auto first = rung.step();
  const bool is_priced = may_be_gp && first < of_few;
  algorithm_spec halving{
    "asha",
    {{"eta", number},
     {"min", static_cast<double>(first)},
     {"sampler", goals.metrics.size() > 1 && !has_prior ? "nsga2" : learning}}};
  if (may_be_gp)
    halving.options["prefer_shared"] = is_priced ? "price" : "ties";
  const auto of_many
    = first < of_few
        ? "; with " + std::to_string(trainers)
            + " trainers, which begin as many before anything is known of"
              " them, they are compared from step "
            + std::to_string(first) + " on"
        : std::string{};
  if (!goals.is_one() && !may_be_gp)
    return {halving, "of the algorithms that end trials early it takes several"
                     " metrics and constraints"
                       + of_many};
  if (some.are_on_the_way())
    return {halving, "trials can have their beginnings in common, and "
                       + (is_priced ? "gp weighs what is to be gained against"
                                      " what is left to train"
                                    : "of equally good values " + learning
                                        + " takes those with the least to"
                                          " train")
                       + of_many};
  if (may_be_gp)
    return {halving, "bad values show before the end, and gp learns from every"
                     " trial which ones are worth training"
                       + of_many};
  if (has_prior)
    return {halving, "tpe takes what is believed of the values" + of_many};
  const auto rungs
    = rung_steps(study.objective.every, study.max_steps, eta).size();
  if (trials < dehb_brackets(rungs, eta)[0].sizes[0])
    return {halving, std::to_string(trials)
                       + " trials are too few for a bracket of dehb" + of_many};
  return {{"dehb", {{"eta", number}, {"min", static_cast<double>(of_few)}}},
          "the space is too large, or the trials are too many, for gp; values"
          " hold from the first step, and bad ones show early"};
}

std::string to_json_text(const algorithm_spec& spec) {
  json options = json::object();
  for (const auto& option : spec.options)
    std::visit([&](const auto& y) { options[option.first] = y; },
               option.second);
  return json{{spec.name, std::move(options)}}.dump();
}

expected<algorithm_spec> algorithm_from_json(const std::string& text) {
  const error wrong{errc::malformed_message,
                    "'" + text + "' is no algorithm as it is stored"};
  const auto read = json::parse(text, nullptr, false);
  if (!read.is_object() || read.size() != 1 || !read.front().is_object())
    return wrong;
  algorithm_spec result;
  result.name = read.begin().key();
  for (const auto& [name, value] : read.front().items()) {
    if (value.is_number())
      result.options[name] = value.get<double>();
    else if (value.is_string())
      result.options[name] = value.get<std::string>();
    else
      return wrong;
  }
  return result;
}

} // namespace hippo
