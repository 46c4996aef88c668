#include "hippo/train/process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "hippo/base/file_descriptor.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/process/descriptor.hpp"
#include "hippo/train/process/keeper_image.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;

/// How often a program is looked at that is about to end.
constexpr useconds_t end_look_us = 500;

/// How long a keeper may take to start a program.
constexpr int start_ms_max = 60'000;

/// How long it may take to end one. A process that waits for a disk or a driver
/// cannot be ended; it is not waited for then.
constexpr int end_ms_max = 10'000;

/// The most that is read at a time of what a program prints: one that prints
/// without end must not keep others waiting.
constexpr int drain_rounds_max = 16;

/// Waits until a descriptor can be read. @returns whether it can
bool is_readable(int fd, int ms) noexcept {
  pollfd ready{fd, POLLIN, 0};
  const auto deadline = clock::now() + std::chrono::milliseconds{ms};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                        deadline - clock::now())
                        .count();
    const auto n
      = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (n >= 0 || errno != EINTR)
      return n > 0;
  }
}

/// Throws what has just failed.
[[noreturn]] void cannot_make(const char* what) {
  throw std::runtime_error(std::string{"cannot make "} + what + ": "
                           + std::strerror(errno));
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

child::child(spawn_plan& plan, const process_options& options) {
  const auto keeper = keeper_program();
  if (!keeper)
    throw std::runtime_error(keeper.failure().message);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    cannot_make("a pipe");
  const file_descriptor prints{above_standard(pipe[1])};
  file_descriptor output{above_standard(pipe[0])};
  std::array<int, 2> line{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line.data()) != 0)
    cannot_make("a socket");
  file_descriptor theirs{above_standard(line[1])};
  file_descriptor ours{above_standard(line[0])};
  plan.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  plan.copy(prints.number(), STDOUT_FILENO);
  plan.copy(prints.number(), STDERR_FILENO);
  plan.copy(theirs.number(), keeper_line);
  plan.own_group();
  if (!options.scratch.empty())
    plan.set("HIPPO_SCRATCH", options.scratch);
  plan.set("HIPPO_INITIAL", options.initial);
  plan.set("OMP_NUM_THREADS", std::to_string(options.threads));
  plan.set("PYTHONUNBUFFERED", "1");
  // The order of a set of words would change from process to process, and
  // cuBLAS is reproducible only with a fixed workspace.
  plan.set("PYTHONHASHSEED", "0");
  plan.set("CUBLAS_WORKSPACE_CONFIG", ":4096:8");
  auto command = options.command;
  command.insert(command.begin(), {*keeper, options.folder});
  auto pid = plan.start(command);
  if (!pid)
    throw std::runtime_error(pid.failure().message);
  theirs = file_descriptor{};
  pid_ = *pid;
  line_ = ours.release();
  output_ = output.release();
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  // Debian 12's header declares pidfd_open for C alone.
  end_ = above_standard(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (const auto why = hear_of_start(); why != 0) {
    kill();
    close_all();
    throw std::runtime_error("cannot start " + options.command[0] + ": "
                             + std::strerror(why));
  }
}

child::~child() {
  kill();
  close_all();
}

void child::close_all() noexcept {
  const std::lock_guard guard{line_mutex_};
  for (auto* fd : {&end_, &line_, &output_})
    if (const auto open = std::exchange(*fd, -1); open >= 0)
      ::close(open);
}

int child::hear_of_start() const noexcept {
  int code = 0;
  if (!is_readable(line_, start_ms_max))
    return ETIMEDOUT;
  return ::recv(line_, &code, sizeof code, 0) == sizeof code ? code : ECHILD;
}

bool child::drain() {
  std::array<char, 65'536> part{};
  for (int i = 0; i < drain_rounds_max; ++i) {
    const auto n = ::read(output_, part.data(), part.size());
    if (n > 0)
      tail_.add({part.data(), static_cast<std::size_t>(n)});
    else if (n == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
  return true;
}

child::event child::wait(int fd, short use,
                         std::chrono::milliseconds silence_max, printing how) {
  constexpr std::int64_t poll_ms_max = 3'600'000;
  std::array<pollfd, 3> ready{
    {{fd, use, 0}, {end_, POLLIN, 0}, {output_, POLLIN, 0}}};
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
      if (how == printing::counts)
        deadline = clock::now() + silence_max;
      if (!drain())
        ready[2].fd = -1; // poll passes it over from now on
    }
    // What it has said before its end counts.
    if (ready[0].revents != 0)
      return event::ready;
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
  pid_ = -1;
  auto result = describe_end(status);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    result += "; the system kills like this what takes too much memory";
  return result;
}

void child::kill() noexcept {
  if (!alive())
    return;
  {
    const std::lock_guard guard{line_mutex_};
    ::close(std::exchange(line_, -1)); // all of it ends
  }
  if (!is_readable(end_, end_ms_max))
    ::kill(pid_, SIGKILL); // and the program with its keeper, once it can
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void child::stop(stop_force how) noexcept {
  const std::lock_guard guard{line_mutex_};
  const char order = how == stop_force::kill ? 'k' : 't';
  if (line_ >= 0) // one that does not take it has ended, or is about to
    ::send(line_, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string child::take_output() {
  drain();
  return tail_.take();
}

} // namespace hippo
