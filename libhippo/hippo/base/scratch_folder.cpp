#include "hippo/base/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// How often a folder is made anew that was swept before it could be locked.
constexpr int attempts_max = 16;

constexpr std::string_view pattern = ".XXXXXX";

/// Whether a folder of that name may be one of these.
bool is_ours(std::string_view name) {
  constexpr std::string_view begin = "hippo";
  if (!name.starts_with(begin) || name.size() < begin.size() + pattern.size())
    return false;
  const auto kind = name.substr(begin.size(),
                                name.size() - begin.size() - pattern.size());
  return name[name.size() - pattern.size()] == '.'
         && (kind.empty() || kind[0] == '-')
         && std::all_of(kind.begin(), kind.end(), [](char c) {
              return c == '-' || (c >= 'a' && c <= 'z');
            });
}

int open_folder(const char* path) {
  return ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Whether there is a folder, this one, under a path.
bool is_at(int folder, const char* path) {
  struct stat here {};
  struct stat there {};
  return ::fstat(folder, &here) == 0 && ::lstat(path, &there) == 0
         && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/// Removes the folders of those that were killed. Where there are no locks it
/// removes nothing.
void sweep(const fs::path& place) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator i{place, ignored}, end; !ignored && i != end;
       i.increment(ignored))
    if (is_ours(i->path().filename().native()))
      found.push_back(i->path());
  for (const auto& path : found) {
    const int folder = open_folder(path.c_str());
    if (folder < 0)
      continue;
    struct stat about {};
    if (::fstat(folder, &about) == 0 && about.st_uid == ::geteuid()
        && ::flock(folder, LOCK_EX | LOCK_NB) == 0
        && is_at(folder, path.c_str()))
      fs::remove_all(path, ignored);
    ::close(folder);
  }
}

/// Makes a folder and locks it. @returns its descriptor, or -1 and `errno`
int make_in(std::string& path) {
  for (int i = 0; i < attempts_max; ++i) {
    auto name = path;
    if (::mkdtemp(name.data()) == nullptr)
      return -1;
    const int folder = open_folder(name.c_str());
    if (folder < 0 && errno != ENOENT) {
      const auto why = errno;
      ::rmdir(name.c_str());
      errno = why;
      return -1;
    }
    // Somebody who sweeps may have been faster.
    const bool is_swept = folder >= 0
                          && ::flock(folder, LOCK_EX | LOCK_NB) != 0
                          && errno == EWOULDBLOCK;
    if (folder >= 0 && !is_swept && is_at(folder, name.c_str())) {
      path = std::move(name);
      return folder;
    }
    if (folder >= 0)
      ::close(folder);
  }
  errno = EBUSY;
  return -1;
}

} // namespace

expected<scratch_folder> scratch_folder::make(const std::string& name) {
  std::error_code ignored;
  std::optional<error> why; // of the first place
  for (const auto& place : {fs::temp_directory_path(ignored),
                            fs::path{"/tmp"}, fs::path{"/dev/shm"}}) {
    if (place.empty())
      continue;
    sweep(place);
    auto path = (place / (name + std::string{pattern})).string();
    if (const int lock = make_in(path); lock >= 0)
      return scratch_folder{std::move(path), lock};
    if (!why)
      why = error{errc::io_failed, "cannot make a folder in " + place.string()
                                     + ": " + std::strerror(errno)
                                     + " (TMPDIR names another place)"};
  }
  return *why;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  if (!path_.empty())
    fs::remove_all(path_, ignored);
  if (lock_ >= 0)
    ::close(lock_); // last: until then nobody takes it for left behind
}

} // namespace hippo
