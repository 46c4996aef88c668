// Members that train together: what they exchange, the order of their sums, and
// what becomes of them when one fails.

#include "hippo/train/thread_gang.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "train/message_of.hpp"
#include "train/part_values.hpp"

namespace hippo {
namespace {

TEST(Gang, SumsAreOneTreeForEveryNumberOfMembers) {
  constexpr std::size_t parts = 16;
  for (const std::size_t size : {0, 1, 2, 3, 7, 64, 1001}) {
    const auto whole = tree(0, parts, size);
    for (const std::size_t members : {1, 2, 4, 8, 16}) {
      thread_gang all{members};
      std::vector<floats> sums(members);
      all.run([&](std::size_t rank) {
        sums[rank] = tree(rank * parts / members, parts / members, size);
        sum_over_members(all.member(rank), sums[rank]);
      });
      for (const auto& x : sums)
        EXPECT_EQ(x, whole) << members << " members, " << size << " values";
    }
  }
}

TEST(Gang, TheOrderOfATreeMatters) {
  // Else the test above would show nothing.
  floats one_by_one(1001);
  for (std::size_t part = 0; part < 16; ++part) {
    const auto values = values_of(part, one_by_one.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      one_by_one[i] += values[i];
  }
  EXPECT_NE(one_by_one, tree(0, 16, one_by_one.size()));
}

TEST(Gang, RangesOfMembersAreEven) {
  for (const std::size_t things : {0, 1, 3, 8, 21})
    for (const std::size_t members : {1, 2, 4, 8}) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < members; ++rank) {
        const auto x = range_of_member(things, rank, members);
        EXPECT_EQ(x.first, next);
        EXPECT_GE(x.end - x.first, things / members);
        EXPECT_LE(x.end - x.first, (things + members - 1) / members);
        next = x.end;
      }
      EXPECT_EQ(next, things);
    }
}

TEST(Gang, EachMemberHasTheValuesOfAllOthers) {
  for (const std::size_t things : {0, 1, 3, 8, 21})
    for (const std::size_t width : {1, 2})
      for (const std::size_t members : {1, 2, 4, 8}) {
        std::vector<double> whole(things * width);
        std::iota(whole.begin(), whole.end(), 1);
        thread_gang all{members};
        std::vector<std::vector<double>> had(members);
        all.run([&](std::size_t rank) {
          const auto own = range_of_member(things, rank, members);
          auto& x = had[rank];
          x.assign(whole.size(), -1);
          std::copy(whole.begin() + std::ptrdiff_t(own.first * width),
                    whole.begin() + std::ptrdiff_t(own.end * width),
                    x.begin() + std::ptrdiff_t(own.first * width));
          gather_from_members(all.member(rank),
                              std::as_writable_bytes(std::span{x}),
                              width * sizeof(double));
        });
        for (const auto& x : had)
          EXPECT_EQ(x, whole) << members << " members, " << things;
      }
}

TEST(Gang, MembersExchangeAsOftenAsTheyLike) {
  constexpr std::size_t members = 4;
  constexpr int rounds = 500;
  thread_gang all{members};
  std::vector<int> seen(members);
  all.run([&](std::size_t rank) {
    for (int round = 0; round < rounds; ++round) {
      const auto peer = rank ^ (round % 2 == 0 ? 1U : 2U);
      const int out = 10 * round + static_cast<int>(rank);
      int in = -1;
      all.member(rank).exchange(peer, std::as_bytes(std::span{&out, 1}),
                                std::as_writable_bytes(std::span{&in, 1}));
      seen[rank] += in == 10 * round + static_cast<int>(peer) ? 1 : 0;
    }
  });
  EXPECT_EQ(seen, std::vector<int>(members, rounds));
}

TEST(Gang, MemberZeroIsTheCallersThread) {
  thread_gang all{4};
  std::vector<std::thread::id> where(4);
  all.run([&](std::size_t rank) { where[rank] = std::this_thread::get_id(); });
  EXPECT_EQ(where[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(where.begin(), where.end()).size(), 4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(all.member(rank).rank(), rank);
    EXPECT_EQ(all.member(rank).size(), 4);
  }
}

/// Sums again and again, until `bad` fails in its round 3.
void sum_until_it_fails(thread_gang& all, std::size_t rank, std::size_t bad,
                        std::atomic<int>& lost) {
  try {
    for (int round = 0; round < 1000; ++round) {
      if (rank == bad && round == 3)
        throw std::runtime_error("member " + std::to_string(bad) + " fails");
      auto values = values_of(rank, 1000);
      sum_over_members(all.member(rank), values);
    }
  } catch (const gang_lost&) {
    ++lost;
    throw;
  }
}

TEST(Gang, AFailureEndsAllAndReachesTheCaller) {
  for (const std::size_t size : {2, 4, 8})
    for (std::size_t bad = 0; bad < size; ++bad) {
      thread_gang all{size};
      std::atomic<int> lost{0};
      EXPECT_EQ(message_of<std::runtime_error>([&] {
                  all.run([&](std::size_t rank) {
                    sum_until_it_fails(all, rank, bad, lost);
                  });
                }),
                "member " + std::to_string(bad) + " fails");
      EXPECT_EQ(lost, static_cast<int>(size) - 1);
      // It is as good as new.
      std::vector<floats> sums(size);
      all.run([&](std::size_t rank) {
        sums[rank] = values_of(rank, 10);
        sum_over_members(all.member(rank), sums[rank]);
      });
      EXPECT_EQ(sums.back(), tree(0, size, 10));
    }
}

TEST(Gang, OfSeveralFailuresTheFirstMembersIsTold) {
  thread_gang all{4};
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(message_of<std::runtime_error>([&] {
                all.run([](std::size_t rank) {
                  if (rank > 0)
                    throw std::runtime_error("of " + std::to_string(rank));
                });
              }),
              "of 1");
}

TEST(Gang, AMemberThatHasReturnedIsNotWaitedFor) {
  thread_gang all{2};
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              all.run([&](std::size_t rank) {
                floats values{1};
                if (rank == 1)
                  sum_over_members(all.member(1), values);
              });
            }),
            "member 0 of 2 exchanges something else");
}

TEST(Gang, WhatDoesNotFitIsRefused) {
  thread_gang all{2};
  for (const std::size_t odd : {0, 1})
    EXPECT_THROW(all.run([&](std::size_t rank) {
      floats values(rank == odd ? 64 : 8);
      sum_over_members(all.member(rank), values);
    }),
                 gang_lost);
}

} // namespace
} // namespace hippo
