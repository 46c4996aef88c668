#include "hippo/process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include "hippo/core/utf8.hpp"
#include "hippo/plan/lease.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;

/// How often a program is looked at that is about to end.
constexpr useconds_t end_look_us = 500;

/// The process groups of all children of this program.
struct child_groups {
  std::mutex mutex;
  std::set<pid_t> ids;
};

child_groups& groups() {
  static child_groups result;
  return result;
}

} // namespace

void output_tail::add(std::string_view bytes) {
  kept_ += bytes;
  // Seldom, so that each byte is moved a few times at most.
  if (kept_.size() > 2 * output_bytes_max) {
    const auto excess = kept_.size() - output_bytes_max;
    kept_.erase(0, excess);
    left_out_ += excess;
  }
}

std::string output_tail::take() {
  constexpr std::size_t note_bytes_max = 64;
  constexpr auto most = output_bytes_max - note_bytes_max;
  // Characters may grow: what is no text becomes a question mark, no more.
  auto text = to_utf8(std::exchange(kept_, {}));
  auto left_out = std::exchange(left_out_, 0);
  if (left_out == 0 && text.size() <= output_bytes_max)
    return text;
  if (text.size() > most) {
    auto excess = text.size() - most;
    while (excess < text.size() && utf8_length(text, excess) == 0)
      ++excess;
    text.erase(0, excess);
    left_out += excess;
  }
  return "[" + std::to_string(left_out) + " bytes are left out]\n" + text;
}

void end_children() noexcept {
  const std::lock_guard guard{groups().mutex};
  for (const auto id : groups().ids)
    ::kill(-id, SIGKILL);
}

child::child(spawn_plan& plan, const process_options& options) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    throw std::runtime_error(std::string{"cannot make a pipe: "}
                             + std::strerror(errno));
  plan.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  plan.copy(pipe[1], STDOUT_FILENO);
  plan.copy(pipe[1], STDERR_FILENO);
  plan.own_group();
  if (!options.folder.empty())
    plan.work_in(options.folder);
  plan.set("OMP_NUM_THREADS", std::to_string(options.threads));
  plan.set("PYTHONUNBUFFERED", "1");
  // The order of a set of words would change from process to process, and
  // cuBLAS is reproducible only with a fixed workspace.
  plan.set("PYTHONHASHSEED", "0");
  plan.set("CUBLAS_WORKSPACE_CONFIG", ":4096:8");
  auto pid = plan.start(options.command);
  ::close(pipe[1]);
  if (!pid) {
    ::close(pipe[0]);
    throw std::runtime_error(pid.failure().message);
  }
  pid_ = *pid;
  {
    const std::lock_guard guard{groups().mutex};
    groups().ids.insert(pid_);
  }
  // Debian 12's header declares pidfd_open for C alone.
  end_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  output_ = pipe[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
}

child::~child() {
  kill();
  ::close(end_);
  ::close(output_);
}

bool child::drain() {
  std::array<char, 4096> part{};
  for (;;) {
    const auto n = ::read(output_, part.data(), part.size());
    if (n > 0)
      tail_.add({part.data(), static_cast<std::size_t>(n)});
    else if (n == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
}

child::event child::wait(int fd, std::chrono::milliseconds silence_max) {
  constexpr std::int64_t poll_ms_max = 3'600'000;
  std::array<pollfd, 3> ready{
    {{fd, POLLIN, 0}, {end_, POLLIN, 0}, {output_, POLLIN, 0}}};
  auto deadline = clock::now() + silence_max;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - clock::now());
    if (left.count() < 0)
      return event::silence;
    const auto patience = std::min<std::int64_t>(left.count() + 1, poll_ms_max);
    if (::poll(ready.data(), ready.size(), static_cast<int>(patience)) <= 0)
      continue; // the time is over, or a signal came
    if (ready[2].revents != 0) {
      deadline = clock::now() + silence_max;
      if (!drain())
        ready[2].fd = -1; // poll passes it over from now on
    }
    // What it has said before its end counts.
    if (ready[0].revents != 0)
      return event::readable;
    if (ready[1].revents != 0)
      return event::ended;
  }
}

std::string child::end(std::chrono::milliseconds patience) {
  if (!alive())
    return "nothing";
  const auto deadline = clock::now() + patience;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) != pid_) {
    drain();
    if (clock::now() >= deadline) {
      kill();
      return "its connection closed";
    }
    ::usleep(end_look_us);
  }
  drain();
  forget();
  auto result = describe_end(status);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    result += "; the system kills like this what takes too much memory";
  return result;
}

void child::kill() noexcept {
  if (!alive())
    return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  forget();
}

void child::forget() noexcept {
  ::kill(-pid_, SIGKILL);
  const std::lock_guard guard{groups().mutex};
  groups().ids.erase(pid_);
  pid_ = -1;
}

std::string child::take_output() {
  drain();
  return tail_.take();
}

} // namespace hippo
