#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/error.hpp"
#include "hippo/base/file_descriptor.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/search/ask_tell.hpp"

namespace hippo {

/// The file to which `hippo ask-tell` appends what was asked and told, one JSON
/// object a line, so that a study goes on where it was:
///
///     {"study": DIGEST, "algorithm": JSON}   which study, and what was chosen
///     {"asked": [TRIAL, STEP]}               up to which step it is out
///     {"told": [TRIAL, STEP], "values": {METRIC: NUMBER}}
///     {"failed": [TRIAL, STEP]}
///
/// A line counts once it is whole: what a killed process has left of its last
/// one is cut off.
class ask_tell_journal {
public:
  /// Opens a journal, or begins one; one process has it at a time.
  /// @returns `errc::in_use` if another one has it, `errc::invalid_argument` if
  ///          it is no journal, or `errc::io_failed`
  static expected<ask_tell_journal> open(const std::string& path);

  /// The algorithm that was chosen for its study; nothing: it is a new one.
  [[nodiscard]] std::optional<std::string> chosen() const;

  /// Repeats what stands in it, or writes down which study it is.
  /// @returns nothing, or why it is none of this study
  std::optional<error> replay(const accepted_study& study, ask_tell& to);

  /// Appends what has happened. @returns `errc::io_failed`, or nothing
  std::optional<error> add_ask(const trial_work& work);
  std::optional<error> add_tell(trial_no trial, step_t to,
                                const metrics& values);
  std::optional<error> add_failure(trial_no trial, step_t to);

private:
  using json = nlohmann::json;

  std::optional<error> append(const json& line);
  [[nodiscard]] error damage(std::size_t line, const std::string& why) const;
  /// Repeats one line. @returns why that cannot be, or nothing
  static std::optional<std::string> repeat(const json& line, ask_tell& on);

  std::string path_;
  file_descriptor file_;
  std::vector<json> lines_; ///< that were read
};

} // namespace hippo
