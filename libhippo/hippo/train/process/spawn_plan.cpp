#include "hippo/train/process/spawn_plan.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

extern char** environ;

namespace hippo {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& xs) {
  std::vector<char*> result;
  for (const auto& x : xs)
    result.push_back(const_cast<char*>(x.c_str())); // execve reads only
  result.push_back(nullptr);
  return result;
}

} // namespace

spawn_plan::spawn_plan() {
  ::posix_spawn_file_actions_init(&files_);
  ::posix_spawnattr_init(&attributes_);
  for (char** x = environ; *x != nullptr; ++x)
    environment_.emplace_back(*x);
}

spawn_plan::~spawn_plan() {
  ::posix_spawn_file_actions_destroy(&files_);
  ::posix_spawnattr_destroy(&attributes_);
}

void spawn_plan::open(int fd, const char* path, int flags) {
  ::posix_spawn_file_actions_addopen(&files_, fd, path, flags, 0644);
}

void spawn_plan::copy(int from, int to) {
  ::posix_spawn_file_actions_adddup2(&files_, from, to);
}

void spawn_plan::own_group() {
  ::posix_spawnattr_setpgroup(&attributes_, 0);
  flags_ |= POSIX_SPAWN_SETPGROUP;
}

void spawn_plan::set(const std::string& name, const std::string& value) {
  const auto start = name + '=';
  std::erase_if(environment_, [&](const auto& x) {
    return x.starts_with(start);
  });
  environment_.push_back(start + value);
}

expected<pid_t> spawn_plan::start(const std::vector<std::string>& command) {
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes_, &none);
  ::posix_spawnattr_setflags(
    &attributes_, static_cast<short>(flags_ | POSIX_SPAWN_SETSIGMASK));
  pid_t pid = -1;
  auto arguments = pointers(command);
  auto variables = pointers(environment_);
  const auto code = ::posix_spawnp(&pid, command[0].c_str(), &files_,
                                   &attributes_, arguments.data(),
                                   variables.data());
  if (code != 0)
    return {errc::io_failed,
            "cannot start " + command[0] + ": " + std::strerror(code)};
  return pid;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const auto number = WTERMSIG(status);
    return "signal " + std::to_string(number) + " (" + ::strsignal(number)
           + ")";
  }
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

} // namespace hippo
