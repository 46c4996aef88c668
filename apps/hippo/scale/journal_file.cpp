#include "scale/journal_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "hippo/base/whole_file.hpp"

namespace hippo {

namespace {

error io_error(const std::string& what, const std::string& path) {
  return {errc::io_failed,
          "cannot " + what + ' ' + path + ": " + std::strerror(errno)};
}

} // namespace

journal_file::journal_file(journal_file&& other) noexcept
  : path_(std::move(other.path_)), content_(std::move(other.content_)),
    lock_(std::exchange(other.lock_, -1)) {}

journal_file& journal_file::operator=(journal_file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(content_, other.content_);
  std::swap(lock_, other.lock_);
  return *this;
}

journal_file::~journal_file() {
  if (lock_ >= 0)
    ::close(lock_);
}

expected<journal_file> journal_file::open(const std::string& path) {
  journal_file result;
  result.path_ = path;
  std::error_code ignored;
  const auto folder = std::filesystem::path{path}.parent_path();
  std::filesystem::create_directories(folder, ignored);
  const auto lock = path + ".lock";
  result.lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (result.lock_ < 0)
    return io_error("open", lock);
  if (::flock(result.lock_, LOCK_EX | LOCK_NB) != 0)
    return {errc::in_use, "another hippo scale has this fleet: it holds " + lock
                            + "; another fleet needs another --fleet"};
  std::ifstream in{path};
  std::stringstream text;
  text << in.rdbuf();
  auto read = read_journal(text.str());
  if (!read)
    return error{read.failure().code, path + ' ' + read.failure().message};
  result.content_ = std::move(*read);
  return result;
}

std::optional<error> journal_file::save(const scale_journal& content) {
  if (content == content_)
    return std::nullopt;
  if (auto why = write_whole(path_, to_text(content), {.mode = 0600}))
    return why;
  content_ = content;
  return std::nullopt;
}

expected<std::string> usual_journal(const std::string& fleet) {
  const auto set = [](const char* name) {
    const auto* value = std::getenv(name);
    return std::string{value == nullptr ? "" : value};
  };
  auto folder = set("XDG_STATE_HOME");
  if (folder.empty() && !set("HOME").empty())
    folder = set("HOME") + "/.local/state";
  if (folder.empty())
    return {errc::invalid_argument,
            "HOME is not set: say by --journal where the journal is to be"};
  return folder + "/hippo/scale-" + fleet + ".json";
}

} // namespace hippo
