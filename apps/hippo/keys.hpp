#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "hippo/keys/key_folder.hpp"
#include "verb_table.hpp"

namespace hippo {

/// `hippo keys`: who may come in when a service listens to other machines.
class keys_verb {
public:
  /// Adds the verb to the command line. REQUIRES: `*this` outlives `verbs`
  void add_to(verb_table& verbs);

private:
  int run();
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
