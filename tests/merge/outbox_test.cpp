#include "hippo/service/merge/outbox.hpp"

#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

journal_record removal_of(step_t step) {
  return checkpoint_removed{"key", node_id{1}, step, "file"};
}

step_t step_of(const journal_record& x) {
  return std::get<checkpoint_removed>(x).step;
}

study_news measured(step_t at) {
  return {trial_measured{0, node_id{1}, at, {{"loss", 1}}}};
}

using acks = std::vector<std::pair<reply_address, ack>>;

TEST(Outbox, NothingToStoreIsNoCommit) {
  outbox x;
  EXPECT_TRUE(x.is_empty());
  EXPECT_FALSE(x.next_commit());
  EXPECT_TRUE(x.is_empty());
}

TEST(Outbox, RecordsKeepTheirOrderInACommit) {
  outbox x;
  x.add(removal_of(3));
  x.add(removal_of(1));
  const auto commit = x.next_commit();
  ASSERT_TRUE(commit);
  ASSERT_EQ(commit->records.size(), 2u);
  EXPECT_EQ(step_of(commit->records[0]), 3u);
  EXPECT_EQ(step_of(commit->records[1]), 1u);
  EXPECT_FALSE(x.next_commit());
}

TEST(Outbox, CommitsAreNumberedFromOne) {
  outbox x;
  for (std::uint64_t number = 1; number < 4; ++number) {
    x.add(removal_of(number));
    const auto commit = x.next_commit();
    ASSERT_TRUE(commit);
    EXPECT_EQ(commit->number, number);
  }
}

TEST(Outbox, AcknowledgementWaitsForItsCommit) {
  outbox x;
  x.add(removal_of(1));
  x.acknowledge(reply_address{7}, {lease_id{4}, 10});
  const auto commit = x.next_commit();
  ASSERT_TRUE(commit);
  EXPECT_EQ(x.committed(commit->number),
            (acks{{reply_address{7}, {lease_id{4}, 10}}}));
}

TEST(Outbox, AcknowledgementAfterACommitWaitsForTheNextOne) {
  outbox x;
  x.add(removal_of(1));
  ASSERT_TRUE(x.next_commit());
  x.acknowledge(reply_address{7}, {lease_id{4}, 10});
  EXPECT_TRUE(x.committed(1).empty());
  ASSERT_TRUE(x.next_commit());
  EXPECT_EQ(x.committed(2).size(), 1u);
}

TEST(Outbox, AcknowledgementAloneIsACommit) {
  outbox x;
  x.acknowledge(reply_address{7}, {lease_id{4}, 10});
  EXPECT_FALSE(x.is_empty());
  const auto commit = x.next_commit();
  ASSERT_TRUE(commit);
  EXPECT_TRUE(commit->empty());
  EXPECT_EQ(x.committed(1).size(), 1u);
  EXPECT_TRUE(x.is_empty());
}

TEST(Outbox, NewsOfAStudyIsSentInOneGo) {
  outbox x;
  x.notify(study_no{2}, measured(5));
  x.notify(study_no{1}, measured(6));
  x.notify(study_no{2}, measured(7));
  const auto commit = x.next_commit();
  ASSERT_TRUE(commit);
  ASSERT_EQ(commit->news.size(), 2u);
  EXPECT_EQ(commit->news[0].first, study_no{1});
  EXPECT_EQ(commit->news[1].first, study_no{2});
  ASSERT_EQ(commit->news[1].second.size(), 2u);
  EXPECT_EQ(std::get<trial_measured>(commit->news[1].second[0]).at, 5u);
  EXPECT_EQ(std::get<trial_measured>(commit->news[1].second[1]).at, 7u);
  EXPECT_FALSE(x.next_commit());
}

TEST(Outbox, FilesAreDeletedWithTheCommitThatSaysSo) {
  outbox x;
  x.delete_file("a.ckpt");
  const auto commit = x.next_commit();
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->files, std::vector<std::string>{"a.ckpt"});
  EXPECT_FALSE(commit->empty());
}

TEST(Outbox, IsNotEmptyWhileACommitIsUnderWay) {
  outbox x;
  x.add(removal_of(1));
  EXPECT_FALSE(x.is_empty());
  ASSERT_TRUE(x.next_commit());
  EXPECT_FALSE(x.is_empty());
  x.committed(1);
  EXPECT_TRUE(x.is_empty());
}

TEST(Outbox, IsNotEmptyWhileNewsWaits) {
  outbox x;
  x.notify(study_no{0}, measured(5));
  EXPECT_FALSE(x.is_empty());
}

TEST(Outbox, CommitWithoutNumbersOfItsPartsIsEmpty) {
  EXPECT_TRUE(commit_request{}.empty());
  commit_request x;
  x.number = 4;
  EXPECT_TRUE(x.empty());
  x.news.push_back({study_no{}, measured(1)});
  EXPECT_FALSE(x.empty());
}

// Everything that is put in has a number of its own; whatever comes with it,
// an acknowledgement may follow only once all that was put in before is stored.
TEST(Outbox, NothingIsLostNorTwiceNorTooEarlyInAnyOrder) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    outbox x;
    std::uint64_t last = 0; // put in
    std::vector<std::uint64_t> records, news, files, acked;
    std::vector<std::uint64_t> want_records, want_news, want_files, want_acked;
    std::deque<std::pair<std::uint64_t, std::uint64_t>> under_way;
    std::uint64_t stored = 0; // of what was put in
    const auto take_commit = [&] {
      const auto commit = x.next_commit();
      if (!commit)
        return;
      for (const auto& y : commit->records)
        records.push_back(step_of(y));
      for (const auto& kvp : commit->news)
        for (const auto& y : kvp.second)
          news.push_back(std::get<trial_measured>(y).at);
      for (const auto& y : commit->files)
        files.push_back(std::stoull(y));
      under_way.emplace_back(commit->number, last);
    };
    const auto store_one = [&] {
      const auto [number, up_to] = under_way.front();
      under_way.pop_front();
      stored = up_to;
      for (const auto& [to, y] : x.committed(number)) {
        EXPECT_EQ(static_cast<std::uint64_t>(to), number_of(y.lease));
        EXPECT_LE(number_of(y.lease), stored);
        acked.push_back(number_of(y.lease));
      }
    };
    for (int turn = 0; turn < 120; ++turn)
      switch (rng() % 6) {
        case 0:
          x.add(removal_of(++last));
          want_records.push_back(last);
          break;
        case 1:
          x.notify(study_no{0}, measured(++last));
          want_news.push_back(last);
          break;
        case 2:
          x.delete_file(std::to_string(++last));
          want_files.push_back(last);
          break;
        case 3:
          ++last;
          x.acknowledge(reply_address{last}, {lease_id{last}, 1});
          want_acked.push_back(last);
          break;
        case 4: take_commit(); break;
        default:
          if (!under_way.empty())
            store_one();
      }
    take_commit();
    while (!under_way.empty())
      store_one();
    EXPECT_EQ(records, want_records);
    EXPECT_EQ(news, want_news);
    EXPECT_EQ(files, want_files);
    EXPECT_EQ(acked, want_acked);
    EXPECT_TRUE(x.is_empty());
  }
}

TEST(OutboxDeathTest, CommitOutOfOrderIsAsserted) {
  outbox x;
  x.add(removal_of(1));
  ASSERT_TRUE(x.next_commit());
  x.add(removal_of(2));
  ASSERT_TRUE(x.next_commit());
  EXPECT_DEBUG_DEATH(x.committed(2), "number");
}

} // namespace
} // namespace hippo
