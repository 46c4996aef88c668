#include "hippo/base/ids.hpp"

#include <deque>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

static_assert(!std::is_convertible_v<node_id, std::uint64_t>);
static_assert(!std::is_convertible_v<std::uint64_t, node_id>);

template <class Container, class Id>
concept indexed_by = requires(Container& xs, Id x) { xs[x]; };
static_assert(indexed_by<by_id<node_id, int>, node_id>);
static_assert(!indexed_by<by_id<node_id, int>, trial_id>);
static_assert(!indexed_by<by_id<node_id, int>, std::uint64_t>);

TEST(Ids, RangeGoesThroughAllFromTheFirstToBeforeTheLast) {
  std::vector<node_id> seen;
  for (auto id : id_range(node_id{2}, 5))
    seen.push_back(id);
  EXPECT_EQ(seen, (std::vector{node_id{2}, node_id{3}, node_id{4}}));
}

TEST(Ids, RangeThatBeginsBeyondItsEndIsEmpty) {
  for (auto id : id_range(node_id{5}, 3))
    ADD_FAILURE() << to_string(id);
}

TEST(Ids, NumberAndTextAreThoseOfTheId) {
  EXPECT_EQ(number_of(study_no{UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(to_string(lease_id{UINT64_MAX}), "18446744073709551615");
}

TEST(ById, AddedItemsAreFoundUnderTheIdsThatWereGiven) {
  by_id<trial_id, std::string, std::deque<std::string>> x;
  const auto a = x.add("a"), b = x.add("b");
  EXPECT_EQ(a, trial_id{0});
  EXPECT_EQ(b, trial_id{1});
  x[a] += "!";
  EXPECT_EQ(x[a], "a!");
  EXPECT_EQ(x[b], "b");
  EXPECT_TRUE(x.has(b));
  EXPECT_FALSE(x.has(trial_id{2}));
}

TEST(ById, IdsAreThoseOfAllItems) {
  by_id<study_no, int> x{2};
  x.resize(3);
  std::vector<study_no> seen;
  for (auto id : x.ids())
    seen.push_back(id);
  EXPECT_EQ(seen, (std::vector{study_no{0}, study_no{1}, study_no{2}}));
}

} // namespace
} // namespace hippo
