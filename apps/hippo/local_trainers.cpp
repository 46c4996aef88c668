#include "local_trainers.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// How long all of them together may take to end once there is no service.
constexpr auto farewell_patience = 2s;

/// Lines of a dead trainer's log that are shown.
constexpr std::size_t last_words_lines = 5;

} // namespace

std::optional<error> local_trainers::start(const workload_catalogue& catalogue,
                                           unsigned count, std::uint16_t port,
                                           const std::string& logs) {
  std::error_code failed;
  std::filesystem::create_directories(logs, failed);
  if (failed)
    return error{errc::io_failed, logs + ": " + failed.message()};
  for (unsigned i = 1; i <= count; ++i) {
    auto command = catalogue.trainer_command();
    command.insert(command.end(),
                   {"--connect", "127.0.0.1:" + std::to_string(port),
                    "--parent", std::to_string(::getpid())});
    auto started = child_process::start(
      command, logs + "/trainer-" + std::to_string(i) + ".log");
    if (!started)
      return started.failure();
    processes_.push_back(std::move(*started));
    mourned_.push_back(false);
  }
  return std::nullopt;
}

bool local_trainers::look_after(
  const std::function<void(const std::string&)>& say) {
  const bool any_left
    = std::any_of(processes_.begin(), processes_.end(),
                  [](auto& x) { return !x.ended(); });
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const auto end = processes_[i].ended();
    if (!end || mourned_[i])
      continue;
    mourned_[i] = true;
    auto words = processes_[i].last_words(last_words_lines);
    if (!words.empty())
      words = "\n" + words;
    if (!words.empty() && words.back() == '\n')
      words.pop_back();
    say("trainer " + std::to_string(i + 1) + " died with " + *end
        + (any_left ? "; the others take over its work" : "") + words);
  }
  return any_left;
}

void local_trainers::wait() {
  const auto deadline = clock::now() + farewell_patience;
  for (auto& x : processes_)
    x.wait(std::max(std::chrono::duration_cast<std::chrono::milliseconds>(
                      deadline - clock::now()),
                    0ms));
}

} // namespace hippo
