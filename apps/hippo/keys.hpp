#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "hippo/keys/key_folder.hpp"

namespace hippo {

/// `hippo keys`: who may come in when a service listens to other machines.
class keys_verb {
public:
  /// Adds the verb to the command line. REQUIRES: `*this` outlives `app`
  void add_to(CLI::App& app);

  /// Does what the parsed command line says. @returns the exit code
  int run();

private:
  int init();
  int add();
  int list();

  CLI::App* init_verb_ = nullptr;
  CLI::App* add_verb_ = nullptr;
  CLI::App* list_verb_ = nullptr;
  std::string folder_ = default_key_folder;
  std::vector<std::string> hosts_;
  bool renew_ = false;
  std::string name_;
  std::string role_;
  int days_ = default_key_days;
  std::string format_ = "table";
};

} // namespace hippo
