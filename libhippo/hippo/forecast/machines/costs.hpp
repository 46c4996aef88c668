#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/forecast/machines/machines.hpp"
#include "hippo/model/trainers_cost.hpp"

namespace hippo {

/// For how long a machine was there, and what its trainers did.
struct machine_life {
  machine_kind kind;
  double begin = 0; ///< when it could train, in seconds; it was asked for
                    ///< `start_seconds` before
  std::optional<double> end; ///< when it was taken away; nothing: it was not
  std::optional<double> last_lease_end; ///< of its trainers; nothing: no lease
  double busy_seconds = 0; ///< in which its trainers had a lease, added up
  /// In which they trained what was lost with the machine, likewise; no part of
  /// the former.
  double lost_seconds = 0;
};

/// The cost of machines of one kind.
struct machines_cost {
  std::string kind;      ///< its name
  double price = 0;      ///< of a machine and an hour
  unsigned machines = 0; ///< that there were, each life one
  double work = 0;       ///< of the time in which trainers had a lease
  double idle = 0;       ///< of the rest, starting included

  [[nodiscard]] double total() const { return work + idle; }
};

/// Adds up what machines cost, by kind in the order in which they come: each
/// from when it was asked for until its last lease ends, or until it is taken
/// away; one that never had a lease, for its start.
std::vector<machines_cost> costs_of(const std::vector<machine_life>& lives);

} // namespace hippo
