#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/service/merge/placement.hpp"

// Choices of paths for several trainers: pure functions of the state of a
// merger.

namespace hippo {

/// The least speed of several members, of that of as many paths with one each.
inline constexpr double efficiency_min = 0.7;

/// A path that several trainers may train together.
struct gang_candidate {
  /// Seconds until all that waits for it is trained, by one trainer at a time.
  double left = 0;
  double own = 0;       ///< seconds of the path itself, by one trainer
  unsigned members = 1; ///< that it has
  /// Other members must save so many seconds, or are not worth it.
  double least_gain = 0;
  /// How many times as fast as one so many members are.
  std::function<double(unsigned)> speedup;
};

/// Divides idle trainers among paths. The one that would take longest with the
/// members that it has by then has twice as many next, as far as all is done
/// sooner by that, and for little more device time: for each second that is
/// saved, a fifth of the idle trainers', or 1 s. Where all is done sooner still
/// if each path begins with one, by the greatest `least_gain` of those that
/// change, members of some paths go to others.
/// @param most members of a path, a power of two
/// @param idle trainers; UINT64_MAX: as many as anybody wants
/// @param floor when all else is done, in seconds
/// @returns the members of each
/// @complexity O(n log n log most), some times over where paths gain too little
std::vector<unsigned> choose_members(const std::vector<gang_candidate>& all,
                                     unsigned most, std::uint64_t idle,
                                     double floor = 0);

/// Counts gangs that were lost: something of a path, or a trainer that others
/// cannot reach, must not cost time without an end.
class gang_losses {
public:
  /// A node over which so many gangs were lost is trained by one trainer alone
  /// from then on, and a trainer that was to blame for so many in a row trains
  /// alone.
  static constexpr unsigned losses_max = 3;

  /// A gang was lost in a node. @param culprit if it is known
  void note_lost(node_id node, std::optional<trainer_id> culprit,
                 const std::string& why);
  /// A gang with that trainer has ended well.
  void note_ended(trainer_id trainer) { trainers_.erase(trainer); }
  /// A trainer is gone.
  void forget(trainer_id trainer) { trainers_.erase(trainer); }

  [[nodiscard]] bool may_join(trainer_id trainer) const;
  [[nodiscard]] bool may_share(const std::vector<stage>& stages) const;
  /// Returns why a trainer was to blame last; empty: it was not.
  [[nodiscard]] std::string reason(trainer_id trainer) const;

private:
  struct blame {
    unsigned gangs = 0; ///< in a row
    std::string why;    ///< of the last
  };

  std::map<node_id, unsigned> nodes_;
  std::map<trainer_id, blame> trainers_;
};

/// Returns the rank of the member that an error of a gang names by its address;
/// nothing: it names none.
std::optional<std::size_t> named_member(const gang_place& gang,
                                        const std::string& message);

/// Returns the secret of the gang of a lead's lease.
/// @param key known to the service alone
std::string gang_secret(const std::string& key, lease_id lead);

/// Whether trainers may train a path together: none was lost over it, with or
/// without others.
bool may_share(const merge_view& view, const gang_losses& lost,
               const std::vector<stage>& stages);

/// Whether a trainer that is here can be a member, whatever the path.
bool may_join(const merge_view& view, const gang_losses& lost,
              trainer_id trainer);

/// Whether an idle trainer may help others to train a path.
/// @param by the settings with which it is trained
/// @param seconds that one trainer would take for it
bool may_help(const merge_view& view, trainer_id trainer,
              const std::vector<stage>& stages,
              const settings_table::settings& by, double seconds);

/// Returns by how many times a stage is faster with a number of members than
/// with one, in training and in measuring.
/// @param kind of device; outlives the result, as `view.estimates` does
std::function<double(unsigned)> speedup_of(const merge_view& view,
                                           const std::string* kind,
                                           const std::string& key);

/// The leases of a kind of device whose paths could have more members.
struct gang_group {
  std::vector<lease_id> leases;           ///< in the order of their numbers
  std::vector<gang_candidate> candidates; ///< likewise
};

/// Returns the leases that could have more members, by the kinds of their
/// trainers.
/// @param least_gain of each, as of `gang_candidate`
std::map<std::string, gang_group>
gang_groups(const merge_view& view, const gang_losses& lost, double least_gain);

} // namespace hippo
