#include "hippo/base/standard_output.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

namespace hippo {
namespace {

/// How a program ended, and what it said on stderr.
struct ended {
  int code = -1;
  int signal = 0;
  std::string said;
};

/// Runs `f` as the `main` of a process.
/// @param prepare does what a shell would, to its stdout above all
ended run(const std::function<void()>& prepare, const std::function<int()>& f) {
  std::array<int, 2> errors{};
  EXPECT_EQ(::pipe2(errors.data(), O_CLOEXEC), 0);
  std::cout.flush();
  const auto pid = ::fork();
  if (pid == 0) {
    ::dup2(errors[1], STDERR_FILENO);
    prepare();
    standard_output out{"test"};
    ::_exit(out.finish(f()));
  }
  ::close(errors[1]);
  ended result;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = ::read(errors[0], part.data(), part.size())) > 0;)
    result.said.append(part.data(), static_cast<std::size_t>(n));
  ::close(errors[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status))
    result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  return result;
}

void redirect_to(const char* path) {
  ::dup2(::open(path, O_WRONLY), STDOUT_FILENO);
}

/// Prints so many bytes.
int print(std::size_t bytes) {
  std::cout << std::string(bytes, 'x');
  return 0;
}

TEST(StandardOutput, WhatCannotBeWrittenIsAFailureHoweverLittleItIs) {
  for (const std::size_t bytes : {1u, 4096u, 65'535u, 65'536u, 65'537u,
                                  1'000'000u})
    for (const bool flushes : {false, true}) {
      const auto x = run([] { redirect_to("/dev/full"); },
                         [&] {
                           print(bytes);
                           if (flushes)
                             std::cout << std::flush;
                           return 0;
                         });
      EXPECT_EQ(x.code, 1) << bytes;
      EXPECT_NE(x.said.find("test: cannot write to stdout: No space left on"),
                std::string::npos)
        << x.said;
    }
}

TEST(StandardOutput, AFailureOfTheProgramKeepsItsCode) {
  EXPECT_EQ(run([] { redirect_to("/dev/full"); },
                [] {
                  print(1);
                  return 2;
                })
              .code,
            2);
}

TEST(StandardOutput, WhoPrintsNothingMissesNothing) {
  for (const auto& prepare :
       {std::function<void()>{[] { redirect_to("/dev/full"); }},
        std::function<void()>{[] { ::close(STDOUT_FILENO); }},
        std::function<void()>{[] { redirect_to("/dev/null"); }}}) {
    const auto x = run(prepare, [] { return 0; });
    EXPECT_EQ(x.code, 0);
    EXPECT_EQ(x.said, "");
  }
}

TEST(StandardOutput, AClosedOneIsAFailureAndNoOtherFileGetsWhatIsPrinted) {
  const auto x = run([] { ::close(STDOUT_FILENO); },
                     [] {
                       if (::open("/dev/null", O_WRONLY) <= STDERR_FILENO)
                         return 3;
                       return print(10);
                     });
  EXPECT_EQ(x.code, 1);
  EXPECT_NE(x.said.find("cannot write to stdout"), std::string::npos);
}

TEST(StandardOutput, EndsBySigpipeWithoutAWordOnceItsReaderHasGone) {
  for (const bool ignored : {false, true}) {
    const auto x = run(
      [&] {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0)
          ::_exit(9);
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        std::signal(SIGPIPE, ignored ? SIG_IGN : SIG_DFL);
      },
      [] { return print(100'000); });
    EXPECT_EQ(x.signal, SIGPIPE);
    EXPECT_EQ(x.said, "");
  }
}

} // namespace
} // namespace hippo
