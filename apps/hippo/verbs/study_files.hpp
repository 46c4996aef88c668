#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common_options.hpp"
#include "simulated_fleet.hpp"
#include "simulation.hpp"
#include "studies.hpp"

namespace hippo {

/// Study files that the command line names.
struct study_files {
  std::vector<std::string> files;

  /// @param fetch as of `pack_study`
  /// @returns the sources, or which file cannot be read
  [[nodiscard]] expected<std::vector<study_source>>
  read(const state_fetcher& fetch = nullptr) const;

  /// REQUIRES: `*this` lives longer than `verb`.
  /// @returns the option that takes the files
  CLI::Option* add_to(CLI::App& verb);
};

/// What studies may name.
struct known_workloads {
  workload_catalogue catalogue;
  std::vector<simulation_profile> profiles;
  std::optional<known_machines> machines; ///< if a file of them was given
};

/// Loads the workloads that there are and, if any are given, profiles; says on
/// stderr what is wrong.
/// @param machines_file whose profiles also say which workloads there are;
///                      empty: none
/// @returns nothing if something is
std::optional<known_workloads>
load_workloads(const common_options& common,
               const std::vector<std::string>& profile_files = {},
               const std::string& machines_file = {});

/// What studies are simulated with.
struct simulated_files {
  common_options common;
  study_files studies;
  std::vector<std::string> profiles;

  std::string machines; ///< file of them; empty: none
  std::string used;     ///< of these, as `read_use` takes it
  bool is_preview = false; ///< whether budgets are of no matter
  bool quiet = false;      ///< whether notes are left out

  /// Loads what is simulated; says on stderr what is wrong.
  /// @returns whether nothing is
  bool load(simulation& out) const;
};

} // namespace hippo
