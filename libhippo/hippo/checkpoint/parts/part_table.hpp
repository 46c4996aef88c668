#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// A part of a state.
struct state_part {
  wide_hash hash;           ///< of its bytes
  std::uint64_t offset = 0; ///< where it begins in its file
  std::uint32_t bytes = 0;  ///< its size, not 0
  /// 0: it lies in the checkpoint's own file; else in `files[file - 1]`.
  std::uint8_t file = 0;
};

/// The parts of a state, in their order. It is written at the end of the
/// checkpoint's file, after the parts that lie there.
struct part_table {
  std::uint64_t bytes = 0;  ///< of the state
  std::uint64_t digest = 0; ///< `hash_bytes` of the state
  std::vector<state_part> parts;
  std::vector<part_file> files; ///< that others hold
};

/// The largest table that is read: of a state of 64 GiB.
inline constexpr std::uint64_t part_table_bytes_max = 128ull << 20;

/// Writes a table as bytes (schemas/parts.capnp).
std::string to_bytes(const part_table& table);

/// Reads the table of a checkpoint.
/// @returns it, or `errc::bad_checkpoint` if it is damaged or of another one
expected<part_table> part_table_of(const checkpoint& checkpoint,
                                   const std::string& bytes);

} // namespace hippo
