#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// How a program is to be started: what is done between fork and exec.
class spawn_plan {
public:
  spawn_plan();
  ~spawn_plan();
  spawn_plan(const spawn_plan&) = delete;
  spawn_plan& operator=(const spawn_plan&) = delete;

  /// Opens a file as descriptor `fd`.
  void open(int fd, const char* path, int flags);
  /// Gives it this program's descriptor `from` as `to`.
  void copy(int from, int to);
  /// Puts it into a process group of its own: Ctrl-C on a terminal does not
  /// reach it, and whatever it starts can be ended along with it.
  void own_group();
  /// Sets a variable of its environment.
  void set(const std::string& name, const std::string& value);

  /// Starts `command[0]` with the rest as arguments. It inherits nothing else
  /// but the environment, and none of the signals that are blocked here.
  /// @returns its id, or `errc::io_failed`
  expected<pid_t> start(const std::vector<std::string>& command);

private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
  short flags_ = 0;
  std::vector<std::string> environment_; ///< `NAME=VALUE`
};

/// Says how a program ended, from what `waitpid` has given: `exit code 1`,
/// `signal 9 (Killed)`.
std::string describe_end(int status);

} // namespace hippo
