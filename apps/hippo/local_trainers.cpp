#include "local_trainers.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/train/device.hpp"
#include "log_format.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

/// How long all of them together may take to end once there is no service.
constexpr auto farewell_patience = 2s;

/// How long a trainer stays down before it is started again: at first, and at
/// most.
constexpr auto rest_first = 1s;
constexpr auto rest_last = 60s;

/// Lines of a dead trainer's log that are shown.
constexpr std::size_t last_words_lines = 5;

} // namespace

std::optional<error>
local_trainers::start(const workload_catalogue& catalogue,
                      const local_trainer_options& options,
                      std::uint16_t port, const std::string& logs) {
  std::error_code failed;
  std::filesystem::create_directories(logs, failed);
  if (failed)
    return error{errc::io_failed, logs + ": " + failed.message()};
  auto data_memory = options.data_memory_bytes;
  if (const auto all = machine_memory_bytes(); !data_memory && all > 0)
    data_memory = all / 2 / std::max<std::size_t>(options.devices.size(), 1);
  for (const auto& device : options.devices) {
    const auto number = std::to_string(trainers_.size() + 1);
    auto command = catalogue.trainer_command();
    command.insert(command.end(),
                   {"--connect", "127.0.0.1:" + std::to_string(port),
                    "--device", device,
                    "--threads", std::to_string(options.threads),
                    "--grace", to_text(options.grace_seconds),
                    "--parent", std::to_string(::getpid())});
    if (options.at_once)
      command.insert(command.end(),
                     {"--at-once", std::to_string(*options.at_once)});
    if (options.prepare_threads)
      command.insert(command.end(), {"--prepare-threads",
                                     std::to_string(*options.prepare_threads)});
    if (data_memory)
      command.insert(command.end(),
                     {"--data-memory", std::to_string(*data_memory)});
    if (options.members > 1)
      command.insert(command.end(),
                     {"--members", std::to_string(options.members)});
    else
      command.insert(command.end(), {"--gang-listen", "127.0.0.1"});
    if (const auto& numerics = options.numerics; !numerics.empty())
      command.insert(command.end(),
                     {"--numerics",
                      numerics[trainers_.size() % numerics.size()]});
    if (const auto& ranks = options.ranks; !ranks.empty())
      command.insert(
        command.end(),
        {"--ranks", std::to_string(ranks[trainers_.size() % ranks.size()])});
    auto log = logs + "/trainer-" + number + ".log";
    auto started = child_process::start(command, log);
    if (!started)
      return started.failure();
    trainers_.push_back({"trainer " + number, std::move(command),
                         std::move(log), std::move(*started), false,
                         backoff{rest_first, rest_last}, {}});
  }
  return std::nullopt;
}

void local_trainers::mourn(entry& place, const std::string& and_then,
                           const say_function& say) {
  const auto end = place.process.ended();
  if (!end || std::exchange(place.mourned, true))
    return;
  place.due = clock::now() + place.patience.next();
  auto words = place.process.last_words(last_words_lines);
  if (!words.empty())
    words = "\n" + words;
  if (!words.empty() && words.back() == '\n')
    words.pop_back();
  say(place.name + " died with " + *end + and_then + words);
}

bool local_trainers::look_after(const say_function& say) {
  const bool any_left
    = std::any_of(trainers_.begin(), trainers_.end(),
                  [](auto& x) { return !x.process.ended(); });
  for (auto& x : trainers_) {
    mourn(x, any_left ? "; the others take over its work" : "", say);
    keep_small(x.log);
  }
  return any_left;
}

void local_trainers::revive(const say_function& say) {
  for (auto& x : trainers_) {
    mourn(x, "; it is started again", say);
    keep_small(x.log);
    if (!x.mourned || clock::now() < x.due)
      continue;
    if (auto started = child_process::start(x.command, x.log)) {
      x.process = std::move(*started);
      x.mourned = false;
    } else {
      x.due = clock::now() + x.patience.next();
      say(started.failure().message);
    }
  }
}

void local_trainers::wait() {
  const auto deadline = clock::now() + farewell_patience;
  for (auto& x : trainers_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - clock::now());
    x.process.wait(std::max(left, 0ms));
  }
}

} // namespace hippo
