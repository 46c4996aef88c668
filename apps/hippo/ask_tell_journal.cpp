#include "ask_tell_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "hippo/base/whole_file.hpp"
#include "hippo/model/code/sha256.hpp"

namespace hippo {

namespace {

error io_error(const std::string& what, const std::string& path) {
  return {errc::io_failed,
          "cannot " + what + ' ' + path + ": " + std::strerror(errno)};
}

/// Reads an open file from its beginning. @returns nothing if that fails
std::optional<std::string> text_of(int file) {
  std::string result;
  char part[1 << 16];
  for (;;) {
    const auto count = ::read(file, part, sizeof(part));
    if (count < 0)
      return std::nullopt;
    if (count == 0)
      return result;
    result.append(part, static_cast<std::size_t>(count));
  }
}

} // namespace

expected<ask_tell_journal> ask_tell_journal::open(const std::string& path) {
  ask_tell_journal result;
  result.path_ = path;
  result.file_ = file_descriptor{
    ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)};
  const auto file = result.file_.number();
  if (file < 0)
    return io_error("open", path);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return {errc::in_use, "another process has the journal " + path};
  const auto text = text_of(file);
  if (!text)
    return io_error("read", path);
  std::size_t begin = 0;
  for (auto end = text->find('\n'); end != std::string::npos;
       begin = end + 1, end = text->find('\n', begin)) {
    auto line = json::parse(text->substr(begin, end - begin), nullptr, false);
    if (!line.is_object())
      return result.damage(result.lines_.size() + 1, "is no line of a journal");
    result.lines_.push_back(std::move(line));
  }
  // Of nothing that is no journal either, however short it is.
  if (result.lines_.empty() && !text->empty() && text->front() != '{')
    return result.damage(1, "is no line of a journal");
  if (::ftruncate(file, static_cast<off_t>(begin)) != 0)
    return io_error("cut", path);
  return result;
}

std::optional<std::string> ask_tell_journal::chosen() const {
  if (lines_.empty() || !lines_.front().contains("algorithm")
      || !lines_.front()["algorithm"].is_string())
    return std::nullopt;
  return lines_.front()["algorithm"].get<std::string>();
}

std::optional<error> ask_tell_journal::replay(const accepted_study& study,
                                              ask_tell& to) {
  const json first{{"study", sha256_of(study.text())},
                   {"algorithm", study.chosen()}};
  if (lines_.empty())
    return append(first);
  if (lines_.front() != first)
    return error{errc::invalid_argument,
                 "the journal " + path_
                   + " is that of another study: name"
                     " another file, or give the study as it was"};
  for (std::size_t i = 1; i < lines_.size(); ++i)
    if (const auto why = repeat(lines_[i], to))
      return damage(i + 1, *why);
  lines_.clear();
  to.give_again();
  return std::nullopt;
}

std::optional<std::string> ask_tell_journal::repeat(const json& line,
                                                    ask_tell& on) {
  const auto place_in = [&](const char* key) {
    return line.at(key).get<std::pair<trial_no, step_t>>();
  };
  try {
    if (line.contains("asked")) {
      const auto work = on.ask();
      if (!work || std::pair{work->trial, work->to} != place_in("asked"))
        return "asks otherwise than this version of hippo does: go on with the"
               " version that wrote it";
      return std::nullopt;
    }
    const bool has_failed = line.contains("failed");
    const auto [trial, to] = place_in(has_failed ? "failed" : "told");
    const auto why = has_failed
                       ? on.fail(trial, to)
                       : on.tell(trial, to, line.at("values").get<metrics>());
    return why ? std::optional{why->message} : std::nullopt;
  } catch (const json::exception&) {
    return "is no line of a journal";
  }
}

std::optional<error> ask_tell_journal::add_ask(const trial_work& work) {
  return append({{"asked", {work.trial, work.to}}});
}

std::optional<error> ask_tell_journal::add_tell(trial_no trial, step_t to,
                                                const metrics& values) {
  return append({{"told", {trial, to}}, {"values", values}});
}

std::optional<error> ask_tell_journal::add_failure(trial_no trial, step_t to) {
  return append({{"failed", {trial, to}}});
}

std::optional<error> ask_tell_journal::append(const json& line) {
  errno = write_all(file_.number(), line.dump() + '\n');
  if (errno != 0)
    return io_error("write to", path_);
  return std::nullopt;
}

error ask_tell_journal::damage(std::size_t line, const std::string& why) const {
  return {errc::invalid_argument,
          path_ + ':' + std::to_string(line) + ": " + why};
}

} // namespace hippo
