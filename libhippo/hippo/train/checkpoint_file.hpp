#pragma once

#include <string>

#include "hippo/core/error.hpp"
#include "hippo/train/lease.hpp"

namespace hippo {

/// Writes `bytes` to the file `name` of `folder`, replacing what was there. The
/// name appears only once all of it is written; a failure leaves no file.
/// Does not wait for the disk: a file that a power cut damages is found out by
/// its digest.
/// @returns its size and digest, or `errc::io_failed`
expected<checkpoint> write_checkpoint(const std::string& folder,
                                      const std::string& name,
                                      const std::string& bytes);

/// Reads a checkpoint of `folder` and checks its size and digest.
/// @returns the bytes, `errc::bad_checkpoint` if the file is missing or is not
///          what `x` says, or `errc::io_failed`
expected<std::string> read_checkpoint(const std::string& folder,
                                      const checkpoint& x);

} // namespace hippo
