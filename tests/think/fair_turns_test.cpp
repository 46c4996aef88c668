#include "hippo/search/think/fair_turns.hpp"

#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(FairTurns, PartiesTakeTurnsWhateverTheyBring) {
  fair_turns x{4};
  const auto many = x.join(job_kind::decision);
  const auto one = x.join(job_kind::decision);
  for (int i = 0; i < 3; ++i)
    x.add(many);
  x.add(one);
  EXPECT_EQ(x.take()->party, many);
  EXPECT_EQ(x.take()->party, one);
  EXPECT_FALSE(x.take()); // the other two threads are for the other kinds
}

TEST(FairTurns, AKindOfWhichNothingRunsFindsAThread) {
  fair_turns x{4};
  for (int i = 0; i < 10; ++i)
    x.add(x.join(job_kind::question));
  EXPECT_TRUE(x.take());
  EXPECT_TRUE(x.take());
  EXPECT_FALSE(x.take());
  const auto admitted = x.join(job_kind::admission);
  x.add(admitted);
  EXPECT_EQ(x.take()->party, admitted);
  const auto decides = x.join(job_kind::decision);
  x.add(decides);
  EXPECT_EQ(x.take()->party, decides);
  EXPECT_FALSE(x.take());
}

TEST(FairTurns, JobsOfThoseWhoHaveLeftNeverBegin) {
  fair_turns x{4};
  const auto gone = x.join(job_kind::question);
  const auto other = x.join(job_kind::question);
  const auto first = x.add(gone);
  const auto second = x.add(gone);
  x.add(other);
  EXPECT_EQ(x.take()->job, first);
  const auto left = x.leave(gone);
  EXPECT_EQ(left.dropped, std::vector{second});
  EXPECT_EQ(left.running, first);
  EXPECT_EQ(x.take()->party, other);
  x.end(first);
  EXPECT_FALSE(x.take());
  EXPECT_EQ(x.parties(), 1u);
  EXPECT_EQ(x.leave(gone).dropped.size(), 0u);
}

/// The same in the most obvious way: all jobs in one list, and who had a turn
/// when.
class model {
public:
  explicit model(std::size_t threads) : threads_(threads) {}

  void join(party_no x, job_kind kind) { kinds_[x] = kind; }
  void add(party_no x, job_no job) {
    if (queues_[x].empty() && !runs(x))
      since_[x] = ++time_;
    queues_[x].push_back(job);
  }
  void end(job_no job) {
    const auto x = running_.extract(job).mapped();
    if (!queues_[x].empty())
      since_[x] = ++time_;
  }
  void leave(party_no x) {
    queues_[x].clear();
    left_.insert(x);
  }

  /// Whether a job may begin now, by what is said of turns.
  [[nodiscard]] bool may_begin(party_no x, job_no job) const {
    if (left_.contains(x) || runs(x) || queues_.at(x).empty()
        || queues_.at(x).front() != job || !has_thread(kinds_.at(x)))
      return false;
    for (const auto& [y, queue] : queues_)
      if (y != x && kinds_.at(y) == kinds_.at(x) && !queue.empty() && !runs(y)
          && since_.at(y) < since_.at(x))
        return false;
    return true;
  }
  /// Whether any may.
  [[nodiscard]] bool may_any() const {
    for (const auto& [x, queue] : queues_)
      if (!queue.empty() && may_begin(x, queue.front()))
        return true;
    return false;
  }
  void begin(party_no x) {
    running_.emplace(queues_[x].front(), x);
    queues_[x].pop_front();
  }
  [[nodiscard]] const std::map<job_no, party_no>& running() const {
    return running_;
  }

private:
  [[nodiscard]] bool runs(party_no x) const {
    for (const auto& [job, y] : running_)
      if (y == x)
        return true;
    return false;
  }
  [[nodiscard]] bool has_thread(job_kind kind) const {
    std::set<job_kind> busy{kind};
    for (const auto& [job, y] : running_)
      busy.insert(kinds_.at(y));
    return threads_ - running_.size() > job_kinds - busy.size();
  }

  std::size_t threads_;
  std::uint64_t time_ = 0;
  std::map<party_no, job_kind> kinds_;
  std::map<party_no, std::deque<job_no>> queues_;
  std::map<party_no, std::uint64_t> since_; ///< it waits for its turn
  std::map<job_no, party_no> running_;
  std::set<party_no> left_;
};

class FairTurnsRandom : public testing::TestWithParam<unsigned> {};

TEST_P(FairTurnsRandom, TurnsAreAsTheModelSays) {
  std::mt19937 random{GetParam()};
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::size_t threads = job_kinds + below(4);
  fair_turns x{threads};
  model y{threads};
  std::vector<party_no> parties;
  std::map<party_no, job_kind> kinds;
  // Turns of others, by party that waits: at most one of each other one.
  std::map<party_no, std::map<party_no, int>> passed;
  for (int i = 0; i < 600; ++i) {
    const auto what = below(10);
    if (parties.empty() || what == 0) {
      const auto kind = static_cast<job_kind>(below(job_kinds));
      parties.push_back(x.join(kind));
      kinds[parties.back()] = kind;
      y.join(parties.back(), kind);
    } else if (what < 5) {
      const auto party = parties[below(parties.size())];
      y.add(party, x.add(party));
    } else if (what < 8) {
      const bool may = y.may_any();
      const auto next = x.take();
      ASSERT_EQ(next.has_value(), may);
      if (!next)
        continue;
      ASSERT_TRUE(y.may_begin(next->party, next->job));
      y.begin(next->party);
      passed.erase(next->party);
      for (const auto party : parties)
        if (party != next->party && kinds[party] == kinds[next->party]
            && x.waiting(party) > 0) {
          bool runs = false;
          for (const auto& [job, z] : y.running())
            runs = runs || z == party;
          if (!runs) {
            ASSERT_LE(++passed[party][next->party], 1);
          }
        }
    } else if (what < 9 && !y.running().empty()) {
      auto at = y.running().begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(y.running().size())));
      const auto job = at->first;
      y.end(job);
      x.end(job);
    } else if (below(4) == 0) {
      const auto at = below(parties.size());
      const auto party = parties[at];
      parties.erase(parties.begin() + static_cast<std::ptrdiff_t>(at));
      x.leave(party);
      y.leave(party);
      EXPECT_EQ(x.waiting(party), 0u);
    }
    ASSERT_EQ(x.running(), y.running().size());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FairTurnsRandom, testing::Range(1u, 201u));

} // namespace
} // namespace hippo
