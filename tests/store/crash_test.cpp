// What a state folder is like after its process was killed, or ran out of room.

#include "hippo/store/state_writer.hpp"

#include <csignal>
#include <functional>
#include <random>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/folder_fixture.hpp"

namespace hippo {
namespace {

constexpr auto key = "toy";
constexpr std::uint64_t batch = 7;

class CrashTest : public folder_test {};

/// Runs `f` in a child process, which exits with what it returns.
pid_t spawn(const std::function<int()>& f) {
  const auto child = ::fork();
  if (child == 0)
    ::_exit(f());
  return child;
}

/// Nodes `first` to `first + batch - 1`, each with a result and a checkpoint.
std::vector<journal_record> records_from(std::uint64_t first) {
  std::vector<journal_record> records;
  for (auto id = first; id < first + batch; ++id) {
    records.emplace_back(node_added{key, node(id, id - 1)});
    records.emplace_back(result_added{
      key, {node_id{id}, 10 * id, {{"acc", 0.5}, {"loss", 1}}, "cpu"}});
    records.emplace_back(
      checkpoint_added{key, {node_id{id}, 10 * id, {"f", 1, 2}}});
  }
  return records;
}

TEST_F(CrashTest, AKilledServiceLeavesWholeCommits) {
  std::mt19937 random{1};
  std::uint64_t before = 0;
  for (int round = 0; round < 12; ++round) {
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const auto child = spawn([&] {
      auto folder = state_writer::open(path());
      if (!folder)
        return 1;
      for (auto first = before + 1;; first += batch) {
        if (!(*folder)->commit(records_from(first)))
          return 2;
        const auto last = first + batch - 1; // told only once it is durable
        if (::write(told[1], &last, sizeof last) != sizeof last)
          return 3;
      }
    });
    ::close(told[1]);
    std::uint64_t durable = before;
    for (auto commits = 1 + random() % 30; commits > 0; --commits)
      ASSERT_EQ(::read(told[0], &durable, sizeof durable),
                static_cast<ssize_t>(sizeof durable));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ::close(told[0]);

    auto plan = open()->load_plan(key);
    ASSERT_TRUE(plan) << plan.failure().message;
    const auto nodes = plan->nodes.size();
    EXPECT_GE(nodes, durable);
    EXPECT_EQ(nodes % batch, 0u) << "half a commit";
    EXPECT_EQ(plan->results.size(), nodes);
    EXPECT_EQ(plan->checkpoints.size(), nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
      EXPECT_EQ(plan->nodes[i], node(i + 1, i));
      EXPECT_EQ(plan->results[i].values.size(), 2u);
    }
    before = nodes;
  }
}

TEST_F(CrashTest, TheLockNamesAnotherProcessAndDiesWithIt) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto child = spawn([&] {
    auto folder = state_writer::open(path());
    if (!folder || ::write(ready[1], "x", 1) != 1)
      return 1;
    for (;;)
      ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto refused = state_writer::open(path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, errc::in_use);
  EXPECT_NE(refused.failure().message.find(std::to_string(child)),
            std::string::npos);
  EXPECT_TRUE(state_reader::open(path()));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(open());
}

TEST_F(CrashTest, ADiskThatIsFullIsAnErrorAndLosesNothing) {
  constexpr rlim_t most = 512 << 10; // no file may grow beyond, in bytes
  const auto child = spawn([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    auto folder = state_writer::open(path());
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const auto unlimited = limit.rlim_cur;
    limit.rlim_cur = most;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::uint64_t first = 1;
    for (;; first += batch)
      if (auto done = (*folder)->commit(records_from(first)); !done) {
        if (done.failure().code != errc::io_failed)
          return 1;
        break;
      }
    auto plan = (*folder)->load_plan(key);
    if (!plan || plan->nodes.size() != first - 1)
      return 2;
    limit.rlim_cur = unlimited;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return (*folder)->commit(records_from(first)) ? 0 : 3;
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto plan = open()->load_plan(key);
  ASSERT_TRUE(plan) << plan.failure().message;
  EXPECT_GT(plan->nodes.size(), batch);
}

} // namespace
} // namespace hippo
