#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "hippo/forecast/machines/machines.hpp"

namespace hippo {

/// Reads a file of machines with their prices; says on stderr what is wrong.
/// @returns nothing if something is
std::optional<fleet> load_fleet(const std::string& file);

/// The list of the machines that trainers are on, as the command line names it.
struct machine_list {
  std::string file; ///< empty: there is none

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb);

  /// Reads the list into `out`, if there is one; says on stderr what is wrong.
  /// @returns whether nothing is
  bool load(std::optional<fleet>& out) const;

  /// Why no study's costs can be kept within a budget; empty: they can.
  [[nodiscard]] std::string why_no_prices() const;
};

} // namespace hippo
