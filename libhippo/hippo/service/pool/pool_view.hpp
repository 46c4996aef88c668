#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "hippo/service/pool/demand_table.hpp"
#include "hippo/service/pool/kind_table.hpp"
#include "hippo/service/pool/need_table.hpp"
#include "hippo/service/pool/trainer_table.hpp"

namespace hippo {

/// The books of a pool, and which of its trainers are of use to which merger.
struct pool_view {
  const trainer_table& trainers;
  const demand_table& demands;
  const need_table& needs;
  const kind_table& kinds;
  moment now; ///< up to which time is booked

  /// Whether a trainer can train what a merger needs.
  [[nodiscard]] bool suits(const pool_trainer& trainer,
                           merger_number merger) const;
  /// Whether it suits, is of a kind that the merger could use now, and holds
  /// the ranks of its trials, alone or with others that are there.
  [[nodiscard]] bool is_of_use(const pool_trainer& trainer,
                               merger_number merger) const;
  /// Whether enough trainers like it are there to hold the ranks of a trial.
  /// @param able whether those count alone that are able to
  /// @complexity O(trainers) if it does not hold all of them
  [[nodiscard]] bool has_enough(const pool_trainer& trainer,
                                merger_number merger, bool able = false) const;
  /// Whether it is of use, and neither it nor the merger rests from the other.
  [[nodiscard]] bool could_use(const pool_trainer& trainer,
                               std::size_t place) const;
  /// Whether any trainer that is there is of use to a merger.
  [[nodiscard]] bool has_trainer_for(merger_number merger) const;
  /// As of `pool_effect::tell_able`.
  [[nodiscard]] std::map<trainer_id, std::string>
  able_for(merger_number merger) const;
};

} // namespace hippo
