#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "child_process.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/plan/schedule/scheduler.hpp"

namespace hippo {

/// The most trainers, or threads of one, on this machine.
inline constexpr unsigned trainers_max = 1024;
inline constexpr unsigned simulated_trainers_max = 100'000;

/// How many trainers this machine's CPU has work for.
inline unsigned machine_cores() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, trainers_max);
}

/// For numbers above 0, however large; CLI11's own check tells how large.
inline const CLI::Validator above_zero{
  [](const std::string& text) -> std::string {
    double x = 0;
    return CLI::detail::lexical_cast(text, x) && x > 0
             ? std::string{}
             : "must be a number above 0, found " + text;
  },
  "ABOVE 0"};

/// What verbs have in common that need to know workloads.
struct common_options {
  std::string trainer_program;
  std::vector<std::string> libraries;

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb) {
    verb.add_option("--workload", libraries,
                    "A shared library with further workloads (repeatable)");
    verb.add_option("--trainer-program", trainer_program,
                    "The hippo-trainer to use, if not the one beside hippo");
  }

  [[nodiscard]] std::string program() const {
    return trainer_program.empty() ? sibling_trainer() : trainer_program;
  }
};

/// What decides what is trained when.
struct schedule_options {
  std::string merge = "on";
  std::string scheduler = "critical-path";
  std::string placement = "advantage";
  std::string gangs = "on";

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb) {
    verb
      .add_option("--merge", merge,
                  "off: train every trial alone, as a baseline")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
    verb.add_option("--scheduler", scheduler, "Which path goes first")
      ->check(
        CLI::IsMember({"critical-path", "breadth-first", "trial", "early"}))
      ->capture_default_str();
    verb
      .add_option("--placement", placement,
                  "Which workload a trainer goes to, where trainers are of "
                  "several kinds: advantage (what gains most by its kind, "
                  "within fair shares), complexity (large search spaces to "
                  "strong kinds) or fair (what has had the least)")
      ->check(CLI::IsMember({"advantage", "complexity", "fair"}))
      ->capture_default_str();
    verb
      .add_option("--gangs", gangs,
                  "off: idle trainers help no others, where a workload has "
                  "parts that several can compute")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  }

  [[nodiscard]] bool merges() const { return merge == "on"; }
  [[nodiscard]] bool joins() const { return gangs == "on"; }
  [[nodiscard]] hippo::policy policy() const {
    return *policy_from(scheduler);
  }
  [[nodiscard]] placement_rule places() const {
    return *placement_rule_from(placement);
  }
};

/// Adds `--format` with the two forms that any output has.
/// REQUIRES: `format` lives longer than `verb`.
inline void add_format(CLI::App& verb, std::string& format) {
  verb.add_option("-f,--format", format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
}

/// Adds `--threads` of trainers that are started here.
/// REQUIRES: `threads` lives longer than `verb`.
inline void add_threads(CLI::App& verb, unsigned& threads) {
  verb
    .add_option("--threads", threads,
                "Threads of each trainer on the CPU: they decide the bits of "
                "results, as the kind of device does")
    ->check(CLI::Range(1u, trainers_max))
    ->capture_default_str();
}

/// Adds `--at-once` of trainers that are started here.
/// REQUIRES: `leases` lives longer than `verb`.
inline void add_at_once(CLI::App& verb, std::optional<std::uint32_t>& leases) {
  verb
    .add_option("--at-once", leases,
                "Leases that each trainer here trains at once, which decides "
                "no result; the memory of its device limits the number")
    ->check(CLI::Range(1u, lanes_max))
    ->default_str("16 of built-in workloads on a GPU, else 1");
}

/// Adds `--prepare-threads` of trainers that are started here.
/// REQUIRES: `threads` lives longer than `verb`.
inline void add_prepare_threads(CLI::App& verb,
                                std::optional<unsigned>& threads) {
  verb
    .add_option("--prepare-threads", threads,
                "Threads of each trainer here that prepare the next batches of "
                "a lease while it trains, which decide no result; 0: batches "
                "are prepared between training")
    ->check(CLI::Range(0u, trainers_max))
    ->default_str("1");
}

/// Adds `--members` of trainers that are started here.
/// REQUIRES: `members` lives longer than `verb`.
inline void add_members(CLI::App& verb, unsigned& members) {
  verb
    .add_option("--members", members,
                "Threads of each trainer here, or GPUs with --device all, that "
                "compute the parts of a built-in workload together, which "
                "decides no result: 1, 2, 4, ...")
    ->check(check_members)
    ->capture_default_str();
}

/// Adds `--data-memory` of trainers that are started here.
/// REQUIRES: `bytes` lives longer than `verb`.
inline void add_data_memory(CLI::App& verb,
                            std::optional<std::uint64_t>& bytes) {
  verb
    .add_option("--data-memory", bytes,
                "Memory of each trainer here for the training images of a "
                "folder, e.g. 20GB: larger sets are decoded in each epoch, "
                "which decides no result")
    ->transform(CLI::AsSizeValue(false))
    ->default_str("half of the machine's, divided by the trainers");
}

/// Adds `--at-once` of simulated trainers.
/// REQUIRES: `leases` lives longer than `verb`.
inline void add_at_once(CLI::App& verb, std::uint32_t& leases) {
  verb
    .add_option("--at-once", leases,
                "Leases that each simulated trainer trains at once; the "
                "profile's at_once_gain is what that brings")
    ->check(CLI::Range(1u, lanes_max))
    ->capture_default_str();
}

/// Adds `--grace`. REQUIRES: `seconds` lives longer than `verb`.
inline void add_call_grace(CLI::App& verb, double& seconds) {
  verb
    .add_option("--grace", seconds,
                "Of each trainer here: seconds from SIGTERM to SIGKILL for the "
                "process of training that was cancelled and does not return; "
                "after as long, a trainer in which such training runs itself "
                "starts anew")
    ->check(CLI::Range(0.0, 86'400.0))
    ->capture_default_str();
}

/// Adds `--grace-seconds`. REQUIRES: `seconds` lives longer than `verb`.
inline void add_grace(CLI::App& verb, double& seconds) {
  verb
    .add_option("--grace-seconds", seconds,
                "On Ctrl-C, SIGTERM or SIGHUP, how long the trainers' present "
                "steps may take to end and be saved")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
}

/// Adds `--checkpoint-budget`. REQUIRES: `bytes` lives longer than `verb`.
inline void add_checkpoint_budget(CLI::App& verb, std::uint64_t& bytes,
                                  const std::string& example) {
  verb
    .add_option("--checkpoint-budget", bytes,
                "Disk space for checkpoints, e.g. " + example)
    ->transform(CLI::AsSizeValue(false))
    ->capture_default_str();
}

} // namespace hippo
