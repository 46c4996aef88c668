#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

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

bool is_terminal(int fd) {
  return ::isatty(fd) == 1;
}

bool has_colour(int fd) {
  return is_terminal(fd) && std::getenv("NO_COLOR") == nullptr;
}

} // namespace hippo
