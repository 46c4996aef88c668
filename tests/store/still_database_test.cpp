#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <random>

#include "hippo/store/state_reader.hpp"
#include "store/folder_fixture.hpp"

// States that may only be read: as user nobody where root runs the tests.

namespace hippo {
namespace {

namespace fs = std::filesystem;

constexpr auto key = "toy;seed=1";
constexpr uid_t nobody = 65'534;

/// How many nodes are read of a state, or why they are not.
struct answer {
  std::optional<std::size_t> nodes;
  std::string why;
};

answer nodes_in(state_reader& x) {
  const auto plan = x.load_plan(key);
  if (!plan)
    return {std::nullopt, plan.failure().message};
  return {plan->nodes.size(), {}};
}

answer nodes_in(const std::string& state) {
  const auto reader = state_reader::open(state);
  if (!reader)
    return {std::nullopt, reader.failure().message};
  return nodes_in(**reader);
}

class StillDatabase : public folder_test {
protected:
  StillDatabase() {
    ::chmod(path("").c_str(), 0755);
    fs::create_directory(path("tmp"));
    ::chmod(path("tmp").c_str(), 0777);
  }

  void add(state_writer& state, std::uint64_t id) {
    const auto done = state.commit({node_added{key, node(id, id - 1)}});
    ASSERT_TRUE(done) << done.failure().message;
  }

  /// Takes a copy of some files of the state, as a snapshot has them.
  void snapshot(const std::string& name,
                const std::vector<std::string>& endings) {
    fs::remove_all(path(name));
    fs::create_directory(path(name));
    for (const auto& x : endings)
      if (fs::exists(path() + "/hippo.db" + x))
        fs::copy_file(path() + "/hippo.db" + x, path(name) + "/hippo.db" + x);
  }

  static void forbid_writing(const std::string& folder) {
    for (const auto& x : fs::directory_iterator{folder})
      ::chmod(x.path().c_str(), x.is_directory() ? 0555 : 0444);
    ::chmod(folder.c_str(), 0555);
  }

  /// Does something as somebody who may read and not write, in a process.
  answer as_reader(const std::function<answer()>& f) const {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const auto pid = ::fork();
    if (pid == 0) {
      if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0)
        ::_exit(2);
      ::setenv("TMPDIR", path("tmp").c_str(), 1);
      const auto x = f();
      const auto text = x.nodes ? std::to_string(*x.nodes) : '?' + x.why;
      [[maybe_unused]] const auto n
        = ::write(ends[1], text.data(), text.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    std::array<char, 4096> text{};
    const auto n = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    const std::string said{text.data(),
                           n > 0 ? static_cast<std::size_t>(n) : 0};
    if (said.empty() || said[0] == '?')
      return {std::nullopt, said};
    return {std::stoul(said), {}};
  }

  [[nodiscard]] answer read_only(const std::string& folder) const {
    return as_reader([&] { return nodes_in(folder); });
  }
};

TEST_F(StillDatabase, AStateWhoseServiceHasEndedIsRead) {
  {
    const auto state = open();
    for (std::uint64_t id = 1; id <= 50; ++id)
      add(*state, id);
  }
  ASSERT_FALSE(fs::exists(path() + "/hippo.db-wal"));
  forbid_writing(path());
  const auto x = read_only(path());
  EXPECT_EQ(x.nodes, 50u) << x.why;
  EXPECT_FALSE(fs::exists(path() + "/hippo.db-wal"));
}

TEST_F(StillDatabase, NothingOfALogIsOverlookedWhateverTheSnapshotHas) {
  const auto state = open();
  std::minstd_rand random{1};
  std::uint64_t id = 0;
  for (int i = 0; i < 8; ++i) {
    for (auto n = 1 + random() % 40; n > 0; --n)
      add(*state, ++id);
    // With the log alone it is copied; with both SQLite reads it itself.
    for (const auto& endings :
         {std::vector<std::string>{"", "-wal"},
          std::vector<std::string>{"", "-wal", "-shm"}}) {
      snapshot("seen", endings);
      forbid_writing(path("seen"));
      const auto x = read_only(path("seen"));
      EXPECT_EQ(x.nodes, id) << x.why;
      EXPECT_TRUE(fs::is_empty(path("tmp"))) << "a copy was left";
      ::chmod(path("seen").c_str(), 0755);
    }
  }
}

TEST_F(StillDatabase, AnEmptyLogHidesNothing) {
  {
    const auto state = open();
    add(*state, 1);
  }
  write_file("state/hippo.db-wal", "");
  forbid_writing(path());
  EXPECT_EQ(read_only(path()).nodes, 1u);
}

TEST_F(StillDatabase, AStateInWhichAServiceWorksIsReadAsItIsByThen) {
  const auto state = open();
  for (std::uint64_t id = 1; id <= 30; ++id) {
    add(*state, id);
    for (const auto& x : fs::directory_iterator{path()})
      ::chmod(x.path().c_str(), x.is_directory() ? 0555 : 0644);
    ::chmod(path().c_str(), 0555);
    const auto x = read_only(path());
    EXPECT_EQ(x.nodes, id) << x.why;
    ::chmod(path().c_str(), 0755);
  }
}

TEST_F(StillDatabase, WhoReadsWithoutLocksIsToldOfWhoWrites) {
  {
    const auto state = open();
    for (std::uint64_t id = 1; id <= 50; ++id)
      add(*state, id);
  }
  forbid_writing(path());
  std::array<int, 2> reads{}, wrote{};
  ASSERT_EQ(::pipe(reads.data()), 0);
  ASSERT_EQ(::pipe(wrote.data()), 0);
  // A process of its own writes meanwhile, which may.
  const auto writer = ::fork();
  if (writer == 0) {
    ::close(reads[1]);
    char ready = 0;
    bool good = ::read(reads[0], &ready, 1) == 1;
    ::chmod(path().c_str(), 0755);
    for (const auto& x : fs::directory_iterator{path()})
      ::chmod(x.path().c_str(), 0755);
    if (auto state = state_writer::open(path()); good && state)
      good = static_cast<bool>(
        (*state)->commit({node_added{key, node(51, 50)}}));
    else
      good = false;
    ::chmod(path().c_str(), 0555);
    good = ::write(wrote[1], &ready, 1) == 1 && good;
    ::_exit(good ? 0 : 1);
  }
  const auto x = as_reader([&]() -> answer {
    ::close(wrote[1]);
    const auto reader = state_reader::open(path());
    if (!reader || nodes_in(**reader).nodes != 50u)
      return {std::nullopt, "it could not be read before"};
    char ready = 0;
    if (::write(reads[1], &ready, 1) != 1 || ::read(wrote[0], &ready, 1) != 1)
      return {std::nullopt, "no writer"};
    return nodes_in(**reader);
  });
  EXPECT_FALSE(x.nodes) << "what it read may be torn";
  EXPECT_NE(x.why.find("was written to"), std::string::npos) << x.why;
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_only(path()).nodes, 51u);
}

TEST_F(StillDatabase, OfWhatIsNoDatabaseTheReasonIsTold) {
  {
    const auto state = open();
  }
  write_file("state/hippo.db", std::string(5000, 'x'));
  forbid_writing(path());
  const auto x = read_only(path());
  EXPECT_FALSE(x.nodes);
  EXPECT_NE(x.why.find("hippo.db"), std::string::npos) << x.why;
}

} // namespace
} // namespace hippo
