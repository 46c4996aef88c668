#include "hippo/base/file_memory.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hippo {

namespace {

/// The first piece is of so many bytes, each further one as large as all before
/// it together, up to a limit: few plans are large, and those that are have few
/// pieces.
constexpr std::size_t extent_bytes_min = 1 << 20;
constexpr std::size_t extent_bytes_max = 64 << 20;
constexpr std::size_t page_bytes = 4096;

/// Makes a file that no name leads to. @returns less than 0: it cannot
int make_file(const std::string& folder) {
  auto name = folder + "/.cold-XXXXXX";
  const auto result = ::mkostemp(name.data(), O_CLOEXEC);
  if (result >= 0)
    ::unlink(name.c_str());
  return result;
}

/// Maps a new file of that size, whose descriptor is closed: the mapping keeps
/// the file. @returns `MAP_FAILED` if there is no room or no descriptor for it
void* map_file(const std::string& folder, std::size_t size) {
  const auto file = make_file(folder);
  if (file < 0)
    return MAP_FAILED;
  // Room is taken before it is written to: there is no error afterwards.
  auto* const result
    = ::posix_fallocate(file, 0, static_cast<off_t>(size)) == 0
        ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        : MAP_FAILED;
  ::close(file);
  return result;
}

std::size_t up_to(std::size_t x, std::size_t unit) {
  return (x + unit - 1) / unit * unit;
}

} // namespace

file_memory::file_memory(const std::string& folder)
  : extents_(folder), pool_(&extents_) {}

void file_memory::let_go() noexcept { extents_.let_go(); }

file_memory::extents::extents(const std::string& folder) : folder_(folder) {
  const auto probe = make_file(folder);
  if (probe >= 0)
    ::close(probe);
  else if (errno != EMFILE && errno != ENFILE)
    throw std::system_error{errno, std::generic_category(),
                            "cannot make a file in " + folder};
}

file_memory::extents::~extents() {
  for (const auto& x : extents_)
    ::munmap(x.at, x.size);
}

void file_memory::extents::let_go() noexcept {
  for (const auto& x : extents_)
    if (x.in_file)
      ::madvise(x.at, x.size, MADV_DONTNEED);
}

void file_memory::extents::add_extent(std::size_t bytes) {
  const auto all = static_cast<std::size_t>(file_bytes_ + memory_bytes_);
  const auto size
    = std::max(std::clamp(all, extent_bytes_min, extent_bytes_max),
               up_to(bytes, page_bytes));
  extents_.reserve(extents_.size() + 1);
  auto* at = map_file(folder_, size);
  const bool in_file = at != MAP_FAILED;
  if (!in_file)
    at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    throw std::bad_alloc{};
  extents_.push_back({static_cast<std::byte*>(at), size, in_file});
  (in_file ? file_bytes_ : memory_bytes_) += size;
  used_ = 0;
}

void* file_memory::extents::do_allocate(std::size_t bytes,
                                        std::size_t alignment) {
  assert(alignment <= page_bytes);
  auto at = up_to(used_, alignment);
  if (extents_.empty() || at + bytes > extents_.back().size) {
    add_extent(bytes);
    at = 0;
  }
  used_ = at + bytes;
  return extents_.back().at + at;
}

void file_memory::extents::do_deallocate(void* data, std::size_t bytes,
                                         std::size_t) {
  // Whole pages go back to the disk: of arrays that have grown, above all.
  const auto i = std::find_if(extents_.begin(), extents_.end(), [&](auto& y) {
    return y.at <= data && data < y.at + y.size;
  });
  assert(i != extents_.end());
  const auto offset =
    static_cast<std::size_t>(static_cast<std::byte*>(data) - i->at);
  const auto first = up_to(offset, page_bytes);
  const auto last = (offset + bytes) / page_bytes * page_bytes;
  if (first < last)
    ::madvise(i->at + first, last - first,
              i->in_file ? MADV_REMOVE : MADV_DONTNEED);
}

} // namespace hippo
