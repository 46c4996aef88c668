// Stands between a trainer and a program that trains, and sees to it that
// nothing of the program outlives either: whatever ends the trainer, kill -9
// too, and wherever the program's children have gone, into sessions of their
// own too.
//
//   keeper FOLDER PROGRAM ARGUMENT...
//
// The program works in FOLDER, from which its own name is looked up too if that
// has a '/'; empty: where the keeper does. Descriptor 4 is the trainer's line.
// First the keeper writes an int to it: 0 once the program runs, else the errno
// of what failed. For each 't' that comes over it the program and its group get
// SIGTERM. When a 'k' comes, when the trainer closes it, or is gone, all is
// ended. The keeper ends as the program does, when nothing of it is left.
//
// A program of its own, since fork() alone would keep the trainer's memory, and
// so small that it costs nothing. It is compiled into hippo_process
// (keeper_image.cpp): there is no file to be found.

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// Descriptors of the program end here; its socket is the last.
constexpr int program_fds = 4;
constexpr int line = program_fds;

/// Signals that are the trainer's business: it says when all is to end.
constexpr int ignored_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
constexpr int ignored_count = sizeof ignored_signals / sizeof(int);
struct sigaction original[ignored_count];

/// How long to wait before what has not ended yet is killed again.
constexpr int again_ms = 2;

void ignore_signals() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (int i = 0; i < ignored_count; ++i)
    ::sigaction(ignored_signals[i], &ignore, &original[i]);
}

/// Becomes the program. @returns the errno of why it cannot
int become(const char* folder, char** command, pid_t keeper) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper)
    return ESRCH; // it ended before it could be asked for
  for (int i = 0; i < ignored_count; ++i)
    ::sigaction(ignored_signals[i], &original[i], nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (*folder != '\0' && ::chdir(folder) != 0)
    return errno;
  ::execvp(command[0], command);
  return errno;
}

/// Lets go of what the program has, so that its end closes it.
void let_go() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < program_fds; ++fd)
    ::dup2(nothing, fd);
}

/// Returns the parent of a process, or 0.
int parent_of(int pid) {
  char path[64];
  char text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  const auto size = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[size > 0 ? size : 0] = '\0';
  // Its name is in parentheses, and may hold anything.
  const char* after = std::strrchr(text, ')');
  int parent = 0;
  char state = 0;
  if (after == nullptr
      || std::sscanf(after + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

void kill_children() {
  DIR* all = ::opendir("/proc");
  if (all == nullptr)
    return;
  const int self = ::getpid();
  while (const dirent* entry = ::readdir(all)) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 0 || parent_of(pid) != self)
      continue;
    const int group = ::getpgid(pid);
    if (group > 0 && group != ::getpgrp())
      ::kill(-group, SIGKILL);
    ::kill(pid, SIGKILL);
  }
  ::closedir(all);
}

/// Ends all that the program has started. What loses its parent becomes a child
/// of the keeper, and so is found.
/// @param status receives how the program ended, if it had not
void end_all(pid_t program, int& status) {
  ::kill(-program, SIGKILL);
  for (;;) {
    kill_children();
    int ended = 0;
    for (;;) {
      const auto pid = ::waitpid(-1, &ended, WNOHANG);
      if (pid < 0 && errno == ECHILD)
        return;
      if (pid <= 0)
        break;
      if (pid == program)
        status = ended;
    }
    ::poll(nullptr, 0, again_ms);
  }
}

/// Does what the trainer says. @returns whether all is to end
bool obey(pid_t program) {
  for (;;) {
    char order = 0;
    const auto n = ::recv(line, &order, 1, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      return false;
    if (n <= 0 || order == 'k')
      return true;
    if (order == 't') {
      ::kill(-program, SIGTERM);
      ::kill(-program, SIGCONT); // one that was stopped would not hear of it
    }
  }
}

/// Waits for orphans that have ended, but not for the program.
void reap_orphans(pid_t program) {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0
        || ended.si_pid == 0 || ended.si_pid == program)
      return;
    ::waitpid(ended.si_pid, nullptr, 0);
  }
}

/// Ends as the program has.
[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
  }
  ::_exit(WEXITSTATUS(status));
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  ::prctl(PR_SET_NAME, "hippo-keeper");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::fcntl(line, F_SETFD, FD_CLOEXEC);
  ignore_signals();
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &watched, nullptr);
  const int ends = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  int told[2];
  if (ends < 0 || ::pipe2(told, O_CLOEXEC) != 0)
    return 2;
  const auto keeper = ::getpid();
  const auto program = ::fork();
  int code = program < 0 ? errno : 0;
  if (program == 0) {
    code = become(argv[1], argv + 2, keeper);
    if (::write(told[1], &code, sizeof code) < 0)
      ::_exit(126);
    ::_exit(127);
  }
  let_go();
  ::close(told[1]);
  if (program > 0) {
    ::setpgid(program, program);
    if (::read(told[0], &code, sizeof code) <= 0)
      code = 0; // it has closed it by becoming the program
  }
  ::send(line, &code, sizeof code, MSG_NOSIGNAL);
  if (code != 0)
    return 127;
  for (;;) {
    pollfd ready[] = {{line, POLLIN, 0}, {ends, POLLIN, 0}};
    ::poll(ready, 2, -1);
    int status = 0;
    bool over = ready[0].revents != 0 && obey(program);
    signalfd_siginfo ignored;
    while (::read(ends, &ignored, sizeof ignored) > 0) {
    }
    // The program's end is not waited for yet: until then its group is its own.
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(program), &ended,
                 WEXITED | WNOHANG | WNOWAIT) == 0)
      over = over || ended.si_pid == program;
    if (!over) {
      reap_orphans(program);
      continue;
    }
    end_all(program, status);
    end_like(status);
  }
}
