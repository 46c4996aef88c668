#include "hippo/store/state_folder.hpp"

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>

#include <unistd.h>

#include "store/folder_fixture.hpp"

namespace hippo {
namespace {

constexpr auto key = "toy;seed=1";

class StateFolderTest : public folder_test {};

/// Commits, which must work.
void commit(state_folder& folder, const std::vector<journal_record>& records) {
  const auto done = folder.commit(records);
  ASSERT_TRUE(done) << done.failure().message;
}

stored_plan load(state_folder& folder, const std::string& workload = key) {
  auto plan = folder.load_plan(workload);
  if (!plan)
    ADD_FAILURE() << plan.failure().message;
  return plan ? *plan : stored_plan{};
}

TEST_F(StateFolderTest, FreshFolderIsEmpty) {
  auto folder = open();
  ASSERT_TRUE(folder);
  EXPECT_TRUE(load(*folder).nodes.empty());
  EXPECT_TRUE(std::filesystem::is_directory(folder->checkpoints()));
  EXPECT_FALSE(std::filesystem::exists(folder->report()));
  auto names = folder->study_names();
  ASSERT_TRUE(names);
  EXPECT_TRUE(names->empty());
}

TEST_F(StateFolderTest, EverythingSurvivesReopening) {
  const auto big = std::numeric_limits<std::uint64_t>::max();
  auto tagged = node(3);
  tagged.lane = big;
  const checkpoint file{"k1-n2-s20", 4096, big - 1};
  commit(*open(), {node_added{key, node(1)}, node_added{key, node(2, 1)},
                   node_added{"other", node(1)}, node_added{key, tagged},
                   result_added{key, {2, 20, {{"acc", 0.5}}, "cpu avx2"}},
                   result_added{key, {0, 0, {}, "gpu"}},
                   checkpoint_added{key, {2, 20, file}},
                   study_saved{{"b", "study: b\n", 2, "{}"}},
                   study_saved{{"a", "study: a\n", 3, R"({"x":1})"}},
                   study_saved{{"c", "", 1, ""}}});
  auto folder = open();
  const auto plan = load(*folder);
  EXPECT_EQ(plan.nodes, (std::vector{node(1), node(2, 1), tagged}));
  ASSERT_EQ(plan.results.size(), 2u);
  EXPECT_EQ(plan.results[0].node, 0u);
  EXPECT_EQ(plan.results[0].device, "gpu");
  EXPECT_TRUE(plan.results[0].values.empty());
  EXPECT_EQ(plan.results[1].node, 2u);
  EXPECT_EQ(plan.results[1].step, 20u);
  EXPECT_EQ(plan.results[1].device, "cpu avx2");
  EXPECT_EQ(plan.results[1].values, (metrics{{"acc", 0.5}}));
  EXPECT_EQ(plan.checkpoints,
            (std::vector{stored_checkpoint{2, 20, file}}));
  EXPECT_EQ(load(*folder, "other").nodes, std::vector{node(1)});
  EXPECT_TRUE(load(*folder, "unknown").nodes.empty());
  EXPECT_EQ(*folder->study_names(), (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(*folder->load_study("a"),
            (stored_study{"a", "study: a\n", 3, R"({"x":1})"}));
}

TEST_F(StateFolderTest, MetricsSurviveBitForBit) {
  const std::map<std::string, std::uint64_t> bits{
    {"nan", 0x7ff8000000000000},     {"nan with payload", 0xfff8dead0000beef},
    {"inf", 0x7ff0000000000000},     {"minus zero", 0x8000000000000000},
    {"subnormal", 1},                {"third", 0x3fd5555555555555},
    {"signalling", 0x7ff0000000000001}};
  stored_result result{1, 5, {}, "cpu"};
  for (const auto& [name, value] : bits)
    result.values[name] = std::bit_cast<double>(value);
  commit(*open(), {node_added{key, node(1)}, result_added{key, result}});
  const auto plan = load(*open());
  ASSERT_EQ(plan.results.size(), 1u);
  ASSERT_EQ(plan.results[0].values.size(), bits.size());
  for (const auto& [name, value] : plan.results[0].values)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(value), bits.at(name)) << name;
}

TEST_F(StateFolderTest, TheFirstOfEqualThingsCounts) {
  auto folder = open();
  const checkpoint first{"first", 1, 1}, second{"second", 2, 2};
  commit(*folder, {node_added{key, node(1)},
                   result_added{key, {1, 5, {{"acc", 0.5}}, "cpu"}},
                   checkpoint_added{key, {1, 5, first}}});
  auto other = node(1);
  other.begin = 99;
  commit(*folder,
         {node_added{key, other},
          result_added{key, {1, 5, {{"acc", 0.6}, {"loss", 1}}, "gpu"}},
          checkpoint_added{key, {1, 5, second}}});
  const auto plan = load(*folder);
  EXPECT_EQ(plan.nodes, std::vector{node(1)});
  ASSERT_EQ(plan.results.size(), 1u);
  EXPECT_EQ(plan.results[0].values, (metrics{{"acc", 0.5}}));
  EXPECT_EQ(plan.results[0].device, "cpu");
  EXPECT_EQ(plan.checkpoints, (std::vector{stored_checkpoint{1, 5, first}}));
}

TEST_F(StateFolderTest, CheckpointsCanBeReplacedAfterRemoval) {
  auto folder = open();
  const checkpoint first{"first", 1, 1}, second{"second", 2, 2};
  commit(*folder, {node_added{key, node(1)},
                   checkpoint_added{key, {1, 5, first}},
                   checkpoint_added{key, {1, 6, first}}});
  commit(*folder, {checkpoint_removed{key, 1, 5}, checkpoint_removed{key, 1, 7},
                   checkpoint_removed{"unknown", 1, 6}});
  EXPECT_EQ(load(*folder).checkpoints,
            (std::vector{stored_checkpoint{1, 6, first}}));
  commit(*folder, {checkpoint_added{key, {1, 5, second}}});
  EXPECT_EQ(load(*folder).checkpoints,
            (std::vector{stored_checkpoint{1, 5, second},
                         stored_checkpoint{1, 6, first}}));
}

TEST_F(StateFolderTest, SavingAStudyAgainReplacesIt) {
  auto folder = open();
  commit(*folder, {study_saved{{"mnist", "old", 1, "1"}}});
  commit(*folder, {study_saved{{"mnist", "new", 1, "2"}}});
  EXPECT_EQ(*folder->load_study("mnist"),
            (stored_study{"mnist", "new", 1, "2"}));
  const auto missing = folder->load_study("mnst");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().code, errc::unknown_study);
  EXPECT_NE(missing.failure().message.find("'mnist'"), std::string::npos);
}

TEST_F(StateFolderTest, SecondOpenNamesTheHolder) {
  auto folder = open();
  const auto second = state_folder::open(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.failure().code, errc::in_use);
  EXPECT_NE(second.failure().message.find("process "
                                          + std::to_string(::getpid())),
            std::string::npos)
    << second.failure().message;
  folder.reset();
  EXPECT_TRUE(open());
}

TEST_F(StateFolderTest, LockFileOfADeadProcessDoesNotBlock) {
  std::filesystem::create_directories(path());
  write_file("state/lock", "999999999\n");
  EXPECT_TRUE(open());
}

TEST_F(StateFolderTest, RefusesOtherVersions) {
  open();
  run_sql("UPDATE meta SET value = '7'");
  for (const auto& result :
       {state_folder::open(path()).failure(),
        state_folder::open_read_only(path()).failure()}) {
    EXPECT_EQ(result.code, errc::incompatible_version);
    EXPECT_NE(result.message.find("version 7"), std::string::npos);
    EXPECT_NE(result.message.find("version 1"), std::string::npos);
  }
}

TEST_F(StateFolderTest, RefusesFoldersFullOfOtherThings) {
  std::filesystem::create_directories(path());
  write_file("state/thesis.tex", "precious");
  const auto result = state_folder::open(path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.failure().code, errc::invalid_argument);
  EXPECT_NE(result.failure().message.find("thesis.tex"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path() + "/lock"));
}

TEST_F(StateFolderTest, GoesOnWhereItsOwnCreationWasCutShort) {
  std::filesystem::create_directories(path() + "/checkpoints");
  write_file("state/lock", "");
  write_file("state/hippo.db.new", "half a database");
  write_file("state/hippo.db.new-journal", "");
  EXPECT_TRUE(open());
}

TEST_F(StateFolderTest, RefusesPathsThatAreNoFolder) {
  write_file("file", "");
  for (const auto* name : {"file", "file/below", "file/below/deeper"}) {
    const auto result = state_folder::open(path(name));
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.failure().code, errc::io_failed);
    EXPECT_NE(result.failure().message.find(path(name)), std::string::npos);
    EXPECT_FALSE(state_folder::open_read_only(path(name)));
  }
}

TEST_F(StateFolderTest, RefusesAFileThatIsNoDatabase) {
  open();
  for (const auto* bytes : {"", "this is not a database, but it is a long text"
                                " that SQLite looks at before it complains"}) {
    write_file("state/hippo.db", bytes);
    const auto result = state_folder::open(path());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.failure().code, errc::io_failed);
    EXPECT_NE(result.failure().message.find("hippo.db"), std::string::npos);
  }
  const auto text = state_folder::open_read_only(path()).failure().message;
  EXPECT_NE(text.find("file is not a database"), std::string::npos) << text;
}

