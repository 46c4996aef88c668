#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "hippo/base/error.hpp"
#include "hippo/base/file_descriptor.hpp"
#include "hippo/base/ids.hpp"

namespace hippo {

/// For what studies wait, as whoever works in a state folder tells those who
/// only look into it. It takes its room when it is made, since it has the most
/// to tell when the disk is full, and counts for nothing once its process has
/// ended.
class waiting_board {
public:
  using notes = std::map<study_id, std::string>;

  /// So much is told in all; of more the rest is left out.
  static constexpr std::size_t bytes_max = 16 << 10;

  /// Makes the board of a state folder, which the caller holds.
  /// @returns `errc::io_failed`
  static expected<waiting_board> make(const std::string& folder);

  /// Tells for what studies wait, instead of what was told before.
  void tell(const notes& xs);

  /// Returns what is told in a state folder by somebody who works there.
  static notes read(const std::string& folder);

private:
  explicit waiting_board(file_descriptor file) : file_(std::move(file)) {}

  file_descriptor file_;
  notes told_;
};

} // namespace hippo
