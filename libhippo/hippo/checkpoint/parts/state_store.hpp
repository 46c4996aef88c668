#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/parts/part_tables.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// Smaller states are stored as they are, without a table of parts.
inline constexpr std::uint64_t parted_bytes_min = 4ull << 20;

/// The states that one lease reads and writes: it writes the parts alone that
/// its base, its start and what it has written before do not have. Holds no
/// more of a state in memory than a few pieces, and its table.
///
/// One thread reads, one writes.
class state_store {
public:
  /// @param files where checkpoints are
  /// @param tables of all leases of this trainer
  /// REQUIRES: all outlive `*this`.
  state_store(const lease& lease, checkpoint_store& files, part_tables& tables);

  /// Gives the bytes of a state, in their order. What was given counts only
  /// once all of it was found to be what was written.
  /// @returns nothing, `errc::bad_checkpoint`, `errc::io_failed` or the first
  ///          failure of `take`
  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take);

  /// Returns the size of a state. @returns as `read`
  expected<std::uint64_t> size_of(const checkpoint& checkpoint);

  /// Writes a state under `name`, as `checkpoint_store::write` does.
  expected<checkpoint> write(const std::string& name, const content_source& state,
                             durability how);

private:
  std::optional<error> read_parts(const checkpoint& checkpoint,
                                  const part_table& table,
                                  const byte_taker& take);

  const lease& lease_;
  checkpoint_store& files_;
  part_tables& tables_;
  checkpoint written_{}; ///< last, by this lease
};

} // namespace hippo
