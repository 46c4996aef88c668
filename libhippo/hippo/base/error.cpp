#include "hippo/base/error.hpp"

namespace hippo {

const char* to_string(errc code) noexcept {
  switch (code) {
    case errc::malformed_message: return "malformed_message";
    case errc::invalid_argument: return "invalid_argument";
    case errc::invalid_study: return "invalid_study";
    case errc::unknown_workload: return "unknown_workload";
    case errc::missing_data: return "missing_data";
    case errc::diverged: return "diverged";
    case errc::bad_checkpoint: return "bad_checkpoint";
    case errc::training_failed: return "training_failed";
    case errc::cancelled: return "cancelled";
    case errc::unknown_lease: return "unknown_lease";
    case errc::incompatible_version: return "incompatible_version";
    case errc::in_use: return "in_use";
    case errc::io_failed: return "io_failed";
    case errc::unknown_study: return "unknown_study";
    case errc::not_allowed: return "not_allowed";
    case errc::resource_exhausted: return "resource_exhausted";
    case errc::cannot_start: return "cannot_start";
    case errc::fails_everywhere: return "fails_everywhere";
    case errc::gang_lost:
      return "gang_lost";
  }
  return "invalid_errc"; // a code from a newer peer
}

} // namespace hippo
