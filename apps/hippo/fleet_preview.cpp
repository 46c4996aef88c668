#include "fleet_preview.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/text.hpp"
#include "hippo/forecast/preview/first_rung.hpp"
#include "hippo/forecast/preview/fleet_text.hpp"
#include "hippo/report/text.hpp"
#include "hippo/space/trial_defaults.hpp"
#include "outcome.hpp"
#include "studies.hpp"

namespace hippo {

namespace {

/// Simulates studies on numbers of machines.
class fleet_simulation {
public:
  /// @param kinds of the fleet, in its order, one machine of each
  fleet_simulation(simulation what, std::vector<simulated_machines> kinds)
    : what_(std::move(what)), kinds_(std::move(kinds)) {}

  expected<fleet_run> run(const std::vector<machine_group>& machines,
                          std::uint64_t seed) {
    what_.machines.clear();
    double start = 0;
    for (const auto& group : machines) {
      auto& x = what_.machines.emplace_back(kinds_[group.kind]);
      x.machines = group.machines;
      start = std::max(start, x.kind.start_seconds);
    }
    what_.seed = seed;
    std::vector<machine_life> lives;
    const auto record = simulate(what_, &lives);
    if (!record)
      return record.failure();
    fleet_run result;
    result.seconds = start + record->wall_seconds;
    result.cost = total_cost(costs_of(lives));
    double busy = 0, lost = 0;
    for (const auto& x : lives) {
      busy += x.busy_seconds + x.lost_seconds;
      lost += x.lost_seconds;
    }
    result.lost_share = busy > 0 ? lost / busy : 0;
    result.least_seconds = record->lower_bound_seconds;
    result.work_seconds = record->train_seconds + record->evaluate_seconds;
    return result;
  }

private:
  simulation what_;
  std::vector<simulated_machines> kinds_;
};

/// Says on a terminal what goes on, in one line.
class progress_line {
public:
  void show(const std::string& text) {
    if (!is_terminal_)
      return;
    constexpr std::size_t columns = 78;
    std::cerr << '\r' << pad_right(text.substr(0, columns), columns)
              << std::flush;
    shown_ = true;
  }

  void clear() {
    if (shown_)
      std::cerr << "\r\x1b[K" << std::flush;
  }

private:
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

std::string limits_text(const fleet_limits& x) {
  std::string result;
  if (x.deadline_seconds)
    result += "take at most " + duration_text(*x.deadline_seconds);
  if (x.budget)
    result += (result.empty() ? "" : " and ")
              + ("cost at most " + significant(*x.budget, 6));
  return result;
}

/// The study whose trials need the most ranks.
const accepted_study& widest(const std::vector<accepted_study>& studies) {
  return *std::ranges::max_element(
    studies, {}, [](const auto& x) { return ranks_of(x.spec().workload); });
}

/// Returns the kinds of machines with enough trainers for the ranks of a trial,
/// each rank on one; says on stderr which have too few.
/// @returns none, after saying so as an error, if all have too few
std::vector<std::size_t> kinds_for(const accepted_study& study,
                                   const known_machines& machines) {
  const auto ranks = ranks_of(study.spec().workload);
  std::vector<std::size_t> result;
  std::vector<diagnostic> notes;
  std::string all;
  for (std::size_t i = 0; i < machines.all.kinds.size(); ++i) {
    const auto& kind = machines.all.kinds[i];
    const auto trainers = std::uint64_t{kind.count} * kind.trainers;
    if (trainers >= ranks) {
      result.push_back(i);
      continue;
    }
    all +=
      (all.empty() ? "" : ", ") + std::to_string(trainers) + " of " + kind.name;
    notes.push_back({machines.file, 0, 0, "machines." + kind.name,
                     "is left out: it has " + counted(trainers, "trainer")
                       + ", and trials of study '" + study.spec().name
                       + "' have " + counted(ranks, "rank")});
  }
  if (result.empty())
    notes = {{machines.file, 0, 0, "machines",
              "study '" + study.spec().name + "' needs " + std::to_string(ranks)
                + " trainers of one kind at once (trials of "
                + counted(ranks, "rank") + "); there are " + all
                + ": raise 'count' or 'trainers' of one"}};
  print(notes, result.empty() ? "error" : "warning");
  return result;
}

/// Warns of studies whose budgets of cost do not cover their first rungs,
/// wherever they are trained.
void note_costs(const std::vector<accepted_study>& studies,
                const std::vector<simulated_machines>& kinds) {
  std::vector<diagnostic> notes;
  for (const auto& study : studies) {
    // Of the kind on which a step costs the least.
    const simulation_profile* profile = nullptr;
    double least = 0, seconds = 0, price = 0;
    // A trainer for each rank.
    const auto trainers = ranks_of(study.spec().workload);
    for (const auto& x : kinds)
      for (const auto& y : x.profiles) {
        if (y.workload.name != study.spec().workload.name)
          continue;
        const auto takes =
          y.step_time(trial_defaults{y.workload}
                        .complete({}, study.spec().max_steps)[0]
                        .config,
                      0);
        const auto trial_price = x.kind.trainer_price() * trainers;
        const auto cost = takes * trial_price;
        if (profile != nullptr && cost >= least)
          continue;
        profile = &y;
        least = cost;
        seconds = takes;
        price = trial_price;
      }
    if (profile == nullptr)
      continue;
    if (auto x = note_of_cost(study, profile->workload, seconds, price))
      notes.push_back(std::move(*x));
  }
  print(notes, "warning");
}

} // namespace

int preview_fleet(simulation what, const known_machines& machines,
                  const fleet_question& question) {
  const auto& wide = widest(what.studies);
  const auto together = ranks_of(wide.spec().workload);
  const auto kinds = kinds_for(wide, machines);
  if (kinds.empty())
    return exit_bad_input;
  std::vector<machine_group> one_of_each;
  for (std::size_t i = 0; i < machines.all.kinds.size(); ++i)
    one_of_each.push_back({i, 1});
  auto found = find_machines(
    machines, one_of_each, what.studies,
    {what.profiles, what.catalogue.workloads, question.measured});
  if (!found)
    return exit_bad_input;
  note_costs(what.studies, *found);
  std::vector<kind_source> sources;
  for (std::size_t i = 0; i < found->size(); ++i)
    sources.push_back({i, (*found)[i].source});
  fleet_simulation simulated{std::move(what), std::move(*found)};
  progress_line progress;
  const auto choice = choose_machines(
    machines.all, kinds, question.limits,
    [&](const std::vector<machine_group>& groups, std::uint64_t seed) {
      return simulated.run(groups, seed);
    },
    [&](const std::string& text) { progress.show("simulating " + text); },
    together);
  progress.clear();
  if (!choice)
    return fail(choice.failure(), exit_failed);
  std::cout << (question.as_json
                  ? fleet_json(machines.all, *choice, question.limits, sources)
                  : fleet_text(machines.all, *choice, question.limits,
                               sources));
  const bool has_limits
    = question.limits.deadline_seconds || question.limits.budget;
  if (has_limits && !choice->chosen)
    return fail({errc::invalid_argument,
                 "no machines of " + machines.file + " "
                   + limits_text(question.limits)
                   + ": the table has what comes nearest"},
                exit_failed);
  return exit_done;
}

} // namespace hippo
