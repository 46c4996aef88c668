#include "hippo/forecast/preview/preview.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/plan/overview.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/plan/stage_label.hpp"
#include "hippo/report/run_figures.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/space/repeats_reader.hpp"

namespace hippo {

namespace {

/// Runs of each algorithm on made-up results.
constexpr std::uint64_t estimate_runs = 16;

/// The trials of one study: what they are and how far they go.
struct study_trials {
  std::vector<std::vector<segment>> segments;
  std::vector<step_t> asked; ///< how far each is to be trained
  std::vector<step_t> ends;  ///< and how far it gets
  bool forks = false;
};

/// What a trial of random quality measures: each goal has a quality of its own,
/// from 0 to 1, and constraints on other metrics are kept.
metrics drawn_values(const goals& wanted, std::uint64_t run,
                     std::uint64_t seed, trial_no trial) {
  metrics result;
  for (const auto& x : wanted.constraints)
    result.emplace(x.metric, x.limit);
  for (std::size_t i = 0; i < wanted.metrics.size(); ++i) {
    const std::uint64_t key[]{run, seed, trial, i};
    const auto hash = hash_bytes(key, sizeof(key) - (i == 0 ? sizeof(i) : 0));
    result[wanted.metrics[i].metric]
      = static_cast<double>(hash >> 11) * 0x1p-53;
  }
  return result;
}

/// Lets a study decide on trials of random quality.
/// @param events what may be looked at yet, which is counted down
/// @returns nothing if it would take more, or was told to stop
std::optional<study_trials> likely_trials(const accepted_study& study,
                                          const trial_defaults& defaults,
                                          std::uint64_t run,
                                          std::uint64_t& events,
                                          const std::function<bool()>& stops) {
  const auto& spec = study.spec();
  tuner decisions{spec, study.search(), defaults};
  if (decisions.trials() > events)
    return std::nullopt;
  events -= decisions.trials();
  const auto when = decisions.when();
  study_trials result;
  std::vector<bool> pruned;
  std::vector<advance> todo;
  const auto take = [&](const turn& x) {
    result.asked.resize(decisions.trials());
    result.ends.resize(decisions.trials());
    pruned.resize(decisions.trials());
    for (auto trial : x.pruned)
      pruned[trial] = true;
    for (const auto& [trial, to] : x.asked)
      result.asked[trial] = std::max(result.asked[trial], to);
    todo.insert(todo.end(), x.asked.begin(), x.asked.end());
  };
  take(decisions.start());
  // First asked, first trained, as on a service with few trainers.
  for (std::size_t i = 0; i < todo.size() && !decisions.spent(); ++i) {
    const auto [trial, to] = todo[i];
    const auto values
      = drawn_values(spec.objective.all(), run, spec.seed, trial);
    for (auto at = when.next(result.ends[trial]);
         at != 0 && at <= to && !pruned[trial] && !decisions.spent();
         at = when.next(at)) {
      if (events-- == 0 || stops())
        return std::nullopt;
      result.ends[trial] = at;
      take(decisions.on_result(trial, at, values));
    }
  }
  const bool is_spent = decisions.spent().has_value();
  study_trials kept;
  for (trial_no trial = 0; trial < result.ends.size(); ++trial) {
    if (stops())
      return std::nullopt;
    if (is_spent && result.ends[trial] == 0)
      continue; // it was never begun
    kept.segments.push_back(decisions.segments(trial));
    kept.asked.push_back(result.asked[trial]);
    kept.ends.push_back(result.ends[trial]);
    kept.forks = kept.forks || decisions.origin(trial) != nullptr;
  }
  return kept;
}

struct merged_work {
  std::vector<step_figures> studies;
  step_figures all;
  planned_tree tree; ///< if it is wanted
};

void set_rate(step_figures& x) {
  x.merge_rate
    = rates_of(x.delivered_steps, x.unique_steps, x.unique_steps).merge_rate;
}

/// Says how many steps are new, if it is known how many are not.
step_figures with_new_steps(step_figures x) {
  if (x.known_steps)
    x.new_steps = x.unique_steps - *x.known_steps;
  return x;
}

void restore(search_plan& plan, const stored_plan& known) {
  for (const auto& x : known.nodes)
    plan.restore_node(x.id, x.parent, x.begin, x.config, x.strand);
  for (const auto& x : known.results)
    plan.restore_result(x.node, x.step, x.values);
}

/// Returns the values on the way to a node, and to the state it is left at.
std::vector<segment> way_to(const search_plan& plan, node_id id) {
  std::vector<segment> result;
  for (plan_node room; id != root_node; id = plan.peek(id, room).parent)
    result.push_back({plan.peek(id, room).begin, plan.config_of(id)});
  std::reverse(result.begin(), result.end());
  return result;
}

/// Adds the trials of other studies, of which it is known how far they get.
/// @returns their study
study_no add_others(search_plan& plan, const std::vector<stored_end>& ends) {
  const auto study = plan.add_study({1, {1}});
  for (const auto& x : ends) {
    if (x.node == root_node || !plan.has_node(x.node))
      continue;
    const auto way = way_to(plan, x.node);
    const auto strand = plan.node(x.node).strand;
    for (std::uint64_t i = 0; i < x.trials; ++i)
      plan.cover(plan.add_trial(study, way, strand), x.step);
  }
  return study;
}

/// Adds the stages of a plan, each with what changes in it: of too many first
/// those that the studies pass.
/// @param others the study that stands for all others, if it is there
void add_stages(const search_plan& plan, std::optional<study_no> others,
                std::size_t most, merged_work& to) {
  const auto all = overview(plan);
  auto& tree = to.tree;
  const auto first = tree.all_nodes;
  tree.all_nodes += all.size();
  const auto of_others = [&](const overview_stage& x) {
    return others && x.studies.back() == *others ? x.trials_of.back() : 0;
  };
  std::vector<bool> shown(all.size());
  auto room_left = most - std::min(most, tree.id.size());
  for (const bool is_new : {true, false})
    for (const auto& x : all)
      if (room_left > 0 && (x.trials > of_others(x)) == is_new) {
        shown[x.id - 1] = true;
        --room_left;
      }
  configuration seen; // each hyper-parameter as it was met first
  std::set<std::string> varied;
  for (const auto& x : all)
    for (const auto& [name, value] : plan.config_of(x.node))
      if (seen.try_emplace(name, value).first->second != value)
        varied.insert(name);
  plan_node room;
  // How far nodes are trained: whoever got to a child has passed its parent.
  by_id<node_id, step_t> known{plan.size()};
  for (auto left = plan.size(); left-- > 1;) {
    const node_id id{left};
    const auto& x = plan.peek(id, room);
    known[id] = std::max(known[id], x.restored_to);
    if (known[id] > 0)
      known[x.parent] = std::max(known[x.parent], x.begin);
  }
  for (const auto& x : all) {
    if (!shown[x.id - 1])
      continue;
    configuration before;
    if (x.parent != 0)
      before = plan.config_of(all[x.parent - 1].node);
    tree.id.push_back(first + x.id);
    tree.parent.push_back(x.parent == 0 ? 0 : first + x.parent);
    tree.begin.push_back(x.begin);
    tree.end.push_back(x.end);
    tree.known_to.push_back(std::clamp(known[x.node], x.begin, x.end));
    tree.others.push_back(of_others(x));
    tree.trials.push_back(x.trials - of_others(x));
    tree.label.push_back(stage_label(
      plan.config_of(x.node), x.parent == 0 ? nullptr : &before, varied));
  }
}

/// Merges the trials of all studies, and with what is known; some of them once
/// it is told to stop.
merged_work merge(const std::vector<accepted_study>& studies,
              const std::vector<study_trials>& trials,
              const std::map<std::string, stored_plan>* known,
              const std::function<bool()>& stops,
              std::size_t stages_max = 0,
              const std::map<std::string, std::vector<stored_end>>* others
              = nullptr) {
  std::map<std::string, search_plan> plans; // by workload key
  for (const auto& x : studies) {
    const auto key = key_of(x.spec().workload);
    const bool is_new = plans.try_emplace(key).second;
    if (known == nullptr || !is_new)
      continue;
    if (const auto i = known->find(key); i != known->end())
      restore(plans.at(key), i->second);
  }
  std::vector<std::pair<search_plan*, study_no>> where;
  for (std::size_t i = 0; i < studies.size(); ++i) {
    auto& plan = plans[key_of(studies[i].spec().workload)];
    const auto no
      = plan.add_study({1, {std::max<step_t>(studies[i].spec().max_steps, 1)}});
    where.emplace_back(&plan, no);
    const bool shares = may_share(studies[i].spec().workload);
    const auto repeats = repeats_of(studies[i].spec());
    const auto seeds = repeats.spec.seeds;
    for (std::size_t j = 0; j < trials[i].segments.size() && !stops(); ++j)
      for (std::uint32_t k = 0; k < seeds; ++k) {
        const auto strand =
          shares ? 0 : (i + 1) * strands_per_study + j * seeds + k;
        const auto run = plan.add_trial(
          no, with_seed(trials[i].segments[j], repeats, k), strand);
        plan.recall(run, trials[i].ends[j]);
        plan.cover(run, trials[i].asked[j]);
      }
  }
  merged_work result;
  std::uint64_t sum_of_studies = 0;
  const auto add = [](step_figures& to, const merge_figures& x) {
    to.asked_steps += x.asked_steps;
    to.delivered_steps += x.delivered_steps;
    to.unique_steps += x.unique_delivered_steps;
  };
  for (const auto& [plan, no] : where) {
    auto& x = result.studies.emplace_back();
    add(x, plan->figures(no));
    sum_of_studies += x.unique_steps;
    set_rate(x);
  }
  for (auto& [key, plan] : plans) {
    add(result.all, plan.figures());
    if (known != nullptr)
      result.all.known_steps
        = result.all.known_steps.value_or(0) + plan.restored_steps();
    if (stages_max == 0)
      continue;
    std::optional<study_no> of_others; // after all figures: it is in none
    if (const auto i = others ? others->find(key) : decltype(others->end()){};
        others && i != others->end())
      of_others = add_others(plan, i->second);
    add_stages(plan, of_others, stages_max, result);
  }
  result.all.k_wise_merge_rate
    = rates_of(result.all.delivered_steps, result.all.unique_steps,
               sum_of_studies)
        .k_wise_merge_rate;
  set_rate(result.all);
  return result;
}

/// The mean of several outcomes.
class mean_outcome {
public:
  void add(const merged_work& x) {
    sum_.studies.resize(x.studies.size());
    for (std::size_t i = 0; i < x.studies.size(); ++i)
      add(sum_.studies[i], x.studies[i]);
    add(sum_.all, x.all);
    rates_ += x.all.k_wise_merge_rate;
    ++count_;
  }

