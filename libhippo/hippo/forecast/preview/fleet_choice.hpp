#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/forecast/machines/machines.hpp"

namespace hippo {

/// Time and cost of studies on some machines, in one simulation.
struct fleet_run {
  double seconds = 0; ///< from asking for the machines to the last result
  double cost = 0;    ///< of all machines, idling included
  /// Of the time in which trainers were at work, that of which nothing was kept
  /// since their machine was taken away; 0 to 1.
  double lost_share = 0;
  /// No number of these machines takes less: the longest path of the stage
  /// tree, or all of its training and measuring divided by the trainers.
  double least_seconds = 0;
  double work_seconds = 0; ///< training and measuring, added up over trainers
};

/// Simulates studies on machines. Runs of equal seeds are equal.
using fleet_simulator = std::function<expected<fleet_run>(
  const std::vector<machine_group>& machines, std::uint64_t seed)>;

/// Limits of time and cost.
struct fleet_limits {
  std::optional<double> deadline_seconds;
  std::optional<double> budget; ///< in the currency of the prices
};

/// A mean over simulations, the least and the most.
struct fleet_spread {
  double mean = 0;
  double low = 0;
  double high = 0;
};

/// The fate of a candidate.
enum class candidate_fate : std::uint8_t {
  simulated, ///< with every seed
  late,      ///< at best they miss the deadline: not simulated
  dear,      ///< at best they cost more than the budget: not simulated
  beaten,    ///< others are sooner and cheaper: not simulated with every seed
};
const char* to_string(candidate_fate fate) noexcept;

/// Some machines, and what studies would take on them.
struct fleet_candidate {
  std::vector<machine_group> machines;
  std::size_t trainers = 0; ///< on them
  double seconds_bound = 0; ///< about what they take at best
  double cost_bound = 0;
  candidate_fate fate = candidate_fate::simulated;
  unsigned simulations = 0; ///< the rest means nothing without one
  fleet_spread seconds;
  fleet_spread cost;
  double lost_share = 0; ///< mean
};

/// Which machines to take. Indices are those of `candidates`.
struct fleet_choice {
  std::vector<fleet_candidate> candidates;
  /// Of the simulated ones those for which no other is sooner and cheaper, the
  /// cheapest first.
  std::vector<std::size_t> front;
  /// The cheapest by the deadline; without one, of all. Nothing: none is.
  std::optional<std::size_t> cheapest;
  /// The soonest within the budget; without one, of all. Nothing: none is.
  std::optional<std::size_t> soonest;
  /// The cheapest of those that keep to all limits; without a deadline, the
  /// soonest. Nothing: none does, or there are no limits.
  std::optional<std::size_t> chosen;
  /// Where no candidate keeps to all limits: the one that comes nearest to the
  /// deadline, and the one that comes nearest to the budget.
  std::optional<std::size_t> nearest_in_time;
  std::optional<std::size_t> nearest_in_cost;
};

/// How many simulations a candidate has.
inline constexpr std::uint64_t fleet_seeds = 5;

/// The far end of what was simulated, and so much more, must keep to a limit.
inline constexpr double fleet_reserve = 1.02;

/// Whether a candidate that was simulated keeps to the limits.
bool meets_deadline(const fleet_candidate& candidate,
                    const fleet_limits& limits);
bool meets_budget(const fleet_candidate& candidate, const fleet_limits& limits);

/// Chooses among numbers of machines of each kind: 1, 2, 4 and so on up to all
/// of them, then the neighbours of the best, then pairs of the best two kinds.
///
/// Every kind is simulated once with all of its machines, which says how much
/// there is to do there and how long its longest path is. What this bounds too
/// far from a limit, or beyond what another one takes, is not simulated; what
/// one simulation shows to be beaten clearly has no further ones.
/// @param kinds of the fleet, those that are thought of; not empty
/// @param progress is told in words what goes on; may be empty
/// @param together how many trainers of one kind must be there, for the ranks
///        of a trial: machines without so many are not thought of
/// REQUIRES: each of the kinds has so many
/// @returns the choice, or the failure of a simulation
expected<fleet_choice>
choose_machines(const fleet& machines, const std::vector<std::size_t>& kinds,
                const fleet_limits& limits, const fleet_simulator& simulate,
                const std::function<void(const std::string&)>& progress = {},
                unsigned together = 1);

} // namespace hippo
