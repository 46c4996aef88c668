#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace hippo {

/// Shares devices among parties by weight, by the time for which they have
/// them.
///
/// Each party has a *virtual time*: the device seconds that it has had, divided
/// by its weight. Whoever waits with the least is next (stride scheduling,
/// Waldspurger 1995; start-time fair queueing, Goyal et al. 1996). Devices that
/// are held count while they are, and each stands for a quantum to come, so
/// that many that are free at once are shared by weight too. A turn cannot be
/// saved up: see `set_waiting` and `pass_turns`.
///
/// Holds no clock: `advance` says how time goes on. All operations are
/// O(parties) or O(1).
class fair_shares {
public:
  /// Numbered from 0 as they are added.
  using party = std::size_t;

  /// Two parties may be apart by about this much device time for each device
  /// before one has to make room: long beside what that costs, and short beside
  /// the hour in which shares are to be within 5 %.
  static constexpr double quantum_seconds = 30;

  /// The same for the first device of a party that is new: a newcomer does not
  /// wait a quantum for a first turn.
  static constexpr double first_quantum_seconds = 3;

  /// REQUIRES: `weight > 0`, here as below
  party add(double weight);

  /// Forgets a party. Those that were added after it are numbered one less.
  /// REQUIRES: it holds nothing.
  void remove(party peer);

  /// From now on; what was had before counts as it did.
  void set_weight(party peer, double weight);

  /// Whether the party could use a device more than it holds. Who neither
  /// waited nor held any has had no use for its turns until now: it goes on
  /// from the virtual time of the one that has had the least of all that do,
  /// as one that has just come.
  void set_waiting(party peer, bool waiting);

  /// Lets a party have so many devices more, or fewer. A device that several
  /// have in common is held by each in part.
  void hold(party peer, double devices);

  /// Lets so much device time count as had, which nobody had: for what a party
  /// has cost the others. REQUIRES: `seconds >= 0`
  void charge(party peer, double seconds);

  /// Notes that a free device is given to one that waits. Who does not had no
  /// use for it, and its turns up to that of `next` are over.
  void pass_turns();

  /// Time goes on.
  void advance(double seconds);

  /// Returns the party whose turn it is, or nothing if none waits.
  [[nodiscard]] std::optional<party> next() const;

  /// Returns the device seconds by which `peer` is behind `other`, less than 0
  /// if it is ahead. What both hold counts for a quantum more.
  [[nodiscard]] double lag(party peer, party other) const;

  /// Whether the party holds nothing, and has since it began to take part.
  [[nodiscard]] bool is_new(party peer) const {
    return parties_[peer].is_new && parties_[peer].devices <= 0;
  }
  /// Device seconds by which a new party need be less far behind others.
  [[nodiscard]] double head_start(party peer) const {
    return is_new(peer) ? quantum_seconds - first_quantum_seconds : 0;
  }

  [[nodiscard]] bool waits(party peer) const { return parties_[peer].waiting; }
  [[nodiscard]] double weight(party peer) const {
    return parties_[peer].weight;
  }
  /// Device seconds that the party has had.
  [[nodiscard]] double seconds(party peer) const {
    return parties_[peer].seconds;
  }
  [[nodiscard]] double devices(party peer) const {
    return parties_[peer].devices;
  }
  [[nodiscard]] std::size_t size() const noexcept { return parties_.size(); }

private:
  struct entry {
    double weight = 1;
    double virtual_time = 0;
    double devices = 0;
    double seconds = 0;
    bool waiting = false;
    bool is_new = true; ///< it has had nothing since it takes part

    [[nodiscard]] bool active() const;
    /// Virtual time, a quantum further for each device.
    [[nodiscard]] double turn() const {
      return virtual_time + devices * quantum_seconds / weight;
    }
  };

  [[nodiscard]] double virtual_time_now() const;

  std::vector<entry> parties_;
};

} // namespace hippo
