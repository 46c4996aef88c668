#include "preview.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "hippo/core/hash.hpp"
#include "hippo/core/ratio.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/tune/algorithm.hpp"

namespace hippo {

namespace {

/// Runs of each algorithm on made-up results.
constexpr std::uint64_t estimate_runs = 16;

/// How far each trial of one study goes.
using reach = std::vector<step_t>;

/// The segments of each trial of one study.
using study_segments = std::vector<std::vector<segment>>;

reach full_reach(const algorithm& x) {
  return reach(x.trials(), x.rungs().back());
}

/// Lets the algorithm decide on trials of random quality.
reach likely_reach(const study_spec& spec, std::uint64_t run) {
  const auto tuner = make_algorithm(spec);
  const auto rungs = tuner->rungs();
  reach result(tuner->trials(), 0);
  std::vector<action> todo = tuner->start();
  // First asked, first trained, as on a service with few trainers.
  for (std::size_t i = 0; i < todo.size(); ++i) {
    if (!std::holds_alternative<advance>(todo[i]))
      continue;
    const auto [trial, to] = std::get<advance>(todo[i]);
    const std::uint64_t key[]{run, spec.seed, trial};
    const auto quality
      = static_cast<double>(hash_bytes(key, sizeof(key)) >> 11) * 0x1p-53;
    for (auto at : rungs) {
      if (at <= result[trial] || at > to)
        continue;
      result[trial] = at;
      const auto more = tuner->on_result(trial, at, quality);
      todo.insert(todo.end(), more.begin(), more.end());
    }
  }
  return result;
}

struct outcome {
  std::vector<step_figures> studies;
  step_figures all;
};

/// Merges trials that go as far as `reaches` says.
outcome merge(const std::vector<loaded_study>& studies,
              const std::vector<study_segments>& segments,
              const std::vector<reach>& reaches) {
  std::map<std::string, search_plan> plans; // by workload key
  std::vector<std::pair<search_plan*, study_no>> where;
  for (std::size_t i = 0; i < studies.size(); ++i) {
    auto& plan = plans[key_of(studies[i].spec.workload)];
    const auto no
      = plan.add_study({1, {std::max<step_t>(studies[i].spec.max_steps, 1)}});
    where.emplace_back(&plan, no);
    for (std::size_t trial = 0; trial < segments[i].size(); ++trial)
      plan.cover(plan.add_trial(no, segments[i][trial]), reaches[i][trial]);
  }
  outcome result;
  std::uint64_t sum_of_studies = 0;
  for (const auto& [plan, no] : where) {
    const auto x = plan->figures(no);
    sum_of_studies += x.unique_steps;
    result.studies.push_back({x.asked_steps, x.unique_steps, 1, 1});
  }
  for (const auto& [key, plan] : plans) {
    result.all.asked_steps += plan.figures().asked_steps;
    result.all.unique_steps += plan.figures().unique_steps;
  }
  result.all.k_wise_merge_rate = ratio(sum_of_studies, result.all.unique_steps);
  return result;
}

void set_rate(step_figures& x) {
  x.merge_rate = ratio(x.asked_steps, x.unique_steps);
}

/// The mean of several outcomes.
class mean_outcome {
public:
  void add(const outcome& x) {
    sum_.studies.resize(x.studies.size());
    for (std::size_t i = 0; i < x.studies.size(); ++i)
      add(sum_.studies[i], x.studies[i]);
    add(sum_.all, x.all);
    rates_ += x.all.k_wise_merge_rate;
    ++count_;
  }

  [[nodiscard]] outcome get() const {
    auto result = sum_;
    for (auto* x : all_of(result)) {
      x->asked_steps = (x->asked_steps + count_ / 2) / count_;
      x->unique_steps = (x->unique_steps + count_ / 2) / count_;
      set_rate(*x);
      x->k_wise_merge_rate = 1;
    }
    result.all.k_wise_merge_rate = rates_ / static_cast<double>(count_);
    return result;
  }

  static std::vector<step_figures*> all_of(outcome& x) {
    std::vector<step_figures*> result{&x.all};
    for (auto& y : x.studies)
      result.push_back(&y);
    return result;
  }

private:
  static void add(step_figures& sum, const step_figures& x) {
    sum.asked_steps += x.asked_steps;
    sum.unique_steps += x.unique_steps;
  }

  outcome sum_;
  double rates_ = 0;
  std::uint64_t count_ = 0;
};

} // namespace

preview_record preview(const std::vector<loaded_study>& studies,
                       const workload_catalogue& catalogue) {
  std::vector<study_segments> segments;
  std::vector<reach> full;
  bool stops_early = false;
  std::vector<bool> early;
  for (const auto& x : studies) {
    const auto tuner = make_algorithm(x.spec);
    const auto defaults = defaults_of(catalogue.at(x.spec.workload.name));
    const sampler values{x.spec};
    auto& trials = segments.emplace_back();
    for (trial_no no = 0; no < tuner->trials(); ++no) {
      auto sequences = values.parameters(no).sequences;
      sequences.insert(defaults.begin(), defaults.end());
      trials.push_back(join(sequences, x.spec.max_steps));
    }
    full.push_back(full_reach(*tuner));
    early.push_back(tuner->rungs().size() > 1);
    stops_early = stops_early || early.back();
  }
  auto whole = merge(studies, segments, full);
  for (auto* x : mean_outcome::all_of(whole))
    set_rate(*x);
  mean_outcome likely;
  for (std::uint64_t run = 0; stops_early && run < estimate_runs; ++run) {
    std::vector<reach> reaches;
    for (std::size_t i = 0; i < studies.size(); ++i)
      reaches.push_back(early[i] ? likely_reach(studies[i].spec, run)
                                 : full[i]);
    likely.add(merge(studies, segments, reaches));
  }
  preview_record result;
  result.full = whole.all;
  outcome estimate;
  if (stops_early) {
    estimate = likely.get();
    result.estimate = estimate.all;
  }
  for (std::size_t i = 0; i < studies.size(); ++i) {
    study_preview y;
    y.name = studies[i].spec.name;
    y.trials = segments[i].size();
    y.full = whole.studies[i];
    if (early[i])
      y.estimate = estimate.studies[i];
    result.trials += y.trials;
    result.studies.push_back(std::move(y));
  }
  return result;
}

} // namespace hippo
