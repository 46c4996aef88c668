#include "hippo/checkpoint/initial/initial_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/foreign_file.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/model/code/study_code.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t part_bytes = 1 << 20;

error refused(const fs::path& path, const std::string& why) {
  return {errc::invalid_argument, path.string() + ' ' + why};
}

error cannot_read(const fs::path& path, int code) {
  return {errc::io_failed, "cannot read " + path.string() + ": "
                             + std::generic_category().message(code)};
}

/// Reads an open file to its end.
/// @param take is given each part
/// @returns the first failure, of reading or of `take`
std::optional<error> read_parts(
  const file_descriptor& file, const fs::path& path,
  const std::function<std::optional<error>(const char*, std::size_t)>& take) {
  std::vector<char> part(part_bytes);
  for (;;) {
    const auto read = ::read(file.number(), part.data(), part.size());
    if (read < 0 && errno == EINTR)
      continue;
    if (read < 0)
      return cannot_read(path, errno);
    if (read == 0)
      return std::nullopt;
    if (auto why = take(part.data(), static_cast<std::size_t>(read)))
      return why;
  }
}

/// The attributes of a file that change whenever its content does.
using file_stamp = std::tuple<dev_t, ino_t, off_t, time_t, long>;

file_stamp stamp_of(const file_descriptor& file) {
  struct stat about {};
  ::fstat(file.number(), &about);
  return {about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec,
          about.st_mtim.tv_nsec};
}

/// Reads a regular file that is no link.
expected<initial_file> digest_file(const fs::path& path) {
  const auto found = open_foreign_file(path.string());
  switch (found.is) {
    case foreign_file::state::missing:
      return refused(path, "is not there");
    case foreign_file::state::no_file:
      return refused(path, "is no file but a pipe, a device or a link that "
                           "leads nowhere");
    case foreign_file::state::failed:
      return cannot_read(path, found.code);
    case foreign_file::state::open:
      break;
  }
  const auto before = stamp_of(found.file);
  sha256_hasher hasher;
  initial_file result;
  if (auto why = read_parts(found.file, path, [&](const char* data, auto size) {
        hasher.add(data, size);
        result.bytes += size;
        return result.bytes <= initial_bytes_max
                 ? std::nullopt
                 : std::optional{refused(
                   path, "has more than " + std::to_string(initial_bytes_max)
                           + " bytes, the most that an initial state may "
                             "have")};
      }))
    return *why;
  if (stamp_of(found.file) != before || result.bytes != found.bytes)
    return refused(path, "changed while it was read: send the study again "
                         "once nobody writes it");
  result.sha256 = hasher.digest();
  return result;
}

/// The files that this process has found to have the content of their digest.
/// Thread-safe.
class known_contents {
public:
  bool has(const file_stamp& stamp, const std::string& sha256) {
    const std::lock_guard guard{mutex_};
    const auto i = known_.find(stamp);
    return i != known_.end() && i->second == sha256;
  }
  void add(const file_stamp& stamp, const std::string& sha256) {
    const std::lock_guard guard{mutex_};
    known_[stamp] = sha256;
  }

private:
  std::mutex mutex_;
  std::map<file_stamp, std::string> known_;
};

/// Whether `path` is `folder`, or lies in it.
bool is_within(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

expected<initial_state> read_folder(const fs::path& folder) {
  initial_state result;
  result.is_folder = true;
  result.path = folder.string();
  std::error_code failed;
  for (fs::recursive_directory_iterator i{folder, failed}, end;
       !failed && i != end; i.increment(failed)) {
    std::error_code unknown;
    const auto real = fs::canonical(i->path(), unknown);
    if (unknown)
      return refused(i->path(), "is a link that leads nowhere: remove it");
    if (!is_within(real, folder))
      return refused(i->path(), "is a link that leads out of the folder, to "
                                  + real.string()
                                  + ": copy the folder with cp -rL, and name "
                                    "the copy");
    if (i->is_directory(unknown)) {
      if (i->is_symlink(unknown))
        return refused(i->path(), "is a link to a folder: copy the folder with "
                                  "cp -rL, and name the copy");
      continue;
    }
    if (result.files.size() == initial_files_max)
      return refused(folder, "has more than "
                               + std::to_string(initial_files_max)
                               + " files, the most that an initial state may "
                                 "have");
    auto file = digest_file(real);
    if (!file)
      return file.failure();
    result.files.emplace(i->path().lexically_relative(folder).string(),
                         std::move(*file));
  }
  if (failed)
    return cannot_read(folder, failed.value());
  if (result.files.empty())
    return refused(folder, "has no files");
  return result;
}

} // namespace

