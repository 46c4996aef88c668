#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "hippo/base/scratch_folder.hpp"
#include "hippo/train/process/workload_process.hpp"

namespace hippo {

/// A process that trains nothing, and the empty folders that it knows.
struct idle_process {
  scratch_folder code;                       ///< it works there
  scratch_folder states;                     ///< of states that come and go
  std::unique_ptr<workload_process> process; ///< ended before they are removed
};

/// Processes whose workloads are gone, and that have renewed themselves: the
/// next workload of the same code gets one that has imported it already. Each
/// trains one workload at a time. Thread-safe.
class idle_processes {
public:
  /// Returns the process that was put last of those that have not ended;
  /// nothing if there is none.
  /// @param code what tells apart processes that are not to be exchanged
  [[nodiscard]] std::optional<idle_process> take(const std::string& code);

  /// Keeps a process. Of too many, the one that was put first is ended.
  void put(std::string code, idle_process process);

private:
  static constexpr std::size_t kept_max = 4;

  std::mutex mutex_; ///< guards what follows
  std::deque<std::pair<std::string, idle_process>> kept_; ///< in order of `put`
};

/// Where the process of a workload comes from, and where it goes to.
struct process_reuse {
  std::shared_ptr<idle_processes> idle; ///< null: it is started and ended
  std::string code;                     ///< of `idle_processes::take`
};

} // namespace hippo
