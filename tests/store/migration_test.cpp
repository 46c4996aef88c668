#include <cmath>
#include <fstream>
#include <iterator>
#include <variant>

#include "store/folder_fixture.hpp"
#include "store/sample_state.hpp"

namespace hippo {
namespace {

/// State folders of older versions, as their own programs made them
/// (tests/data/make_state_sample.sh).
class MigrationTest : public folder_test {
protected:
  void load_sample(const std::string& version) {
    std::filesystem::create_directories(path());
    std::ifstream file{std::string{HIPPO_TEST_DATA} + "/state_version_"
                       + version + ".sql"};
    ASSERT_TRUE(file);
    run_sql({std::istreambuf_iterator<char>{file}, {}});
  }
};

template <class Record>
std::vector<Record> records_of() {
  std::vector<Record> result;
  for (const auto& x : sample_records())
    if (const auto* y = std::get_if<Record>(&x))
      result.push_back(*y);
  return result;
}

TEST_F(MigrationTest, Version2BecomesThePresentWithNothingLost) {
  load_sample("2");
  for (int again = 0; again < 2; ++again) {
    const auto folder = open();
    ASSERT_TRUE(folder);
    const auto plan = folder->load_plan(sample_key);
    ASSERT_TRUE(plan) << plan.failure().message;
    const auto nodes = records_of<node_added>();
    ASSERT_EQ(plan->nodes.size(), nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      EXPECT_EQ(plan->nodes[i], nodes[i].node); // strands too
    ASSERT_EQ(plan->results.size(), 2u);
    EXPECT_EQ(plan->results[0].values, (metrics{{"acc", 0.5}, {"loss", 1}}));
    EXPECT_TRUE(std::isnan(plan->results[1].values.at("acc")));
    EXPECT_TRUE(std::signbit(plan->results[1].values.at("loss")));
    EXPECT_EQ(plan->checkpoints,
              std::vector{records_of<checkpoint_added>().front().checkpoint});
    EXPECT_EQ(*folder->load_study("sample"),
              records_of<study_saved>().front().study);
    EXPECT_EQ(*folder->load_trials(1, 0, 9),
              std::vector{records_of<trial_saved>().front().trial});
    const auto events = *folder->load_events(1, 0, 9);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(std::get<study_command>(events[0].what).text, "2");
    EXPECT_EQ(std::get<trial_measured>(events[2].what).node, 2u);
    EXPECT_EQ(std::get<trial_failed>(events[3].what).reason.message, "no disk");
    EXPECT_EQ(folder->load_output(1, 0, 0, 9)->front().text, "a line\n");
    EXPECT_EQ(*folder->load_step_seconds(sample_key), 0.075);
    EXPECT_EQ(*folder->last_lease_epoch(), 3u);
  }
}

TEST_F(MigrationTest, Version2IsRefusedByReaders) {
  load_sample("2");
  const auto reader = state_reader::open(path());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.failure().code, errc::incompatible_version);
  EXPECT_NE(reader.failure().message.find("which converts it"),
            std::string::npos);
}

TEST_F(MigrationTest, Version2TakesNewRecordsAfterwards) {
  load_sample("2");
  stored_node more = node(5, 2);
  more.strand = 9;
  const auto done = open()->commit({node_added{sample_key, more}});
  ASSERT_TRUE(done) << done.failure().message;
  EXPECT_EQ(open()->load_plan(sample_key)->nodes.back(), more);
}

} // namespace
} // namespace hippo
