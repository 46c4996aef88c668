#pragma once

#include <string>

#include "hippo/base/error.hpp"
#include "hippo/deploy/scale.hpp"

namespace hippo {

/// The file of a fleet's journal, which one program has at a time.
class journal_file {
public:
  /// Locks and reads it; its folder is made if there is none.
  /// @returns `errc::in_use` if another program has it, `errc::io_failed`, or
  ///          `errc::invalid_argument` if it is no journal
  static expected<journal_file> open(const std::string& path);

  journal_file(journal_file&& other) noexcept;
  journal_file& operator=(journal_file&& other) noexcept;
  ~journal_file();

  [[nodiscard]] const scale_journal& content() const noexcept {
    return content_;
  }
  /// Replaces it at once and durably; nothing if it is the same.
  std::optional<error> save(const scale_journal& content);

private:
  journal_file() = default;

  std::string path_;
  scale_journal content_;
  int lock_ = -1;
};

/// The usual place of a fleet's journal: in the folder for the states of
/// programs, XDG_STATE_HOME or ~/.local/state.
/// @returns `errc::invalid_argument` if there is neither
expected<std::string> usual_journal(const std::string& fleet);

} // namespace hippo
