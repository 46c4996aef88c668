#include "hippo/forecast/preview/fleet_choice.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <utility>

namespace hippo {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Algorithms that stop trials early train somewhat less on other machines,
/// since results come in another order.
constexpr double bound_slack = 0.9;

/// One simulation says that much too little, or too much, at the most.
constexpr double first_look_slack = 1.1;

double hours(double seconds) { return seconds / 3600; }

/// How much there is to do on the trainers of a kind.
struct kind_work {
  double least_seconds = 0;
  double work_seconds = 0;
};

class chooser {
public:
  chooser(const fleet& machines, const std::vector<std::size_t>& kinds,
          const fleet_limits& limits, const fleet_simulator& simulate,
          const std::function<void(const std::string&)>& progress,
          unsigned together)
    : machines_(machines), kinds_(kinds), limits_(limits), simulate_(simulate),
      progress_(progress), together_(together) {}

  expected<fleet_choice> choose() {
    if (auto why = look_at_kinds())
      return *why;
    for (const auto kind : kinds_)
      for (unsigned n = least_of(kind); n < count_of(kind); n *= 2)
        propose({{kind, n}});
    if (auto why = simulate_proposed())
      return *why;
    propose_neighbours();
    if (auto why = simulate_proposed())
      return *why;
    propose_pairs();
    if (auto why = simulate_proposed())
      return *why;
    if (auto why = look_at_the_nearest())
      return *why;
    decide();
    return std::move(result_);
  }

private:
  using failure = std::optional<error>;

  [[nodiscard]] unsigned count_of(std::size_t kind) const {
    return machines_.kinds[kind].count;
  }

  /// The machines of a kind that have as many trainers as must be there.
  [[nodiscard]] unsigned least_of(std::size_t kind) const {
    const auto trainers = machines_.kinds[kind].trainers;
    return (together_ + trainers - 1) / trainers;
  }

  [[nodiscard]] fleet_candidate& at(std::size_t i) {
    return result_.candidates[i];
  }

  // -- simulating -------------------------------------------------------------

  /// Simulates every kind with all of its machines.
  failure look_at_kinds() {
    for (const auto kind : kinds_) {
      const auto i = add({{kind, count_of(kind)}});
      auto run = simulate_once(i);
      if (!run)
        return run.failure();
      work_[kind] = {run->least_seconds, run->work_seconds};
      bound(at(i));
    }
    // What these showed is looked at with the others.
    for (std::size_t i = 0; i < result_.candidates.size(); ++i)
      proposed_.push_back(i);
    return {};
  }

  std::size_t add(std::vector<machine_group> groups) {
    fleet_candidate x;
    x.trainers = trainers_on(machines_, groups);
    x.machines = std::move(groups);
    result_.candidates.push_back(std::move(x));
    runs_.emplace_back();
    return result_.candidates.size() - 1;
  }

  void propose(std::vector<machine_group> groups) {
    for (const auto& x : result_.candidates)
      if (x.machines == groups)
        return;
    const auto i = add(std::move(groups));
    bound(at(i));
    proposed_.push_back(i);
  }

  /// Works out what machines take at best.
  void bound(fleet_candidate& x) const {
    double rate = 0, path = infinity, cost = infinity, start = 0, starts = 0;
    for (const auto& group : x.machines) {
      const auto& kind = machines_.kinds[group.kind];
      const auto& work = work_.at(group.kind);
      rate += group.machines * kind.trainers
              / std::max(work.work_seconds, 1e-9);
      path = std::min(path, work.least_seconds);
      cost = std::min(cost, hours(work.work_seconds) * kind.trainer_price());
      start = std::max(start, kind.start_seconds);
      starts += hours(kind.start_seconds) * kind.price * group.machines;
    }
    x.seconds_bound = bound_slack * std::max(path, 1 / rate) + start;
    x.cost_bound = bound_slack * cost + starts;
  }

  expected<fleet_run> simulate_once(std::size_t i) {
    auto& runs = runs_[i];
    if (progress_)
      progress_(to_text(machines_, at(i).machines) + ", simulation "
                + std::to_string(runs.size() + 1));
    auto run = simulate_(at(i).machines, runs.size());
    if (!run)
      return run;
    runs.push_back(*run);
    auto& x = at(i);
    x.simulations = static_cast<unsigned>(runs.size());
    x.seconds = spread_of(runs, &fleet_run::seconds);
    x.cost = spread_of(runs, &fleet_run::cost);
    x.lost_share = spread_of(runs, &fleet_run::lost_share).mean;
    return run;
  }

  static fleet_spread spread_of(const std::vector<fleet_run>& xs,
                                double fleet_run::*what) {
    fleet_spread result{0, infinity, -infinity};
    for (const auto& x : xs) {
      result.mean += x.*what / static_cast<double>(xs.size());
      result.low = std::min(result.low, x.*what);
      result.high = std::max(result.high, x.*what);
    }
    return result;
  }

