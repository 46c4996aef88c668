#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hippo/search/option.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The result of checking a study's algorithm: its errors, and its oddities,
/// which are harmless.
struct algorithm_check {
  struct finding {
    std::string path; ///< as in `study_spec::marks`: `algorithm.asha.eta`
    std::string message;
  };
  std::vector<finding> errors;
  std::vector<finding> warnings;
};

/// Reads the options of a study's algorithm by their declarations, and notes
/// wrong values. A wrong value reads as the fallback.
class option_reader {
public:
  /// REQUIRES: both outlive this.
  option_reader(const study_spec& study, algorithm_check& found)
    : study_(study), found_(found) {}

  [[nodiscard]] const study_spec& study() const { return study_; }

  /// Whether the study gives an option.
  [[nodiscard]] bool has(std::string_view name) const {
    return find(name) != nullptr;
  }
  [[nodiscard]] bool has(const option& option) const {
    return has(option.name);
  }

  /// Whether the study gives that word for an option.
  [[nodiscard]] bool says(const option& option, std::string_view word) const;

  /// Reads a whole number by its declaration.
  /// REQUIRES: the declaration has the range and the fallback.
  std::uint64_t whole(const option& option);

  /// Reads one whose range or fallback the study decides.
  std::uint64_t whole(const option& option, std::uint64_t low,
                      std::uint64_t high, std::uint64_t fallback);

  double real(const option& option);

  std::string word(const option& option);
  std::string word(const option& option, std::string_view fallback);
  /// Reads one whose words are found elsewhere.
  std::string word(const option& option, const std::vector<std::string>& words,
                   std::string_view fallback);

  // -- findings

  [[nodiscard]] std::string path_of(std::string_view name) const {
    return "algorithm." + study_.algorithm.name + "." + std::string{name};
  }
  [[nodiscard]] std::string path_of(const option& option) const {
    return path_of(option.name);
  }

  void error(const std::string& path, std::string message) {
    found_.errors.push_back({path, std::move(message)});
  }
  void warn(const std::string& path, std::string message) {
    found_.warnings.push_back({path, std::move(message)});
  }
  [[nodiscard]] bool has_errors() const { return !found_.errors.empty(); }

private:
  /// Returns the value of an option; null: the study leaves it to its fallback.
  [[nodiscard]] const scalar* find(std::string_view name) const;

  const study_spec& study_;
  algorithm_check& found_;
};

} // namespace hippo
