#include "hippo/checkpoint/checkpoint_file.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hippo/checkpoint/foreign_file.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// How the name of a file ends that is not finished yet.
constexpr std::string_view part_ending = ".part";

std::string reason(int code) {
  return std::generic_category().message(code);
}

error cannot_read(const std::string& path, int code) {
  return {errc::io_failed,
          "cannot read checkpoint " + path + ": " + reason(code)};
}

error bad(const std::string& path, const std::string& why) {
  return {errc::bad_checkpoint, "checkpoint " + path + " " + why};
}

error bad_name(errc code, const std::string& name) {
  return {code, "'" + name + "' is not the name of a checkpoint"};
}

/// Waits until what is in `file` is on the disk.
/// @returns 0 or the `errno` of what failed
int sync(const file_descriptor& file) {
  return file && ::fsync(file.number()) == 0 ? 0 : errno;
}

/// Returns what time it is, in seconds, to the file system of a folder: on a
/// shared one not what this machine's clock says.
std::optional<std::time_t> clock_of(const std::string& folder) {
  auto path = folder + "/.hippo-clock-XXXXXX";
  const file_descriptor probe{::mkostemp(path.data(), O_CLOEXEC)};
  if (!probe)
    return std::nullopt;
  struct stat about {};
  const bool known = ::fstat(probe.number(), &about) == 0;
  ::unlink(path.c_str());
  return known ? std::optional{about.st_mtime} : std::nullopt;
}

/// Whether the writer of a temporary file is gone: nothing has been written for
/// long, and nobody holds the file's lock. A lock alone would not do, for some
/// shared file systems keep locks within each machine; nor would its age, for a
/// disk may keep a writer waiting.
bool is_left_behind(const fs::path& part, std::time_t now) {
  // NFS locks only what is open for writing.
  const auto x = open_foreign_file(part, true);
  struct stat about {};
  if (!x || ::fstat(x.file.number(), &about) != 0)
    return false;
  return now - about.st_mtime >= unfinished_age_min.count()
         && (::flock(x.file.number(), LOCK_EX | LOCK_NB) == 0
             || errno != EWOULDBLOCK);
}

} // namespace

bool is_checkpoint_name(const std::string& name) noexcept {
  return !name.empty() && name.size() <= checkpoint_name_bytes_max
         && name.front() != '.'
         && name.find_first_of(std::string_view{"/\0", 2}) == std::string::npos;
}

// -- checkpoint_writer --------------------------------------------------------

expected<checkpoint_writer> checkpoint_writer::open(const std::string& folder,
                                                    const std::string& name) {
  if (!is_checkpoint_name(name))
    return bad_name(errc::invalid_argument, name);
  auto part = (fs::path{folder} / name).string() + ".XXXXXX";
  part += part_ending;
  file_descriptor file{
    ::mkostemps(part.data(), static_cast<int>(part_ending.size()), O_CLOEXEC)};
  const auto code = file ? 0 : errno;
  if (code != 0)
    part.clear(); // there is nothing to remove
  else // goes with this process; where there are no locks, its age must do
    ::flock(file.number(), LOCK_EX | LOCK_NB);
  checkpoint_writer result{folder, name, std::move(part), std::move(file)};
  if (code != 0)
    return result.failed(code);
  return result;
}

checkpoint_writer::checkpoint_writer(std::string folder, std::string name,
                                     std::string part, file_descriptor file)
  : folder_(std::move(folder)), name_(std::move(name)), part_(std::move(part)),
    file_(std::move(file)) {}

checkpoint_writer::checkpoint_writer(checkpoint_writer&& other) noexcept
  : folder_(std::move(other.folder_)), name_(std::move(other.name_)),
    part_(std::exchange(other.part_, {})), file_(std::move(other.file_)),
    bytes_(other.bytes_), hasher_(std::move(other.hasher_)) {}

checkpoint_writer::~checkpoint_writer() {
  if (!part_.empty())
    ::unlink(part_.c_str());
}

std::optional<error> checkpoint_writer::append(const void* data,
                                               std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  for (auto left = size; left > 0;) {
    const auto n = ::write(file_.number(), at, left);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed(errno);
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  bytes_ += size;
  hasher_.add(data, size);
  return std::nullopt;
}

checkpoint checkpoint_writer::written() const {
  return {name_, bytes_, hasher_.digest()};
}

std::optional<error> checkpoint_writer::commit(durability how) {
  const bool synced = how == durability::synced;
  auto code = synced ? sync(file_) : 0;
  const auto path = fs::path{folder_} / name_;
  if (code == 0 && ::rename(part_.c_str(), path.c_str()) != 0)
    code = errno;
  if (code == 0 && synced) {
    part_ = path; // to be removed if the folder cannot be synced
    code = sync(file_descriptor{
      ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)});
  }
  if (code != 0) {
    ::unlink(part_.c_str());
    part_.clear();
    return failed(code);
  }
  part_.clear();
  return std::nullopt;
}

