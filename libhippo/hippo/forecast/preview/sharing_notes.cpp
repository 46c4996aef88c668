#include "hippo/forecast/preview/sharing_notes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "hippo/plan/search_plan.hpp"
#include "hippo/report/run_figures.hpp"
#include "hippo/report/text.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/sampler/pbt_explore.hpp"
#include "hippo/search/sampler/static_order.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/space/trial_defaults.hpp"

namespace hippo {

namespace {

constexpr auto page = "docs/sharing.md";

/// Points that a continuous range is tried with.
constexpr std::uint64_t points_tried = 4;

using sequences = std::map<std::string, sequence>;

std::uint64_t state_at(const std::vector<segment>& x, step_t at) {
  return states_at(x, {at}).front();
}

/// The first trials of a study, by their values.
class sample {
public:
  sample(const study_spec& study, const workload_descriptor& workload,
         bool is_shuffled, std::uint64_t count)
    : study_(study), defaults_(workload),
      order_(study.space, study.seed, is_shuffled), count_(count) {
    for (trial_no i = 0; i < count_; ++i)
      add(study.space.decide(order_(i)).sequences);
  }

  [[nodiscard]] std::uint64_t size() const { return trials_.size(); }

  /// How many different states the first `count` of them are at a state.
  [[nodiscard]] std::uint64_t distinct(step_t at, std::uint64_t count) const {
    std::set<std::uint64_t> states;
    for (std::uint64_t i = 0; i < std::min(count, size()); ++i)
      states.insert(state_at(segments_[i], at));
    return states.size();
  }

  /// The first states at which any two may differ that did not before.
  [[nodiscard]] std::set<step_t> branches() const {
    std::set<step_t> result;
    for (const auto& x : segments_)
      for (const auto& y : x)
        result.insert(y.begin + 1);
    return result;
  }

  /// Names of the hyper-parameters that differ at step 0.
  [[nodiscard]] std::vector<std::string> first_differences() const {
    std::vector<std::string> result;
    std::map<std::string, std::set<std::string>> values;
    for (const auto& x : segments_)
      for (const auto& [name, value] : x.front().config)
        values[name].insert(to_text(value));
    for (const auto& [name, known] : values)
      if (known.size() > 1)
        result.push_back(name);
    return result;
  }

  /// p of the trials, those that are the same counted once, if each continuous
  /// range had points.
  [[nodiscard]] double rate_with_points() const {
    std::vector<sequences> trials;
    for (trial_no i = 0; i < count_; ++i) {
      const auto pick = order_(i);
      trials.push_back(
        study_.space
          .decide([&](const space_leaf& leaf) {
            const auto decision = pick(leaf);
            if (leaf.is_choice() || leaf.ways() > 0)
              return decision;
            constexpr auto gap = space_leaf::high_end / (points_tried - 1);
            return std::min((decision + gap / 2) / gap * gap,
                            space_leaf::high_end);
          })
          .sequences);
    }
    return rate(trials);
  }

  /// The same if all began as the first one, up to state `at`.
  [[nodiscard]] double rate_with_beginning(step_t at) const {
    auto trials = trials_;
    for (auto& x : trials)
      for (auto& [name, values] : x)
        if (const auto i = trials_.front().find(name);
            i != trials_.front().end())
          values = spliced(i->second, values, at);
    return rate(trials);
  }

private:
  [[nodiscard]] std::vector<segment> joined(sequences x) const {
    return defaults_.complete(std::move(x), study_.max_steps);
  }

  void add(sequences x) {
    segments_.push_back(joined(x));
    trials_.push_back(std::move(x));
  }

