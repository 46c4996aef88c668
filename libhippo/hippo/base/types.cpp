#include "hippo/base/types.hpp"

namespace hippo {

const char* to_string(trial_state x) noexcept {
  switch (x) {
    case trial_state::pending:
      return "PENDING";
    case trial_state::running:
      return "RUNNING";
    case trial_state::paused:
      return "PAUSED";
    case trial_state::complete:
      return "COMPLETE";
    case trial_state::pruned:
      return "PRUNED";
    case trial_state::failed:
      return "FAILED";
    case trial_state::cancelled:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

bool has_ended(trial_state x) noexcept {
  return x == trial_state::complete || x == trial_state::pruned
         || x == trial_state::failed || x == trial_state::cancelled;
}

} // namespace hippo
