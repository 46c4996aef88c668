#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// The states that a lease reads and writes. One thread reads, one writes.
class state_store {
public:
  virtual ~state_store() = default;

  /// Gives the bytes of a state, in their order. What was given counts only
  /// once all of it was found to be what was written.
  /// @returns nothing, `errc::bad_checkpoint`, `errc::io_failed` or the first
  ///          failure of `take`
  virtual std::optional<error> read(const checkpoint& checkpoint,
                                    const byte_taker& take) = 0;

  /// Returns the size of a state. @returns as `read`
  virtual expected<std::uint64_t> size_of(const checkpoint& checkpoint) = 0;

  /// Writes a state under `name`; a failure leaves nothing.
  /// @returns its checkpoint, `errc::invalid_argument` if `name` is not that of
  ///          one, or `errc::io_failed`
  virtual expected<checkpoint> write(const std::string& name,
                                     const content_source& state,
                                     durability how) = 0;
};

} // namespace hippo
