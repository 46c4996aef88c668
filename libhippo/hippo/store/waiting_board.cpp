#include "hippo/store/waiting_board.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

std::string board_of(const std::string& folder) { return folder + "/waiting"; }

/// A page of the board: a digest of what is on it, which is at its beginning,
/// so that one that was read while it was written counts for nothing.
std::string page_with(const std::string& text) {
  auto result = hash_text(text) + '\n' + text + '\n';
  result.resize(waiting_board::bytes_max, ' ');
  return result;
}

std::string text_on(std::string_view page) {
  const auto digest = page.substr(0, page.find('\n'));
  if (digest.size() == page.size())
    return {};
  page.remove_prefix(digest.size() + 1);
  std::string text{page.substr(0, page.find('\n'))};
  return hash_text(text) == digest ? text : std::string{};
}

} // namespace

expected<waiting_board> waiting_board::make(const std::string& folder) {
  const auto path = board_of(folder);
  file_descriptor file{
    ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT, 0644)};
  const auto page = page_with("{}");
  // Readers hold the lock for a moment, to see that nobody else does.
  if (!file || ::flock(file.number(), LOCK_EX) != 0
      || ::pwrite(file.number(), page.data(), page.size(), 0)
           != static_cast<ssize_t>(page.size()))
    return {errc::io_failed,
            "cannot write " + path + ": " + std::strerror(errno)};
  return waiting_board{std::move(file)};
}

void waiting_board::tell(const notes& xs) {
  if (xs == told_)
    return;
  told_ = xs;
  auto all = nlohmann::json::object();
  std::size_t bytes = 0;
  for (const auto& [study, why] : xs) {
    if (why.empty())
      continue;
    const auto escaped = nlohmann::json(why).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
    bytes += to_string(study).size() + escaped.size() + 4;
    if (bytes > bytes_max / 2)
      break;
    all[to_string(study)] = why;
  }
  const auto page = page_with(all.dump(
    -1, ' ', false, nlohmann::json::error_handler_t::replace));
  // Its room is there; whatever fails is told elsewhere.
  [[maybe_unused]] const auto n
    = ::pwrite(file_.number(), page.data(), page.size(), 0);
}

waiting_board::notes waiting_board::read(const std::string& folder) {
  const file_descriptor file{
    ::open(board_of(folder).c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file || ::flock(file.number(), LOCK_SH | LOCK_NB) == 0)
    return {}; // nobody works there
  std::string page(bytes_max, '\0');
  const auto n = ::pread(file.number(), page.data(), page.size(), 0);
  if (n <= 0)
    return {};
  page.resize(static_cast<std::size_t>(n));
  const auto all = nlohmann::json::parse(text_on(page), nullptr, false);
  notes result;
  if (all.is_object())
    for (const auto& [study, why] : all.items())
      if (why.is_string())
        result.emplace(study_id{std::strtoull(study.c_str(), nullptr, 10)},
                       why.get<std::string>());
  return result;
}

} // namespace hippo
