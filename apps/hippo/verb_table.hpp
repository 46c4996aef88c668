#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace hippo {

// Headings of the help.
inline constexpr auto local_group = "On this machine";
inline constexpr auto service_group = "With a service";

/// The verbs of a command line, and what each does.
class verb_table {
public:
  /// REQUIRES: `app` lives longer than this.
  explicit verb_table(CLI::App& app) : app_(app) {}

  /// Adds a verb.
  /// @param group its heading in the help
  /// @param example a whole command line
  /// @param run does what was asked for and returns the exit code
  /// @returns the verb, for its options
  CLI::App* add(const std::string& group, const std::string& name,
                const std::string& what, const std::string& example,
                std::function<int()> run) {
    auto* verb = app_.add_subcommand(name, what);
    verb->group(group);
    verb->footer("Example: " + example);
    verbs_.emplace_back(verb, std::move(run));
    return verb;
  }

  /// Accepts a former name of a verb, for one release.
  void rename(const std::string& former, const std::string& now) {
    renamed_[former] = now;
  }

  /// Returns the name of today of a verb's former one; else nothing.
  [[nodiscard]] std::optional<std::string>
  renamed(const std::string& verb) const {
    const auto at = renamed_.find(verb);
    return at == renamed_.end() ? std::nullopt : std::optional{at->second};
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [verb, run] : verbs_)
      result.push_back(verb->get_name());
    return result;
  }

  /// Runs the verb that was given. REQUIRES: the command line has been parsed
  /// @returns its exit code
  [[nodiscard]] int run() const {
    for (const auto& [verb, run] : verbs_)
      if (*verb)
        return run();
    return 0; // the parser refuses a command line without a verb
  }

private:
  CLI::App& app_;
  std::vector<std::pair<CLI::App*, std::function<int()>>> verbs_;
  std::map<std::string, std::string> renamed_; ///< by former name
};

} // namespace hippo