  /// Simulates what was proposed as far as it may be of use.
  failure simulate_proposed() {
    // The cheap ones first, since they beat most of the others.
    std::ranges::sort(proposed_, {}, [this](std::size_t i) {
      return std::pair{at(i).cost_bound, at(i).seconds_bound};
    });
    for (const auto i : proposed_) {
      auto& x = at(i);
      x.fate = fate_of(x);
      if (x.fate == candidate_fate::simulated && x.simulations == 0)
        if (auto run = simulate_once(i); !run)
          return run.failure();
    }
    for (const auto i : std::exchange(proposed_, {})) {
      if (at(i).fate != candidate_fate::simulated)
        continue;
      if (is_beaten_clearly(i)) {
        at(i).fate = candidate_fate::beaten;
        continue;
      }
      if (auto why = simulate_fully(i))
        return why;
    }
    return {};
  }

  failure simulate_fully(std::size_t i) {
    at(i).fate = candidate_fate::simulated;
    while (at(i).simulations < fleet_seeds)
      if (auto run = simulate_once(i); !run)
        return run.failure();
    return {};
  }

  /// By what is known before a simulation.
  [[nodiscard]] candidate_fate fate_of(const fleet_candidate& x) const {
    if (limits_.deadline_seconds
        && x.seconds_bound * fleet_reserve > *limits_.deadline_seconds)
      return candidate_fate::late;
    if (limits_.budget && x.cost_bound * fleet_reserve > *limits_.budget)
      return candidate_fate::dear;
    for (const auto& y : result_.candidates)
      if (&y != &x && y.simulations > 0 && y.seconds.mean <= x.seconds_bound
          && y.cost.mean <= x.cost_bound)
        return candidate_fate::beaten;
    return candidate_fate::simulated;
  }

  /// Whether others are sooner and cheaper, by more than a first look is off.
  [[nodiscard]] bool is_beaten_clearly(std::size_t i) const {
    const auto& x = result_.candidates[i];
    return std::ranges::any_of(result_.candidates, [&](const auto& y) {
      return y.simulations > 0
             && y.seconds.mean * first_look_slack < x.seconds.mean
             && y.cost.mean * first_look_slack < x.cost.mean;
    });
  }

  // -- what is thought of further ---------------------------------------------

  using measure = fleet_spread fleet_candidate::*;