  [[nodiscard]] double rate(const std::vector<sequences>& trials) const {
    search_plan plan;
    const auto no = plan.add_study({1, {study_.max_steps}});
    std::set<std::uint64_t> known;
    for (const auto& x : trials) {
      const auto segments = joined(x);
      if (known.insert(state_at(segments, study_.max_steps)).second)
        plan.cover(plan.add_trial(no, segments), study_.max_steps);
    }
    const auto x = plan.figures();
    return rates_of(x.asked_steps, x.unique_steps, x.unique_steps).merge_rate;
  }

  const study_spec& study_;
  trial_defaults defaults_;
  static_order order_;
  std::uint64_t count_;
  std::vector<sequences> trials_;
  std::vector<std::vector<segment>> segments_;
};

/// How many trials of a study are looked at, of so many.
std::uint64_t looked_at(const trial_cost& each, std::uint64_t trials) {
  const auto forms = each.pieces * std::max<std::uint64_t>(
                                     each.hyper_parameters, 1);
  return std::min({trials, noted_trials_max,
                   noted_forms_max / std::max<std::uint64_t>(forms, 1)});
}

/// Of a rung at which half of the trials or more are no state of their own.
std::string rung_note(const sample& trials, first_comparison rung, step_t max) {
  const auto count = std::min(rung.trials, trials.size());
  const auto states = trials.distinct(rung.at, count);
  if (states * 2 > count)
    return {};
  auto result = "at step " + std::to_string(rung.at)
                + ", the first rung, these " + counted(count, "trial") + " are "
                + (states == 1 ? "one and the same state"
                               : std::to_string(states) + " different states")
                + ": no result tells apart those that are one. ";
  for (auto at : trials.branches())
    if (at > rung.at && at < max)
      if (const auto more = trials.distinct(at, count); more * 2 > count)
        return result + "With `min: " + std::to_string(at) + "` they are "
               + std::to_string(more) + ": see " + page + "#early-stopping";
  return result + "No rung would tell half of them apart: see " + page
         + "#early-stopping";
}

/// @param names of the hyper-parameters that differ at step 0
std::string sharing_note(const sample& trials, step_t max,
                         const std::vector<std::string>& names) {
  const auto half = max / 2;
  if (trials.size() < 2 || half == 0
      || trials.distinct(1, trials.size()) < trials.size())
    return {};
  std::string from_start;
  for (const auto& x : names)
    from_start += (from_start.empty() ? "" : ", ") + x;
  auto result = "no two trials share a step (p = 1.00), since they differ from "
                "step 0 on in "
                + from_start + ". ";
  result += "If all had the same values up to step " + std::to_string(half)
            + ", and their own after it, p would be "
            + fixed(trials.rate_with_beginning(half), 2);
  if (const auto p = trials.rate_with_points(); p > 1.005)
    result += "; with `points: " + std::to_string(points_tried)
              + "` for each continuous range " + fixed(p, 2);
  return result + ": see " + page;
}

} // namespace

std::vector<diagnostic> sharing_notes(const accepted_study& study,
                                      const workload_descriptor& workload) {
  const auto& spec = study.spec();
  const auto& search = study.search();
  std::vector<diagnostic> result;
  // Rates of trials of one length are what they speak of.
  if (search.algorithm->by_clients || spec.space.empty()
      || spec.space.has_lengths() || !may_share(spec.workload))
    return result;
  const auto count = looked_at(study.cost(), search.options->trials);
  if (count < std::min(search.options->trials, noted_trials_min))
    return result;
  const sample trials{spec, workload, search.sampling->is_shuffled(), count};
  const auto rung = search.options->compares();
  const auto add = [&](const std::string& path, const std::string& text) {
    if (!text.empty())
      result.push_back(locate(spec, path, text));
  };
  if (rung.trials > 1 && study.chosen().empty()) // who chose it knew
    add("algorithm." + spec.algorithm.name + ".min",
        rung_note(trials, rung, spec.max_steps));
  const auto names = trials.first_differences();
  if (!names.empty())
    add("space." + names.front(), sharing_note(trials, spec.max_steps, names));
  return result;
}

} // namespace hippo
