#pragma once

#include <cstddef>

namespace hippo {

/// A window of text.
struct terminal_size {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Returns the size of the terminal behind a file descriptor, the usual one if
/// there is none.
terminal_size size_of_terminal(int fd);

/// Returns how wide tables may be that are written there: as `COLUMNS` says if
/// it is set, else as the terminal is.
std::size_t table_columns(int fd);

/// Whether a file descriptor is a terminal.
bool is_terminal(int fd);

/// Whether colours may be written there: to a terminal, unless `NO_COLOR` is
/// set.
bool has_colour(int fd);

} // namespace hippo
