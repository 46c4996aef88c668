#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "child_process.hpp"

namespace hippo {

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
    return trainer_program.empty() ? sibling_program("hippo-trainer")
                                   : trainer_program;
  }
};

} // namespace hippo
