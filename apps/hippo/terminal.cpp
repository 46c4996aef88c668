#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace hippo {

terminal_size size_of_terminal(int fd) {
  winsize size{};
  terminal_size result;
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0)
    return result;
  if (size.ws_col > 0)
    result.columns = size.ws_col;
  if (size.ws_row > 0)
    result.rows = size.ws_row;
  return result;
}

std::size_t table_columns(int fd) {
  const char* const wanted = std::getenv("COLUMNS");
  const std::string_view text{wanted == nullptr ? "" : wanted};
  std::size_t result = 0;
  const auto read
    = std::from_chars(text.data(), text.data() + text.size(), result);
  const bool is_number
    = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return is_number && result > 0 ? result : size_of_terminal(fd).columns;
}

bool is_terminal(int fd) {
  return ::isatty(fd) == 1;
}

bool has_colour(int fd) {
  return is_terminal(fd) && std::getenv("NO_COLOR") == nullptr;
}

} // namespace hippo
