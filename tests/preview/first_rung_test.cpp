#include "hippo/forecast/preview/first_rung.hpp"

#include <gtest/gtest.h>

#include "preview/previewed.hpp"

namespace hippo {
namespace {

using test::accepted;
using test::workloads;

const auto* const space = "{x: {choice: [1, 2, {piecewise: [[0, 1], "
                          "[2, 0.5]]}]}, y: {choice: [1, 2]}}";

TEST(FirstRung, IsWhatIsAskedForBeforeThereIsAResult) {
  // Six trials to step 4, of which those of x = 1 share two steps.
  const auto sha = first_rung_of(
    accepted(space, "{sha: {eta: 3, min: 4}}"), workloads()[0]);
  EXPECT_EQ(sha.trials, 6u);
  EXPECT_EQ(sha.steps, 6u * 4 - 2 * 2);
  const auto grid = first_rung_of(accepted(space, "grid"), workloads()[0]);
  EXPECT_EQ(grid.steps, 6u * 12 - 2 * 2);
}

TEST(FirstRung, ABudgetThatDoesNotCoverItIsNoted) {
  const auto note = [](double cost, double seconds, double price) {
    return note_of_cost(accepted(space, "{sha: {eta: 3, min: 4}}",
                                 "budget: {cost: " + std::to_string(cost)
                                   + "}\n"),
                        workloads()[0], seconds, price);
  };
  // 20 steps of 3 min at 36 an hour.
  EXPECT_FALSE(note(36, 180, 36));
  EXPECT_FALSE(note(35, 0, 36)) << "nobody knows how long they take";
  EXPECT_FALSE(note(35, 180, 0)) << "they cost nothing";
  const auto found = note(35, 180, 36);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "budget.cost");
  EXPECT_EQ(found->line, 7);
  EXPECT_EQ(found->message,
            "is spent before the first rung is done, which costs about 36.00: "
            "20 steps of 6 trials, after merging, on trainers of 36 an hour");
}

} // namespace
} // namespace hippo