TEST_F(StateFolderTest, DamagedPagesAreErrorsNotCrashes) {
  {
    auto folder = open();
    std::vector<journal_record> records;
    for (std::uint64_t id = 1; id <= 500; ++id) {
      records.emplace_back(node_added{key, node(id, id - 1)});
      records.emplace_back(
        result_added{key, {id, 10 * id, {{"acc", 0.5}}, "cpu"}});
    }
    commit(*folder, records);
  }
  std::ifstream in{path() + "/hippo.db", std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{in}, {}};
  int refused = 0;
  for (std::size_t page = 4096; page + 4096 <= whole.size(); page += 4096) {
    auto bytes = whole;
    bytes.replace(page, 4096, 4096, '\x55');
    write_file("state/hippo.db", bytes);
    auto folder = state_folder::open(path());
    const auto plan = folder ? (*folder)->load_plan(key)
                             : expected<stored_plan>{folder.failure()};
    if (!plan) {
      EXPECT_EQ(plan.failure().code, errc::io_failed);
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

TEST_F(StateFolderTest, DamagedRowsAreErrors) {
  commit(*open(), {node_added{key, node(1)},
                   result_added{key, {1, 5, {{"acc", 0.5}}, "cpu"}}});
  for (const auto* sql : {"UPDATE metrics SET value = x'01'",
                          "UPDATE results SET node = 2",
                          "UPDATE nodes SET parent = 7",
                          "UPDATE nodes SET configuration = x'0000'"}) {
    run_sql(sql);
    const auto plan = open()->load_plan(key);
    ASSERT_FALSE(plan) << sql;
    EXPECT_EQ(plan.failure().code, errc::io_failed);
    EXPECT_NE(plan.failure().message.find("damaged"), std::string::npos);
    run_sql("UPDATE metrics SET value = x'0000000000000000';"
            "UPDATE results SET node = 1; UPDATE nodes SET parent = 0");
  }
}

TEST_F(StateFolderTest, ReadersSeeCommitsWhileTheServiceRuns) {
  auto service = open();
  auto reader = state_folder::open_read_only(path());
  ASSERT_TRUE(reader) << reader.failure().message;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    commit(*service, {node_added{key, node(id, id - 1)}});
    EXPECT_EQ(load(**reader).nodes.size(), id);
  }
}

TEST_F(StateFolderTest, ReadersNeedNoService) {
  const auto none = state_folder::open_read_only(path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().code, errc::invalid_argument);
  EXPECT_NE(none.failure().message.find(path()), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path()));
  commit(*open(), {node_added{key, node(1)}});
  auto reader = state_folder::open_read_only(path());
  ASSERT_TRUE(reader) << reader.failure().message;
  EXPECT_EQ(load(**reader).nodes.size(), 1u);
  EXPECT_TRUE(open()); // readers hold nothing
}

TEST_F(StateFolderTest, AFailedCommitChangesNothing) {
  auto folder = open();
  run_sql("CREATE TRIGGER refuse BEFORE INSERT ON results"
          " BEGIN SELECT RAISE(ABORT, 'no room'); END");
  const auto done
    = folder->commit({node_added{key, node(1)},
                      result_added{key, {1, 5, {{"acc", 0.5}}, "cpu"}}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.failure().code, errc::io_failed);
  EXPECT_NE(done.failure().message.find("no room"), std::string::npos);
  EXPECT_TRUE(load(*folder).nodes.empty());
  run_sql("DROP TRIGGER refuse");
  commit(*folder, {node_added{"other", node(1)}, node_added{key, node(1)}});
  EXPECT_EQ(load(*folder).nodes.size(), 1u);
  EXPECT_EQ(load(*folder, "other").nodes.size(), 1u);
}

} // namespace
} // namespace hippo
