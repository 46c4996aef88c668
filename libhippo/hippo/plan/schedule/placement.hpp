#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/ids.hpp"

namespace hippo {

// The placement of mergers on kinds of devices, where a pool has several: pure
// functions. The order by shares alone is the matter of `fair_shares`.

/// How a free trainer finds the merger that it goes to.
enum class placement_rule : std::uint8_t {
  /// To the one that gains most by its kind, of those whose share is near that
  /// of the one that has had the least (compare Gavel, OSDI 2020).
  advantage,
  /// Large search spaces go to strong kinds, by what is known before anything
  /// is measured (SHADHO: Kinnison et al., WACV 2018).
  complexity,
  /// To the one that has had the least for its weight, whatever it is.
  fair,
};

/// The rule of a word, e.g. `advantage`; nothing: there is none.
std::optional<placement_rule> placement_rule_from(const std::string& word);
std::string to_word(placement_rule rule);

// -- advantage ----------------------------------------------------------------

/// How fast something trains on each kind of device, in any unit; 0: it cannot
/// train there, e.g. for want of memory. A kind that is not in it is not known.
using kind_speeds = std::map<std::string, double>;

/// Returns the speed on a kind in units of the mean over the known ones of
/// `kinds`; 1 where `kind` is not known, or nothing else than 0 is: no reason
/// to prefer it, nor to avoid it.
double advantage(const kind_speeds& speeds, const std::string& kind,
                 const std::set<std::string>& kinds);

/// Whoever gains less than this factor more by a kind than the one whose turn
/// it is leaves it its turn: what is measured is not exact.
inline constexpr double advantage_gain_min = 1.1;

/// The one that gains most goes first as long as that leaves nobody behind by
/// more than so many quanta for each trainer that is due to it: by less than
/// 2 % of what is due in an hour.
inline constexpr double quanta_behind_in_pool_max = 2;

/// How long steps were measured to take.
struct measured_steps {
  std::string kind;      ///< of device
  std::string speed_key; ///< what else decides it
  double seconds = 0;    ///< of a step
  double steps = 0;      ///< that were measured
};

/// Returns the relative speeds of the kinds that were measured.
///
/// A step's time is taken to be a factor of its kind times one of its key: the
/// two are fitted to the logarithms, by least squares, so that kinds can be
/// compared though they have trained different things. Between kinds that no
/// chain of common keys connects nothing is known: they count as equal.
/// @param xs in any order, no kind and key twice
/// @complexity O(xs log xs)
kind_speeds compare_speeds(std::vector<measured_steps> xs);

/// Whether two of them differ by so much that it should be told.
bool differ(const kind_speeds& left, const kind_speeds& right);

/// Trainers that help a merger to train paths that others of its trainers have.
/// Any demand for trainers that would train a path of their own goes first.
struct helper_demand {
  std::uint64_t trainers = 0;     ///< more of them that it could use
  std::set<std::string> kinds{};  ///< of their devices
  std::set<trainer_id> helping{}; ///< of those that it holds; given up at once
  friend bool operator==(const helper_demand&, const helper_demand&) = default;
};

/// The facts that decide where the work of a merger is best done.
struct placement_facts {
  kind_speeds speeds{};
  /// Of the largest search space of its studies (`complexity_of`).
  double complexity = 1;
};

// -- complexity ---------------------------------------------------------------

/// Returns the places of `xs` in order, the least first; equal ones in the
/// order in which they came.
std::vector<std::size_t> in_order(const std::vector<double>& xs);

/// Returns the products of the ranks by complexity and by uncertainty, both
/// from 1 for the least; equal ones have one rank. (The reference counts from
/// 0, so that the first comes to nothing.) REQUIRES: both are as long.
std::vector<double> products_of_ranks(
  const std::vector<double>& complexities,
  const std::vector<double>& uncertainties);

/// Assigns search spaces to kinds of device, both in order, so that the largest
/// are on the strongest: of the more numerous, item i of n goes to the other's
/// place i / x, where x is n by their number, rounded down; and to the next one
/// as well if i / x lies in the first half of it, else to the one before, or to
/// the only one of the two that there is. A space whose kinds are no neighbours
/// gets one of the last.
/// @returns for each space its kinds: two neighbours at least, where there are
///          two
/// REQUIRES: neither is 0.
std::vector<std::set<std::size_t>> assign_in_order(std::size_t spaces,
                                                   std::size_t kinds);

} // namespace hippo
