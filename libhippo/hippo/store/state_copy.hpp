#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// The content that the target of a copy may have.
enum class copy_target : std::uint8_t {
  fresh, ///< no state
  older, ///< no state, or an earlier copy of the same one
};

/// How checkpoints are looked at that an earlier copy has.
enum class copy_check : std::uint8_t {
  contents, ///< read, and compared with their digests
  sizes,    ///< not read: what has rotted there is not noticed
};

/// The result of a copy of a state: how many checkpoints, and files of initial
/// states, there were of each kind.
struct copy_outcome {
  std::uint64_t studies = 0;
  std::uint64_t copied = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t there = 0;   ///< from an earlier copy
  std::uint64_t mended = 0;  ///< of `copied`: damaged in an earlier copy
  std::uint64_t elsewhere = 0; ///< where the copy finds them as well
  std::uint64_t missing = 0; ///< or damaged: the copy does not know of them
  std::uint64_t removed = 0; ///< of an earlier copy, wanted no more
};

/// Says whether a checkpoint lies in a place of its own, outside of the state
/// folder, so that a copy need not have it. @param folder of its workload
using checkpoint_finder = std::function<expected<bool>(
  const std::string& folder, const checkpoint& checkpoint)>;

/// Copies the database and the checkpoints of the state folder `from` to the
/// folder `to`, which is a state folder then: the state as it was at one
/// moment, with every checkpoint that it names, and the files of initial
/// states. A service may write to `from` meanwhile.
///
/// Checkpoints that an earlier copy has are not copied again, unless they have
/// been damaged there since. It stays as it was until the whole of the new one
/// is on the disk; what was left unfinished is used by the next one. Until a
/// first copy is whole, no service takes `to`.
/// @param elsewhere null: all are in the state folder
/// @returns what was done, or
///          `errc::invalid_argument` if there is no state in `from`, or `to`
///          holds something else than `target` says,
///          `errc::incompatible_version` if `from` is of another version,
///          `errc::in_use` if another process holds `to`,
///          `errc::io_failed` if the operating system or SQLite refuses, or
///          what `elsewhere` says
expected<copy_outcome> copy_state(const std::string& from,
                                  const std::string& to, copy_target target,
                                  checkpoint_finder elsewhere = nullptr,
                                  copy_check check = copy_check::contents);

} // namespace hippo
