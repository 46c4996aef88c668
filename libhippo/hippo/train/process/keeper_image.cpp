#include "hippo/train/process/keeper_image.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "hippo/train/process/descriptor.hpp"

asm(R"(
  .pushsection .rodata
  .global hippo_keeper_begin, hippo_keeper_end
hippo_keeper_begin:
  .incbin ")" HIPPO_KEEPER R"("
hippo_keeper_end:
  .popsection
)");

extern "C" const char hippo_keeper_begin[];
extern "C" const char hippo_keeper_end[];

namespace hippo {

namespace {

/// Puts the keeper into a file that has no name. @returns its descriptor, or
/// the negative errno of what failed
int make_file() {
  const int file
    = above_standard(::memfd_create("hippo-keeper", MFD_CLOEXEC));
  if (file < 0)
    return -errno;
  std::string_view left{hippo_keeper_begin, hippo_keeper_end};
  while (!left.empty()) {
    const auto n = ::write(file, left.data(), left.size());
    if (n < 0)
      return -errno;
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  return file;
}

} // namespace

expected<std::string> keeper_program() {
  static const int file = make_file(); // for as long as this program runs
  if (file < 0)
    return {errc::io_failed,
            std::string{"cannot make the keeper of a workload's process: "}
              + std::strerror(-file)};
  return "/proc/self/fd/" + std::to_string(file);
}

} // namespace hippo
