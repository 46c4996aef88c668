#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "studies.hpp"

namespace hippo {

/// Trainer processes on this machine, which end with this one.
class local_trainers {
public:
  /// Starts so many trainers, which connect to a port of this machine.
  /// @param logs folder for what they say, made if missing
  std::optional<error> start(const workload_catalogue& catalogue,
                             unsigned count, std::uint16_t port,
                             const std::string& logs);

  /// Says which have died. @returns whether any is left
  bool look_after(const std::function<void(const std::string&)>& say);

  /// Waits for a moment until they have ended, and ends those that have not.
  void wait();

private:
  std::vector<child_process> processes_;
  std::vector<bool> mourned_; ///< those whose death was told
};

} // namespace hippo