expected<initial_state> read_initial_state(const std::string& path) {
  std::error_code failed;
  const auto real = fs::canonical(path, failed);
  if (failed)
    return refused(path, "is not there");
  if (fs::is_directory(real, failed)) {
    auto result = read_folder(real);
    if (!result)
      return result.failure();
    if (auto why = check_files({{}, {}, {}, *result}))
      return error{errc::invalid_argument, path + ": " + why->message};
    return result;
  }
  auto file = digest_file(real);
  if (!file)
    return file.failure();
  initial_state result;
  result.path = real.string();
  const auto ending = fs::path{path}.extension().string();
  result.files.emplace("state" + ending, std::move(*file));
  return result;
}

std::optional<error> check_content(const std::string& path,
                                   const initial_file& file) {
  const auto found = open_foreign_file(path);
  if (found.is == foreign_file::state::failed)
    return cannot_read(path, found.code);
  const auto bad = [&](const char* why) {
    return error{errc::bad_checkpoint,
                 "the file " + path + " of an initial state " + why};
  };
  if (!found)
    return bad("is missing");
  if (found.bytes != file.bytes)
    return bad("is of another size than the study's");
  static known_contents known;
  const auto stamp = stamp_of(found.file);
  if (known.has(stamp, file.sha256))
    return std::nullopt;
  sha256_hasher hasher;
  if (auto why = read_parts(found.file, path, [&](const char* data, auto size) {
        hasher.add(data, size);
        return std::optional<error>{};
      }))
    return why;
  if (hasher.digest() != file.sha256)
    return bad("has another content than the study's");
  known.add(stamp, file.sha256);
  return std::nullopt;
}

void protect_content(const std::string& path) noexcept {
  std::error_code ignored;
  fs::permissions(path,
                  fs::perms::owner_write | fs::perms::group_write
                    | fs::perms::others_write,
                  fs::perm_options::remove, ignored);
}

std::optional<error> place_initial_state(const initial_state& state,
                                         const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return error{errc::io_failed, folder + ": " + failed.message()};
  for (const auto& [path, file] : state.files) {
    if (is_foreign_file_of(folder + '/' + file.sha256, file.bytes))
      continue;
    const auto from = source_path(state, path);
    const auto found = open_foreign_file(from);
    if (!found)
      return refused(from, "is not there any more");
    auto to = checkpoint_writer::open(folder, file.sha256);
    if (!to)
      return to.failure();
    sha256_hasher hasher;
    if (auto why =
          read_parts(found.file, from, [&](const char* data, auto size) {
            hasher.add(data, size);
            return to->append(data, size);
          }))
      return why;
    if (hasher.digest() != file.sha256)
      return refused(from, "has changed since it was read: send the study "
                           "again");
    if (auto why = to->commit())
      return why;
    protect_content(folder + '/' + file.sha256);
  }
  return std::nullopt;
}

std::optional<error> check_initial_state(const initial_state& state,
                                         const std::string& folder) {
  for (const auto& [path, file] : state.files)
    if (!is_foreign_file_of(folder + '/' + file.sha256, file.bytes))
      return error{errc::invalid_study,
                   "the file '" + path
                     + "' of the initial state is not in the "
                       "state folder of the service: send the study again with "
                       "hippo submit or the Python client"};
  return std::nullopt;
}

expected<laid_out_state> laid_out_state::make(const initial_state& state,
                                              const content_finder& find) {
  auto folder = scratch_folder::make("hippo-initial");
  if (!folder)
    return folder.failure();
  for (const auto& [path, file] : state.files) {
    const auto found = find(path, file);
    if (!found)
      return found.failure();
    if (auto why = check_content(*found, file))
      return *why;
    const auto link = fs::path{folder->path()} / path;
    std::error_code failed;
    fs::create_directories(link.parent_path(), failed);
    if (!failed)
      fs::create_symlink(fs::absolute(*found), link, failed);
    if (failed)
      return {errc::io_failed,
              "cannot write " + link.string() + ": " + failed.message()};
  }
  auto path =
    state.is_folder ? folder->path() : folder->file(state.files.begin()->first);
  return laid_out_state{std::move(*folder), std::move(path)};
}

} // namespace hippo
