#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hippo/service/merge/placement.hpp"
#include "hippo/service/merge/preemption.hpp"
#include "merge/leases.hpp"

namespace hippo::test {

/// All that decisions about leases are made from, moved by hand. A step takes a
/// second unless the estimates have learned otherwise.
struct world {
  explicit world(std::uint32_t lanes = 1, policy chosen = policy::critical_path,
                 std::vector<std::string> speed_names = {})
    : estimates(std::move(speed_names)),
      chooser(plan, estimates, chosen),
      leases(lease_id{1}),
      lanes_of_trainers(lanes) {}

  search_plan plan;
  time_estimates estimates;
  scheduler chooser;
  lease_table leases;
  std::uint32_t lanes_of_trainers;
  share_ledger ledger{moment{}};
  retry_policy retries{3};
  device_kinds kinds{plan};
  settings_table settings;
  usage_totals totals;
  double now = 0; ///< seconds
  double next_rate = 0; ///< tells the trials apart

  [[nodiscard]] merge_view view() const {
    return {plan,   estimates, chooser, leases,
            ledger, retries,   kinds,   settings};
  }

  /// A study that measures at its last state, `end`.
  study_no add_study(step_t end, double weight = 1,
                     const settings_table::settings& run_by = {}) {
    ledger.add_study(weight);
    settings.add(run_by);
    return plan.add_study({end, {end}});
  }

  /// A trial that shares nothing with others, asked for up to state `to`.
  /// @returns its node
  node_id add_trial(study_no study, step_t to, double width = 1) {
    const auto trial = plan.add_trial(
      study, {{0,
               {{"lr", form::constant(++next_rate)},
                {"width", form::constant(width)}}}});
    plan.ask(trial, to);
    follow();
    return plan.leaf_of(trial);
  }

  /// Follows the plan after it has changed.
  void follow() {
    chooser.update(plan.take_changed());
    for (auto i : id_range(study_no{}, plan.studies()))
      ledger.set_waiting(i, chooser.is_runnable(i));
  }

  /// Takes in a trainer that trains as many leases at once as all do here.
  void join(trainer_id trainer) { leases.add(trainer, lanes_of_trainers); }

  void advance(double seconds) {
    now += seconds;
    ledger.advance(at_second(now));
  }

  /// The path that begins on a node.
  [[nodiscard]] path path_on(node_id node) const {
    auto result = chooser.choose(
      [&](const path& x) { return x.stages.front().node == node; });
    assert(result);
    return *result;
  }

  /// Leases the path that begins on a node.
  lease_id begin(trainer_id trainer, std::uint32_t lane, node_id node) {
    const auto what = path_on(node);
    const auto& first = what.stages.front();
    auto x = lease_of(leases.next_id(), trainer, lane, what.stages,
                      estimates.speed_key(plan.config_of(node), first.begin));
    x.work.start = what.start;
    x.work.stops = {{what.stages.back().end, true, true}};
    x.progress.granted = at_second(now);
    x.progress.reported = at_second(now);
    ledger.begin(x.id(), trainer, chooser.waiting_for(first, first.begin));
    plan.begin_lease(x.work);
    const auto id = x.id();
    leases.begin(std::move(x));
    follow();
    return id;
  }

  /// Ends a lease; what it has not reached is waited for again.
  void end(lease_id lease_number) {
    const auto ended = leases.end(lease_number);
    leases.set_free(ended.trainer);
    ledger.end(lease_number);
    plan.end_lease(lease_number);
    follow();
  }
};

} // namespace hippo::test