error checkpoint_writer::failed(int code) const {
  return {errc::io_failed, "cannot write checkpoint "
                             + (fs::path{folder_} / name_).string() + ": "
                             + reason(code)};
}

// -- checkpoint_reader --------------------------------------------------------

expected<checkpoint_reader>
checkpoint_reader::open(const std::string& folder,
                        const checkpoint& checkpoint) {
  if (!is_checkpoint_name(checkpoint.file))
    return bad_name(errc::bad_checkpoint, checkpoint.file);
  auto path = (fs::path{folder} / checkpoint.file).string();
  using state = foreign_file::state;
  auto found = open_foreign_file(path);
  switch (found.is) {
    case state::missing: return bad(path, "is missing");
    case state::no_file:
      return bad(path, "is no file but a link, a pipe, a folder or a device");
    case state::failed: return cannot_read(path, found.code);
    case state::open: break;
  }
  if (found.bytes != checkpoint.bytes)
    return bad(path, "is not of the " + std::to_string(checkpoint.bytes)
                       + " bytes that were written, but of "
                       + std::to_string(found.bytes));
  return checkpoint_reader{std::move(path), checkpoint, std::move(found.file)};
}

checkpoint_reader::checkpoint_reader(std::string path,
                                     const checkpoint& checkpoint,
                                     file_descriptor file)
  : path_(std::move(path)), bytes_(checkpoint.bytes), left_(checkpoint.bytes),
    digest_(checkpoint.digest), file_(std::move(file)) {}

std::optional<error> checkpoint_reader::read_at(std::uint64_t offset, void* out,
                                                std::size_t size) const {
  for (std::size_t done = 0; done < size;) {
    const auto n = ::pread(file_.number(), static_cast<char*>(out) + done,
                           size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return cannot_read(path_, errno);
    if (n == 0)
      return bad(path_, "became shorter while it was read");
    done += static_cast<std::size_t>(n);
  }
  return std::nullopt;
}

std::optional<error> checkpoint_reader::read(void* out, std::size_t size) {
  assert(size <= left_);
  if (auto why = read_at(bytes_ - left_, out, size))
    return why;
  hasher_.add(out, size);
  left_ -= size;
  if (left_ == 0 && hasher_.digest() != digest_)
    return bad(path_, "is damaged: its digest is not the one that was written");
  return std::nullopt;
}

// -- whole files --------------------------------------------------------------

expected<checkpoint> write_checkpoint(const std::string& folder,
                                      const std::string& name,
                                      const content_source& bytes,
                                      durability how) {
  auto writer = checkpoint_writer::open(folder, name);
  if (!writer)
    return writer.failure();
  auto failed = pass_on(bytes, [&](const char* data, std::size_t size) {
    return writer->append(data, size);
  });
  if (!failed)
    failed = writer->commit(how);
  if (failed)
    return *failed;
  return writer->written();
}

expected<checkpoint> write_checkpoint(const std::string& folder,
                                      const std::string& name,
                                      std::string bytes, durability how) {
  return write_checkpoint(folder, name, memory_source{std::move(bytes)}, how);
}

bool is_complete(const std::string& folder, const checkpoint& checkpoint) {
  return checkpoint_reader::open(folder, checkpoint)
         && std::ranges::all_of(checkpoint.part_files, [&](const auto& x) {
              return static_cast<bool>(
                checkpoint_reader::open(folder, {x.file, x.bytes, x.digest}));
            });
}

expected<std::string> read_checkpoint(const std::string& folder,
                                      const checkpoint& checkpoint) {
  auto reader = checkpoint_reader::open(folder, checkpoint);
  if (!reader)
    return reader.failure();
  std::string bytes(checkpoint.bytes, '\0');
  if (auto failed = reader->read(bytes.data(), bytes.size()))
    return *failed;
  return bytes;
}

void remove_unfinished_checkpoints(const std::string& folder) noexcept {
  std::error_code failed;
  std::vector<fs::path> unfinished;
  for (fs::directory_iterator i{folder, failed}, end; !failed && i != end;
       i.increment(failed))
    if (i->path().filename().string().ends_with(part_ending))
      unfinished.push_back(i->path());
  if (unfinished.empty())
    return;
  const auto now = clock_of(folder);
  for (const auto& x : unfinished)
    if (now && is_left_behind(x, *now))
      fs::remove(x, failed);
}

} // namespace hippo
