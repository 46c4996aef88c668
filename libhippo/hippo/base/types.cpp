#include "hippo/base/types.hpp"

namespace hippo {

const char* to_string(trial_state state) noexcept {
  switch (state) {
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

bool has_ended(trial_state state) noexcept {
  return state == trial_state::complete || state == trial_state::pruned
         || state == trial_state::failed || state == trial_state::cancelled;
}

} // namespace hippo
