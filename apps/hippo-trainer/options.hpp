#pragma once

#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/error.hpp"
#include "hippo/check/proof.hpp"
#include "hippo/train/device.hpp"
#include "log_format.hpp"

namespace hippo {

// Exit codes.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2; ///< or bad input

/// The host of `--gang-listen` that stands for the address by which the trainer
/// reaches its service.
inline constexpr auto auto_gang_host = "auto";

inline constexpr unsigned threads_max = 1024;
inline constexpr unsigned notice_seconds_max = 86'400;

/// What the command line says.
struct trainer_options {
  std::string service;                ///< host:port
  std::string keys;                   ///< file of credentials; empty: no TLS
  log_options log;
  std::vector<std::string> libraries; ///< of further workloads
  std::vector<std::string> devices{"cpu"};
  unsigned threads = 1; ///< of a CPU
  /// Leases that each device trains at once; nothing: `default_at_once`.
  std::optional<std::uint32_t> at_once;
  data_options data;
  /// Where other trainers reach it that train a path with it, its host perhaps
  /// `auto_gang_host`; nothing: it trains alone.
  std::optional<endpoint> gang_listen;
  /// Of the threads, or GPUs, that compute the parts of a workload.
  unsigned members = 1;
  std::string numerics; ///< of a CPU; empty: as the study or recipe has it
  /// Of each trial that it trains; nothing: 1, or as the study or recipe has
  /// it.
  std::optional<std::uint32_t> ranks;
  bool describe = false;
  std::string prepare; ///< file of a study, perhaps with its code
  std::string initial_files; ///< folder of files of initial states, or empty
  std::string check;   ///< likewise
  std::string measure; ///< likewise
  bool repeat = false; ///< measure until somebody ends this
  proof_options proof;
  std::string python = "python3"; ///< for studies that name none
  bool no_code = false;           ///< run nothing that studies bring
  std::string recipe;             ///< file with an encoded lease
  std::string weights;            ///< where to export to
  std::string kind; ///< of device that may train for that; empty: any
  long parent = 0;                ///< end with this process
  double grace_seconds = 30;      ///< for ending in good order
  int leave_code = exit_done;     ///< when it has ended so
  /// For a call of training that was cancelled, to return.
  double call_grace_seconds = 10;
  /// By which the program was started, but for the next.
  std::vector<std::string> command{};
  unsigned life = 1; ///< grows when the process starts anew
  /// Between the signal to go and the machine's end; 0: unknown, or none.
  unsigned notice_seconds = 0;
  /// Its end, by which it has left; nothing: it has no time limit.
  std::optional<std::chrono::system_clock::time_point> until;
  std::string machine; ///< its kind, by name; empty: the device says so
  std::string name;    ///< by which the service knows it; empty: the host's
};

/// Returns when a trainer with a time limit begins to leave: as much before it
/// as it takes to leave, the notice or, without one, the grace and a third.
std::chrono::system_clock::time_point leaving_time(const trainer_options& opts);

/// Says on stderr what went wrong. @returns `code`
inline int fail(const error& why, int code) {
  std::cerr << "hippo-trainer: " << why.message << '\n';
  return code;
}

} // namespace hippo
