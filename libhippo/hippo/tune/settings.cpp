#include "hippo/tune/settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hippo/core/nearest.hpp"
#include "hippo/core/number.hpp"
#include "hippo/tune/rungs.hpp"

namespace hippo {

namespace {

const std::vector<std::pair<std::string, algorithm_kind>> algorithms{
  {"grid", algorithm_kind::grid},
  {"random", algorithm_kind::random},
  {"sha", algorithm_kind::sha},
  {"asha", algorithm_kind::asha}};

std::vector<std::string> options_of(algorithm_kind kind) {
  switch (kind) {
    case algorithm_kind::grid:
    case algorithm_kind::random: return {};
    case algorithm_kind::sha: return {"eta", "min", "max", "sampler"};
    case algorithm_kind::asha:
      return {"eta", "min", "max", "sampler", "mode", "concurrent"};
  }
  return {};
}

/// Renders `a, b or c`.
std::string listed(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i)
    result += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return result;
}

class settings_reader {
public:
  settings_reader(const study_spec& study, algorithm_check& found)
    : study_(study), found_(found) {}

  tune_settings read() {
    if (!read_kind())
      return out_;
    refuse_unknown_options();
    out_.better = study_.objective.direction;
    out_.random_order
      = word("sampler", {"random", "grid"},
             out_.kind == algorithm_kind::grid ? "grid" : "random")
        == "random";
    out_.eta = whole("eta", 2, most, out_.eta);
    out_.max = whole("max", 1, study_.max_steps, study_.max_steps);
    const bool has_rungs = out_.kind == algorithm_kind::sha
                           || out_.kind == algorithm_kind::asha;
    out_.min = has_rungs ? whole("min", 1, out_.max, 1) : out_.max;
    out_.may_resume
      = word("mode", {"promotion", "stopping"}, "promotion") == "promotion";
    out_.concurrent = whole("concurrent", 0, most, 0);
    count_trials();
    warn_of_rungs_out_of_reach();
    return out_;
  }

private:
  /// The greatest whole number that every double up to it can tell apart.
  static constexpr std::uint64_t most = std::uint64_t{1} << 53;

  [[nodiscard]] std::string path_of(const std::string& option) const {
    return "algorithm." + study_.algorithm.name + "." + option;
  }

  void error(const std::string& path, std::string message) {
    found_.errors.push_back({path, std::move(message)});
  }

  void warn(const std::string& path, std::string message) {
    found_.warnings.push_back({path, std::move(message)});
  }

  bool read_kind() {
    std::vector<std::string> names;
    for (const auto& [name, kind] : algorithms) {
      if (name == study_.algorithm.name) {
        out_.kind = kind;
        return true;
      }
      names.push_back(name);
    }
    const auto& name = study_.algorithm.name;
    error("algorithm", "unknown algorithm '" + name + "'"
                         + did_you_mean(name, names) + " (must be "
                         + listed(names) + ")");
    return false;
  }

  void refuse_unknown_options() {
    const auto known = options_of(out_.kind);
    for (const auto& [name, value] : study_.algorithm.options)
      if (std::find(known.begin(), known.end(), name) == known.end())
        error(path_of(name),
              "unknown option '" + name + "' of " + study_.algorithm.name
                + did_you_mean(name, known)
                + (known.empty() ? " (it takes none)"
                                 : " (may be " + listed(known) + ")"));
  }

  /// Returns the option, or nothing if the study leaves it to its default.
  [[nodiscard]] const scalar* find(const std::string& name) const {
    const auto at = study_.algorithm.options.find(name);
    return at == study_.algorithm.options.end() ? nullptr : &at->second;
  }

  std::uint64_t whole(const std::string& name, std::uint64_t low,
                      std::uint64_t high, std::uint64_t fallback) {
    const auto* x = find(name);
    if (x == nullptr)
      return fallback;
    const auto* number = std::get_if<double>(x);
    // Compared as doubles: a number that is no `uint64_t` must not become one.
    if (number == nullptr || std::trunc(*number) != *number
        || *number < static_cast<double>(low)
        || *number > static_cast<double>(high)) {
      error(path_of(name),
            "must be a whole number "
              + (high == most ? "of at least " + std::to_string(low)
                              : "from " + std::to_string(low) + " to "
                                  + std::to_string(high))
              + ", found " + to_text(*x));
      return fallback;
    }
    return static_cast<std::uint64_t>(*number);
  }

  std::string word(const std::string& name,
                   const std::vector<std::string>& known,
                   const std::string& fallback) {
    const auto* x = find(name);
    if (x == nullptr)
      return fallback;
    const auto text = to_text(*x);
    if (std::find(known.begin(), known.end(), text) != known.end())
      return text;
    error(path_of(name), "must be " + listed(known) + ", found " + text
                           + did_you_mean(text, known));
    return fallback;
  }

  void count_trials() {
    const auto size = study_.space.size();
    const auto budget = study_.budget.trials;
    const auto& name = study_.algorithm.name;
    if (!size && !out_.random_order) {
      error(find("sampler") != nullptr ? path_of("sampler") : "algorithm",
            "a grid needs a finite space: give each continuous range `points`,"
            " or use random");
      return;
    }
    if (!size && !budget) {
      error("algorithm", name
                           + " needs `budget.trials`: the space holds any"
                             " number of combinations");
      return;
    }
    out_.trials = std::min(
      size.value_or(std::numeric_limits<std::uint64_t>::max()),
      budget.value_or(std::numeric_limits<std::uint64_t>::max()));
    if (out_.trials > max_trials)
      error(budget ? "budget.trials" : "algorithm",
            std::to_string(out_.trials)
              + " trials are too many: `budget.trials` may be up to "
              + std::to_string(max_trials));
    else if (out_.trials == 0)
      error("budget.trials", "must be at least 1, found 0");
    else if (size && budget && *size < *budget)
      warn("budget.trials", "the space has only " + std::to_string(*size)
                              + " combinations, so there will be that many"
                                " trials, not "
                              + std::to_string(*budget));
    else if (size && budget && *size > *budget && !out_.random_order)
      warn("budget.trials", "the grid has " + std::to_string(*size)
                              + " combinations, of which only the first "
                              + std::to_string(*budget) + " will be tried");
  }

  /// ASHA promotes floor(n / eta) of a rung, so a few trials get nowhere.
  void warn_of_rungs_out_of_reach() {
    if (!found_.errors.empty() || out_.kind != algorithm_kind::asha
        || !out_.may_resume)
      return;
    auto left = out_.trials;
    const auto rungs = rung_steps(out_.min, out_.max, out_.eta);
    for (std::size_t i = 1; i < rungs.size(); ++i) {
      left /= out_.eta;
      if (left == 0) {
        warn("algorithm",
             "with " + std::to_string(out_.trials) + " trials none will go"
               + " beyond step " + std::to_string(rungs[i - 1])
               + ": more trials, a greater `min` or a smaller `eta` would");
        return;
      }
    }
  }

  const study_spec& study_;
  algorithm_check& found_;
  tune_settings out_;
};

} // namespace

tune_settings read_settings(const study_spec& study, algorithm_check* found) {
  algorithm_check unheeded;
  return settings_reader{study, found != nullptr ? *found : unheeded}.read();
}

} // namespace hippo
