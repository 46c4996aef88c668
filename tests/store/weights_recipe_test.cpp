#include "hippo/store/weights_recipe.hpp"

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

/// A path of three nodes with a sibling; measured at 9.
stored_plan make_plan() {
  const auto lr = [](double x) {
    return configuration{{"lr", form::constant(x)}};
  };
  stored_plan result;
  result.nodes = {{node_id{1}, root_node, 0, 0, lr(0.1)},
                  {node_id{2}, node_id{1}, 4, 0, lr(0.2)},
                  {node_id{3}, node_id{1}, 4, 0, lr(0.3)},
                  {node_id{4}, node_id{2}, 7, 0, lr(0.4)}};
  result.results = {{node_id{4}, 9, {{"sum", 1}}, "cpu, 1 thread"},
                    {node_id{4}, 10, {{"sum", 2}}, "cpu, 2 threads"}};
  for (const auto& [node, step] : std::vector<std::pair<std::uint64_t, step_t>>{
         {1, 2}, {1, 4}, {1, 6}, {2, 6}, {3, 5}, {4, 8}, {4, 10}})
    result.checkpoints.push_back(
      {node_id{node}, step,
       {checkpoint_name(node_id{node}, step, lease_id{1}), 100, 7},
       "cpu, 1 thread"});
  return result;
}

weights_recipe recipe(const std::set<std::string>& lost) {
  return make_weights_recipe(
    make_plan(), node_id{4}, 9, {"w", {}, {}}, "code",
    [&](const checkpoint& x) { return !lost.contains(x.file); });
}

std::vector<std::pair<step_t, step_t>> stages_of(const weights_recipe& x) {
  std::vector<std::pair<step_t, step_t>> result;
  for (const auto& y : x.path.stages)
    result.emplace_back(y.begin, y.end);
  return result;
}

using steps = std::vector<std::pair<step_t, step_t>>;

TEST(WeightsRecipe, BeginsAtTheLastStateThatIsKept) {
  std::set<std::string> lost;
  auto x = recipe(lost);
  EXPECT_EQ(x.path.start.file, checkpoint_name(node_id{4}, 8, lease_id{1}));
  EXPECT_EQ(stages_of(x), (steps{{8, 9}}));
  lost.insert(x.path.start.file);
  x = recipe(lost);
  EXPECT_EQ(x.path.start.file, checkpoint_name(node_id{2}, 6, lease_id{1}));
  EXPECT_EQ(stages_of(x), (steps{{6, 7}, {7, 9}}));
  lost.insert(x.path.start.file);
  x = recipe(lost); // that of step 6 is of other training
  EXPECT_EQ(x.path.start.file, checkpoint_name(node_id{1}, 4, lease_id{1}));
  EXPECT_EQ(stages_of(x), (steps{{4, 4}, {4, 7}, {7, 9}}));
  lost.insert(x.path.start.file);
  x = recipe(lost);
  EXPECT_EQ(stages_of(x), (steps{{2, 4}, {4, 7}, {7, 9}}));
  lost.insert(x.path.start.file);
  x = recipe(lost);
  EXPECT_EQ(x.path.start.file, "");
  EXPECT_EQ(stages_of(x), (steps{{0, 4}, {4, 7}, {7, 9}}));
}

TEST(WeightsRecipe, SaysWhatTrainedIt) {
  const auto x = recipe({});
  EXPECT_EQ(x.kind, "cpu, 1 thread");
  EXPECT_EQ(x.code, "code");
  EXPECT_EQ(x.path.workload.name, "w");
  EXPECT_EQ(x.path.stops, (std::vector<stop_point>{{9, false, false}}));
}

} // namespace
} // namespace hippo
