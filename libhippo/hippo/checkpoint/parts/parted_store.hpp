#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/parts/part_tables.hpp"
#include "hippo/checkpoint/state_store.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// Smaller states are stored as they are, without a table of parts.
inline constexpr std::uint64_t parted_bytes_min = 4ull << 20;

/// The states of a lease in parts: those parts alone are written that its base,
/// its start and what it has written before do not have. Memory holds a few
/// pieces of a state, and its table.
class parted_store final : public state_store {
public:
  /// @param files where checkpoints are
  /// @param tables of all leases of this trainer
  /// REQUIRES: all outlive `*this`.
  parted_store(const lease& lease, checkpoint_store& files,
               part_tables& tables);

  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override;
  expected<std::uint64_t> size_of(const checkpoint& checkpoint) override;
  expected<checkpoint> write(const std::string& name,
                             const content_source& state,
                             durability how) override;

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
