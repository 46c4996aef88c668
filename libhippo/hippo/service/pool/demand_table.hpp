#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/plan/schedule/fair_shares.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/service/pool/events.hpp"

namespace hippo {

/// How many trainers mergers could use, and what they have had by now. Mergers
/// go by their places, in the order in which they have said so first; who goes
/// makes room.
///
/// @invariant a merger's place is that of its share
class demand_table {
public:
  struct entry {
    merger_number merger = 0;
    std::uint64_t wanted = 0;      ///< trainers that it could use
    std::set<std::string> kinds{}; ///< of their devices; empty: any
    placement_facts facts{};
    std::uint64_t helpers = 0; ///< trainers that could help those that it has
    std::set<std::string> helper_kinds{}; ///< of their devices
  };

  /// Takes in how many trainers a merger could use. REQUIRES: `weight > 0`
  void set(pool_event::demanded event);
  /// Forgets a merger. REQUIRES: it holds no trainer.
  void remove(std::size_t place);
  /// A merger that waits is given a trainer.
  void give(std::size_t place);
  /// A merger is given a trainer that helps. REQUIRES: it could use one
  void give_helper(std::size_t place);
  /// A merger gives a trainer back.
  void take(std::size_t place) { shares_.hold(place, -1); }
  /// As of `fair_shares`.
  void pass_turns() { shares_.pass_turns(); }
  void advance(double seconds) { shares_.advance(seconds); }
  void set_waiting(std::size_t place, bool waits) {
    shares_.set_waiting(place, waits);
  }

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] const entry& operator[](std::size_t place) const {
    return all_[place];
  }
  [[nodiscard]] std::optional<std::size_t> place_of(merger_number merger) const;
  [[nodiscard]] const fair_shares& shares() const noexcept { return shares_; }
  /// Whether a merger holds a trainer, or waits for one.
  [[nodiscard]] bool takes_part(std::size_t place) const {
    return shares_.waits(place) || shares_.devices(place) > 0;
  }
  /// Whether a merger waits while another one holds trainers.
  [[nodiscard]] bool is_contended() const;
  /// The trainers that all of them could use, at most `waiting_leases_max` for
  /// each.
  [[nodiscard]] std::uint64_t waiting_leases() const;

  void check_invariants() const;

private:
  std::vector<entry> all_;
  fair_shares shares_; ///< by place
};

} // namespace hippo