  [[nodiscard]] merged_work get() const {
    auto result = sum_;
    for (auto* x : all_of(result)) {
      x->asked_steps = (x->asked_steps + count_ / 2) / count_;
      x->delivered_steps = (x->delivered_steps + count_ / 2) / count_;
      x->unique_steps = (x->unique_steps + count_ / 2) / count_;
      if (x->known_steps)
        x->known_steps = (*x->known_steps + count_ / 2) / count_;
      set_rate(*x);
      x->k_wise_merge_rate = 1;
    }
    result.all.k_wise_merge_rate = rates_ / static_cast<double>(count_);
    return result;
  }

  static std::vector<step_figures*> all_of(merged_work& x) {
    std::vector<step_figures*> result{&x.all};
    for (auto& y : x.studies)
      result.push_back(&y);
    return result;
  }

private:
  static void add(step_figures& sum, const step_figures& x) {
    sum.asked_steps += x.asked_steps;
    sum.delivered_steps += x.delivered_steps;
    sum.unique_steps += x.unique_steps;
    if (x.known_steps)
      sum.known_steps = sum.known_steps.value_or(0) + *x.known_steps;
  }

  merged_work sum_;
  double rates_ = 0;
  std::uint64_t count_ = 0;
};

} // namespace

expected<preview_view> preview(const std::vector<accepted_study>& studies,
                       const std::vector<workload_descriptor>& workloads,
                       const std::map<std::string, stored_plan>* known,
                       std::size_t stages_max,
                       const std::map<std::string, std::vector<stored_end>>*
                         others,
                       const std::function<bool()>& stops) {
  const error too_much{errc::resource_exhausted,
                       "too much to preview: more than "
                         + std::to_string(preview_events_max)
                         + " trials and measurements"};
  const auto none = [&] {
    return stops() ? error{errc::cancelled, "nobody waits for this preview"}
                   : too_much;
  };
  auto events = preview_events_max;
  const auto likely_run = [&](const accepted_study& x, std::uint64_t run) {
    const auto workload
      = std::find_if(workloads.begin(), workloads.end(), [&](const auto& y) {
          return y.name == x.spec().workload.name;
        });
    return likely_trials(x, trial_defaults{*workload}, run, events, stops);
  };
  std::vector<study_trials> full;
  std::vector<bool> early;
  for (const auto& x : studies) {
    auto trials = likely_run(x, 0);
    if (!trials)
      return none();
    auto& [segments, asked, ends, forks]
      = full.emplace_back(std::move(*trials));
    // A fork has no end of its own: its parent ended where it began. Trials of
    // several lengths all get to their own, and those of a budget of steps as
    // far as it lasts.
    const auto last = *std::max_element(ends.begin(), ends.end());
    early.push_back(!forks && !x.spec().space.has_lengths()
                    && !x.spec().budget.steps
                    && *std::min_element(ends.begin(), ends.end()) < last);
    if (early.back())
      std::fill(ends.begin(), ends.end(), last);
    asked = ends;
  }
  auto whole = merge(studies, full, known, stops, stages_max, others);
  const bool stops_early
    = std::find(early.begin(), early.end(), true) != early.end();
  mean_outcome likely;
  for (std::uint64_t run = 0; stops_early && run < estimate_runs; ++run) {
    events = preview_events_max;
    std::vector<study_trials> trials;
    for (std::size_t i = 0; i < studies.size(); ++i) {
      auto x = early[i] ? likely_run(studies[i], run) : full[i];
      if (!x)
        return none();
      trials.push_back(std::move(*x));
    }
    likely.add(merge(studies, trials, known, stops));
  }
  if (stops())
    return none();
  preview_view result;
  result.full = with_new_steps(whole.all);
  if (!whole.tree.id.empty())
    result.tree = std::move(whole.tree);
  merged_work estimate;
  if (stops_early) {
    estimate = likely.get();
    result.estimate = with_new_steps(estimate.all);
  }
  for (std::size_t i = 0; i < studies.size(); ++i) {
    study_preview y;
    y.name = studies[i].spec().name;
    y.trials = full[i].ends.size();
    y.full = whole.studies[i];
    if (early[i])
      y.estimate = estimate.studies[i];
    result.trials += y.trials;
    result.studies.push_back(std::move(y));
  }
  return result;
}

} // namespace hippo
