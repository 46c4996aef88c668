#include "child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "hippo/train/process/spawn_plan.hpp"

namespace hippo {

child_process::child_process(pid_t pid, std::string log)
  : pid_(pid), log_(std::move(log)) {}

child_process::child_process(child_process&& other) noexcept
  : pid_(std::exchange(other.pid_, -1)),
    log_(std::move(other.log_)),
    ended_(std::move(other.ended_)) {}

child_process& child_process::operator=(child_process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(log_, other.log_);
  std::swap(ended_, other.ended_);
  return *this;
}

child_process::~child_process() { wait(std::chrono::milliseconds{0}); }

expected<child_process>
child_process::start(const std::vector<std::string>& command,
                     const std::string& log) {
  spawn_plan plan;
  plan.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  plan.open(STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  plan.copy(STDOUT_FILENO, STDERR_FILENO);
  plan.own_group();
  auto pid = plan.start(command);
  if (!pid)
    return pid.failure();
  return child_process{*pid, log};
}

std::optional<std::string> child_process::ended() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = -1;
    ended_ = describe_end(status);
  }
  return ended_;
}

void child_process::wait(std::chrono::milliseconds patience) {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + patience;
  while (pid_ > 0 && !ended()) {
    if (clock::now() >= deadline) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
      ended_ = "killed";
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

std::string child_process::last_words(std::size_t lines) const {
  std::ifstream in(log_);
  std::deque<std::string> kept;
  for (std::string line; std::getline(in, line);) {
    kept.push_back(std::move(line));
    if (kept.size() > lines)
      kept.pop_front();
  }
  std::string result;
  for (const auto& line : kept)
    result += line + '\n';
  return result;
}

expected<program_output> run_program(const std::vector<std::string>& command) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0
      || ::pipe2(err.data(), O_CLOEXEC) != 0)
    return {errc::io_failed, std::string{"cannot make a pipe: "}
                               + std::strerror(errno)};
  spawn_plan plan;
  plan.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  plan.copy(out[1], STDOUT_FILENO);
  plan.copy(err[1], STDERR_FILENO);
  auto pid = plan.start(command);
  ::close(out[1]);
  ::close(err[1]);
  program_output result;
  if (pid) {
    std::array<pollfd, 2> ready{{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
    const std::array<std::string*, 2> sinks{&result.out, &result.err};
    for (int open = 2; open > 0;) {
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR)
        break;
      for (std::size_t i = 0; i < ready.size(); ++i) {
        if (ready[i].revents == 0)
          continue;
        std::array<char, 4096> part{};
        const auto n = ::read(ready[i].fd, part.data(), part.size());
        if (n > 0) {
          sinks[i]->append(part.data(), static_cast<std::size_t>(n));
        } else if (n == 0 || errno != EINTR) {
          ready[i].fd = -1; // poll passes it over from now on
          --open;
        }
      }
    }
    int status = 0;
    ::waitpid(*pid, &status, 0);
    if (WIFEXITED(status))
      result.exit_code = WEXITSTATUS(status);
  }
  ::close(out[0]);
  ::close(err[0]);
  if (!pid)
    return pid.failure();
  return result;
}

std::string sibling_trainer() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto dir = self.parent_path();
  // In a build tree each program has a folder of its own.
  const auto built = dir.parent_path() / "hippo-trainer";
  for (const auto& folder : {built, dir})
    for (const auto* name : {"hippo-trainer", "hippo-trainer-plain"})
      if (std::filesystem::is_regular_file(folder / name, ignored))
        return (folder / name).string();
  return (dir / "hippo-trainer").string();
}

} // namespace hippo
