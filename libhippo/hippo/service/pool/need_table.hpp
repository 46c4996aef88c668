#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/service/merge/moment.hpp"
#include "hippo/service/pool/events.hpp"
#include "hippo/service/pool/workload_need.hpp"

namespace hippo {

/// The needs of mergers, as they have introduced themselves, and the trainers
/// that they were told of.
///
/// @invariant no two needs have the same key
class need_table {
public:
  struct entry {
    merger_number merger = 0;
    workload_need need;
    std::string logged_stuck{}; ///< why it has to wait, as the log has it
    /// With `tell_able`.
    std::optional<std::map<trainer_id, std::string>> told{};
    /// Until when it is granted no trainer that holds only some ranks.
    moment rests_until{};
  };

  /// A merger introduces itself; the one that had the key before has retired.
  void add(merger_number merger, workload_need need);
  void remove(merger_number merger);
  /// A merger is granted no trainer that holds only some ranks of a trial
  /// before then.
  void rest(merger_number merger, moment until);

  [[nodiscard]] std::vector<entry>& all() noexcept { return all_; }
  [[nodiscard]] const std::vector<entry>& all() const noexcept { return all_; }
  /// The need of a merger; null: it has not said so, any trainer will do.
  [[nodiscard]] const workload_need* find(merger_number merger) const;
  /// As `entry::rests_until`.
  [[nodiscard]] moment rests_until(merger_number merger) const;
  /// The merger of a workload key that has introduced itself.
  [[nodiscard]] std::optional<merger_number>
  merger_of(const std::string& workload_key) const;

  void check_invariants() const;

private:
  std::vector<entry> all_; ///< in the order in which they have come
};

} // namespace hippo
