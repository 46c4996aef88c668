// A depot holds a window of chunks of what passes through it, not the whole.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "depot/random_bytes.hpp"
#include "depot/whole_files.hpp"
#include "hippo/checkpoint/depot/chunk_sender.hpp"
#include "hippo/checkpoint/depot/depot_client.hpp"
#include "train/temporary_folder.hpp"

extern char** environ;

namespace hippo {

namespace {

/// A depot in a process of its own.
class depot_process {
public:
  explicit depot_process(std::string root) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0)
      throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&files, out[1], 1);
    for (const auto x : {in[0], in[1], out[0], out[1]})
      ::posix_spawn_file_actions_addclose(&files, x);
    std::string program{DEPOT_PROGRAM};
    std::array<char*, 3> arguments{program.data(), root.data(), nullptr};
    if (::posix_spawn(&id_, program.c_str(), &files, nullptr, arguments.data(),
                      environ)
        != 0)
      throw std::runtime_error("cannot start " + program);
    ::posix_spawn_file_actions_destroy(&files);
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    auto* told = ::fdopen(out[0], "r");
    if (std::fscanf(told, "%hu", &port_) != 1)
      throw std::runtime_error(program + " has told no port");
    std::fclose(told);
  }
  depot_process(const depot_process&) = delete;
  depot_process& operator=(const depot_process&) = delete;
  ~depot_process() {
    ::close(input_);
    ::waitpid(id_, nullptr, 0);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// The most memory it has had so far, in bytes.
  [[nodiscard]] std::uint64_t peak_bytes() const {
    std::ifstream in{"/proc/" + std::to_string(id_) + "/status"};
    for (std::string word; in >> word;)
      if (word == "VmHWM:") {
        std::uint64_t kib = 0;
        in >> kib;
        return kib << 10;
      }
    throw std::runtime_error("no peak memory is told");
  }

private:
  pid_t id_ = 0;
  int input_ = -1;
  std::uint16_t port_ = 0;
};

} // namespace

TEST(DepotMemory, DoesNotGrowWithTheCheckpoint) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep what is freed";
#endif
  const temporary_folder root;
  std::filesystem::create_directory(root.path + "/w");
  const depot_process depot{root.path};
  depot_client client{{.host = "127.0.0.1", .port = depot.port()}};
  // What a window needs.
  const auto small = random_bytes(2 * window_chunks_max * chunk_bytes_max);
  const auto first = store(client, "w", "n1-s1-l1.ckpt", small);
  ASSERT_TRUE(first) << first.failure().message;
  ASSERT_TRUE(fetch(client, "w", *first));
  const auto before = depot.peak_bytes();
  const auto large = random_bytes(64 * chunk_bytes_max + 3, 2);
  const auto second = store(client, "w", "n1-s2-l1.ckpt", large);
  ASSERT_TRUE(second) << second.failure().message;
  const auto read = fetch(client, "w", *second);
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_TRUE(*read == large);
  EXPECT_LT(depot.peak_bytes() - before, window_chunks_max * chunk_bytes_max);
}

} // namespace hippo