  /// Returns the least by `what` of those that were simulated with every seed
  /// and for which `fits` is true.
  template <class F>
  [[nodiscard]] std::optional<std::size_t> least(measure what,
                                                 const F& fits) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < result_.candidates.size(); ++i) {
      const auto& x = result_.candidates[i];
      if (x.fate == candidate_fate::simulated && x.simulations >= fleet_seeds
          && fits(x)
          && (!best
              || (x.*what).mean < (result_.candidates[*best].*what).mean))
        best = i;
    }
    return best;
  }

  [[nodiscard]] std::optional<std::size_t> cheapest() const {
    return least(&fleet_candidate::cost, [this](const auto& x) {
      return meets_deadline(x, limits_);
    });
  }

  [[nodiscard]] std::optional<std::size_t> soonest() const {
    return least(&fleet_candidate::seconds, [this](const auto& x) {
      return meets_budget(x, limits_);
    });
  }

  void propose_neighbours() {
    for (const auto& best : {cheapest(), soonest()}) {
      if (!best)
        continue;
      const auto group = at(*best).machines[0];
      for (const auto n : {group.machines * 3 / 4, group.machines * 5 / 4,
                           group.machines * 3 / 2})
        if (n >= least_of(group.kind) && n <= count_of(group.kind))
          propose({{group.kind, n}});
    }
  }

  /// Pairs of the kind of the best and the best other kind.
  void propose_pairs() {
    propose_pairs_of(cheapest(), &fleet_candidate::cost);
    propose_pairs_of(soonest(), &fleet_candidate::seconds);
  }

  void propose_pairs_of(std::optional<std::size_t> best, measure what) {
    if (!best || at(*best).machines.size() > 1)
      return;
    const auto first = at(*best).machines[0];
    const auto other = least(what, [&](const fleet_candidate& x) {
      return x.machines.size() == 1 && x.machines[0].kind != first.kind;
    });
    if (!other)
      return;
    const auto second = at(*other).machines[0];
    for (const auto n : {first.machines, (first.machines + 1) / 2})
      for (const auto m : {second.machines, (second.machines + 1) / 2}) {
        if (n < least_of(first.kind) && m < least_of(second.kind))
          continue;
        std::vector<machine_group> pair{{first.kind, n}, {second.kind, m}};
        std::ranges::sort(pair, {}, &machine_group::kind);
        propose(std::move(pair));
      }
  }

  // -- deciding ---------------------------------------------------------------

  /// Where nothing keeps to a limit, those that were left out for it may come
  /// nearest.
  failure look_at_the_nearest() {
    if (!cheapest())
      if (auto why = simulate_best_of(&fleet_candidate::seconds_bound,
                                      &fleet_candidate::seconds))
        return why;
    if (!soonest())
      return simulate_best_of(&fleet_candidate::cost_bound,
                              &fleet_candidate::cost);
    return {};
  }

  failure simulate_best_of(double fleet_candidate::*bound, measure what) {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < result_.candidates.size(); ++i)
      if (at(i).fate == candidate_fate::late
          || at(i).fate == candidate_fate::dear)
        left.push_back(i);
    std::ranges::sort(left, {}, [&](std::size_t i) { return at(i).*bound; });
    for (const auto i : left) {
      const auto best
        = least(what, [](const fleet_candidate&) { return true; });
      if (best && (at(*best).*what).mean <= at(i).*bound)
        break;
      if (auto why = simulate_fully(i))
        return why;
    }
    return {};
  }

  void decide() {
    result_.cheapest = cheapest();
    result_.soonest = soonest();
    const auto fits = [this](const fleet_candidate& x) {
      return meets_deadline(x, limits_) && meets_budget(x, limits_);
    };
    if (limits_.deadline_seconds)
      result_.chosen = least(&fleet_candidate::cost, fits);
    else if (limits_.budget)
      result_.chosen = result_.soonest;
    if (!result_.chosen && (limits_.deadline_seconds || limits_.budget)) {
      const auto any = [](const fleet_candidate&) { return true; };
      // With both limits each side is that of the other one, if it can be kept.
      result_.nearest_in_time = result_.soonest
                                  ? result_.soonest
                                  : least(&fleet_candidate::seconds, any);
      result_.nearest_in_cost = result_.cheapest
                                  ? result_.cheapest
                                  : least(&fleet_candidate::cost, any);
    }
    for (std::size_t i = 0; i < result_.candidates.size(); ++i)
      if (is_on_front(i))
        result_.front.push_back(i);
    std::ranges::sort(result_.front, {}, [this](std::size_t i) {
      return std::pair{at(i).cost.mean, at(i).seconds.mean};
    });
  }

  [[nodiscard]] bool is_on_front(std::size_t i) const {
    const auto& all = result_.candidates;
    const auto is_whole = [](const fleet_candidate& x) {
      return x.fate == candidate_fate::simulated
             && x.simulations >= fleet_seeds;
    };
    if (!is_whole(all[i]))
      return false;
    for (std::size_t j = 0; j < all.size(); ++j) {
      const auto& x = all[i];
      const auto& y = all[j];
      if (j == i || !is_whole(y) || y.seconds.mean > x.seconds.mean
          || y.cost.mean > x.cost.mean)
        continue;
      // Of equal ones the first counts.
      if (y.seconds.mean < x.seconds.mean || y.cost.mean < x.cost.mean || j < i)
        return false;
    }
    return true;
  }

  const fleet& machines_;
  const std::vector<std::size_t>& kinds_;
  const fleet_limits& limits_;
  const fleet_simulator& simulate_;
  const std::function<void(const std::string&)>& progress_;
  const unsigned together_;
  std::map<std::size_t, kind_work> work_; ///< by kind
  std::vector<std::vector<fleet_run>> runs_; ///< of the candidates
  std::vector<std::size_t> proposed_;
  fleet_choice result_;
};

} // namespace

const char* to_string(candidate_fate fate) noexcept {
  switch (fate) {
    case candidate_fate::simulated: return "simulated";
    case candidate_fate::late: return "late";
    case candidate_fate::dear: return "dear";
    case candidate_fate::beaten: return "beaten";
  }
  return "invalid_fate";
}

bool meets_deadline(const fleet_candidate& candidate,
                    const fleet_limits& limits) {
  return !limits.deadline_seconds
         || candidate.seconds.high * fleet_reserve <= *limits.deadline_seconds;
}

bool meets_budget(const fleet_candidate& candidate,
                  const fleet_limits& limits) {
  return !limits.budget
         || candidate.cost.high * fleet_reserve <= *limits.budget;
}

expected<fleet_choice>
choose_machines(const fleet& machines, const std::vector<std::size_t>& kinds,
                const fleet_limits& limits, const fleet_simulator& simulate,
                const std::function<void(const std::string&)>& progress,
                unsigned together) {
  assert(!kinds.empty() && together > 0);
  return chooser{machines, kinds, limits, simulate, progress, together}
    .choose();
}

} // namespace hippo
