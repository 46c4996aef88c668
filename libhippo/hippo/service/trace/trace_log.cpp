#include "hippo/service/trace/trace_log.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "hippo/base/file_descriptor.hpp"

namespace hippo {

expected<std::shared_ptr<trace_log>>
trace_log::open(const std::string& path, std::uint64_t bytes_max,
                std::function<void()> note_full) {
  // It holds the code of studies, for its owner alone.
  file_descriptor opened{
    ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  file made{opened ? ::fdopen(opened.number(), "wb") : nullptr};
  if (made)
    static_cast<void>(opened.release());
  else
    return {errc::io_failed,
            "cannot write the trace " + path + ": " + std::strerror(errno)};
  return std::shared_ptr<trace_log>{
    new trace_log{std::move(made), bytes_max, std::move(note_full)}};
}

trace_log::trace_log(file to, std::uint64_t bytes_max,
                     std::function<void()> note_full)
  : file_(std::move(to)), bytes_left_(bytes_max),
    note_full_(std::move(note_full)) {}

std::string trace_log::name_of(const std::string& core) {
  const std::lock_guard lock{mutex_};
  const auto count = ++named_[core];
  return count == 1 ? core : core + " (" + std::to_string(count) + ')';
}

void trace_log::write(const std::string& line) {
  const std::lock_guard lock{mutex_};
  if (!file_)
    return;
  const auto size = line.size() + 1;
  if (size <= bytes_left_
      && std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size()
      && std::fputc('\n', file_.get()) != EOF
      && std::fflush(file_.get()) == 0) {
    bytes_left_ -= size;
    return;
  }
  file_.reset();
  if (note_full_)
    note_full_();
}

} // namespace hippo
