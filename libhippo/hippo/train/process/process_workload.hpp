#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hippo/model/averaging.hpp"
#include "hippo/train/process/child.hpp"
#include "hippo/train/process/idle_processes.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// The set-up of a workload in another process, sent once.
struct process_setup {
  std::uint64_t seed = 0;
  std::map<std::string, scalar> args;
  /// The versions of interpreters and packages that it must have, by name.
  std::map<std::string, std::string> versions;
  /// The JSON text of those of which `args` does not tell all
  /// (`workload_spec::exact`).
  std::map<std::string, std::string> exact_args{};
  averaging average{}; ///< that it measures
};

/// Starts a process and makes a workload of it: calls go to the process, states
/// come and go as files of a temporary folder.
///
/// Returns at once; what the process has to say of itself is waited for by
/// `prepare`. A call fails with an exception if the process does; when it has
/// ended with that, it is started again by the next `prepare`.
/// @param reuse where to look for a process before one is started. The process
///              then works in a copy of its folder, and is kept there at the
///              end, if it can renew itself
/// @throws std::runtime_error if it cannot be started
std::unique_ptr<workload> make_process_workload(process_options options,
                                                process_setup setup,
                                                process_reuse reuse = {});

/// Makes a workload of a program that is run anew for each stage, with a
/// request and an answer in files (docs/own-code.md). Its state is a folder.
/// @throws std::runtime_error if the program is not there
std::unique_ptr<workload> make_file_workload(process_options options,
                                             process_setup setup);

/// Where studies' code is run.
struct process_context {
  std::string device = "cpu";     ///< as PyTorch names it
  std::uint32_t threads = 1;
  std::string python = "python3"; ///< for studies that name no interpreter
  /// Whether training functions are tried before anything that they measure is
  /// told: two steps in one go and in parts, if that takes no time to speak of.
  bool tries = false;
  /// The GPUs of the ranks of a trial, as PyTorch names them; empty: there is
  /// but one rank, or they train on the CPU.
  std::vector<std::string> rank_devices{};
  /// Keeps processes for other workloads of their code; null: they are ended.
  std::shared_ptr<idle_processes> idle{};
};

/// Adds the workloads that stand for code which studies bring. Specs for them
/// have their folder under the setting "folder".
void add_process_workloads(workload_registry& registry,
                           const process_context& context);

} // namespace hippo
