#include "scale/tool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "hippo/train/process/spawn_plan.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;

/// The most that is read of an answer.
constexpr std::size_t answer_bytes_max = 256u << 20;

int millis_until(clock::time_point deadline) {
  const auto left =
    std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
  return static_cast<int>(std::max<long>(left.count(), 0));
}

/// A descriptor that is closed with this.
struct descriptor {
  int fd = -1;
  descriptor() = default;
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { close(); }
  void close() {
    if (fd >= 0)
      ::close(std::exchange(fd, -1));
  }
};

/// Both ends of a stream; writing to one that nobody reads is an error, and no
/// signal.
bool make_stream(descriptor& ours, descriptor& its) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return false;
  ours.fd = ends[0];
  its.fd = ends[1];
  return true;
}

error no_stream() {
  return {errc::io_failed,
          std::string{"cannot make a stream: "} + std::strerror(errno)};
}

/// Sends as much as can be sent now. @returns whether more is to be sent
bool send_some(descriptor& to, const std::string& text, std::size_t& sent) {
  const auto n = ::send(to.fd, text.data() + sent, text.size() - sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n > 0)
    sent += static_cast<std::size_t>(n);
  else if (errno != EAGAIN && errno != EINTR)
    return false; // it does not read to the end
  return sent < text.size();
}

/// Receives what is there. @returns whether more may come
bool receive_some(descriptor& from, std::string& out) {
  std::array<char, 65536> part{};
  const auto n = ::read(from.fd, part.data(), part.size());
  if (n > 0)
    out.append(part.data(), static_cast<std::size_t>(n));
  return (n > 0 && out.size() < answer_bytes_max)
         || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

std::optional<int> wait_until(pid_t pid, clock::time_point deadline) {
  for (;;) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid)
      return status;
    if (clock::now() >= deadline)
      return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

void kill_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

} // namespace

expected<program_output> run_tool(const std::vector<std::string>& command,
                                  const std::string& input,
                                  std::chrono::seconds limit) {
  descriptor to, its_in, out, its_out, err, its_err;
  if (!make_stream(to, its_in) || !make_stream(out, its_out)
      || !make_stream(err, its_err))
    return no_stream();
  spawn_plan plan;
  plan.copy(its_in.fd, STDIN_FILENO);
  plan.copy(its_out.fd, STDOUT_FILENO);
  plan.copy(its_err.fd, STDERR_FILENO);
  plan.own_group();
  const auto pid = plan.start(command);
  if (!pid)
    return {errc::missing_data, pid.failure().message};
  for (auto* x : {&its_in, &its_out, &its_err})
    x->close();
  const auto deadline = clock::now() + limit;
  program_output result;
  std::size_t sent = 0;
  if (input.empty())
    to.close();
  while (out.fd >= 0 || err.fd >= 0) {
    std::array<pollfd, 3> ready{
      {{to.fd, POLLOUT, 0}, {out.fd, POLLIN, 0}, {err.fd, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), millis_until(deadline)) == 0)
      break;
    if (ready[0].revents != 0 && !send_some(to, input, sent))
      to.close();
    if (ready[1].revents != 0 && !receive_some(out, result.out))
      out.close();
    if (ready[2].revents != 0 && !receive_some(err, result.err))
      err.close();
  }
  const auto status = wait_until(*pid, deadline);
  if (!status) {
    kill_group(*pid);
    return {errc::io_failed, command[0] + " has not ended within "
                               + std::to_string(limit.count()) + " s"};
  }
  if (WIFEXITED(*status))
    result.exit_code = WEXITSTATUS(*status);
  return result;
}

line_program::~line_program() {
  stop(std::chrono::seconds{1});
}

void line_program::stop(std::chrono::milliseconds patience) {
  for (auto* fd : {&to_, &from_})
    if (*fd >= 0)
      ::close(std::exchange(*fd, -1));
  read_.clear();
  if (pid_ < 0)
    return;
  if (!wait_until(pid_, clock::now() + patience))
    kill_group(pid_);
  pid_ = -1;
}

error line_program::broken(const std::string& why) {
  stop(std::chrono::milliseconds{0});
  return {errc::io_failed, command_[0] + ' ' + why};
}

std::optional<error> line_program::start() {
  descriptor ours, its;
  if (!make_stream(ours, its))
    return no_stream();
  spawn_plan plan;
  plan.copy(its.fd, STDIN_FILENO);
  plan.copy(its.fd, STDOUT_FILENO);
  plan.own_group();
  const auto pid = plan.start(command_);
  if (!pid)
    return error{errc::missing_data, pid.failure().message};
  pid_ = *pid;
  from_ = ::fcntl(ours.fd, F_DUPFD_CLOEXEC, 0);
  to_ = std::exchange(ours.fd, -1);
  return std::nullopt;
}

expected<std::string> line_program::ask(const std::string& line,
                                        std::chrono::seconds limit) {
  if (pid_ < 0)
    if (auto why = start())
      return *why;
  const auto deadline = clock::now() + limit;
  const auto text = line + '\n';
  std::size_t sent = 0;
  for (;;) {
    if (const auto end = read_.find('\n');
        end != std::string::npos && sent == text.size()) {
      auto answer = read_.substr(0, end);
      read_.erase(0, end + 1);
      return answer;
    }
    pollfd ready{from_, POLLIN, 0};
    if (sent < text.size())
      ready.events |= POLLOUT;
    if (::poll(&ready, 1, millis_until(deadline)) == 0)
      return broken("has not answered within " + std::to_string(limit.count())
                    + " s");
    if ((ready.revents & POLLOUT) != 0) {
      const auto n = ::send(to_, text.data() + sent, text.size() - sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0)
        sent += static_cast<std::size_t>(n);
    }
    if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      std::array<char, 65536> part{};
      const auto n = ::read(from_, part.data(), part.size());
      if (n > 0)
        read_.append(part.data(), static_cast<std::size_t>(n));
      else if (n == 0 || errno != EINTR)
        return broken("has ended; its messages are above");
      if (read_.size() > answer_bytes_max)
        return broken("has given an answer without an end");
    }
  }
}

} // namespace hippo
