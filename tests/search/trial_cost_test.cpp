#include "hippo/search/trial_cost.hpp"

#include <string>

#include <gtest/gtest.h>

#include "hippo/search/accepted_study.hpp"
#include "plan/workload_model.hpp"

namespace hippo {
namespace {

constexpr std::uint64_t mib = 1 << 20;

workload_descriptor model() {
  workload_descriptor result;
  result.name = "model";
  result.metrics = {{"value", direction::maximize, ""}};
  for (const auto* name : {"a", "b", "c"}) {
    parameter_descriptor x;
    x.name = name;
    x.fallback = 0.5;
    result.hyper_parameters.push_back(x);
  }
  return result;
}

/// A study of which each trial has so many pieces of one hyper-parameter.
std::string study_of(int pieces, const std::string& more = "",
                     std::uint64_t trials = 5000) {
  std::string list = "[0, {uniform: [0, 1]}]";
  for (int i = 1; i < pieces; ++i)
    list += ", [" + std::to_string(i) + ", 0." + std::to_string(1 + i % 2)
            + "]";
  return "study: wide\nworkload: {name: model}\nobjective: {metric: value}\n"
         "max_steps: "
         + std::to_string(pieces) + "\nspace: {a: {piecewise: [" + list + "]}"
         + more + "}\nalgorithm: random\nbudget: {trials: "
         + std::to_string(trials) + "}\n";
}

study_admission admit(const std::string& text) {
  return admit_study(text, "test.yaml", {model()});
}

TEST(TrialCost, IsThatOfItsPiecesWithAllHyperParameters) {
  const auto one = admit(study_of(1)).study->cost();
  EXPECT_EQ(one.pieces, 1u);
  EXPECT_EQ(one.hyper_parameters, 3u);
  const auto wide = admit(study_of(100, ", b: {piecewise: [[0, 1], [7, 2]]}"))
                      .study->cost();
  EXPECT_EQ(wide.pieces, 100u) << "of both together";
  EXPECT_EQ(wide.hyper_parameters, 3u);
  EXPECT_GT(wide.bytes(), 90 * one.bytes() / 2);
}

TEST(TrialCost, OfChoicesTheWidestThatIsDrawnCounts) {
  std::string list = "[0, 1]";
  for (int i = 1; i < 50; ++i)
    list += ", [" + std::to_string(i) + ", " + std::to_string(1 + i % 2) + "]";
  auto text = study_of(1, ", b: {choice: [1, 2, {piecewise: [" + list + "]}]}");
  const std::string steps = "max_steps: 1";
  text.replace(text.find(steps), steps.size(), "max_steps: 50");
  EXPECT_EQ(admit(text).study->cost().pieces, 50u);
}

TEST(TrialCost, OfFewPiecesAsManyTrialsAreOpenAsEver) {
  for (const int pieces : {1, 2, 8, 20}) {
    const auto x = admit(study_of(pieces)).study;
    EXPECT_EQ(x->spec().trials_ahead, trials_ahead_max) << pieces;
  }
}

TEST(TrialCost, OfManyPiecesFewerAreSoThatTheyTakeNoMore) {
  for (const int pieces : {100, 1000, 5000}) {
    const auto x = admit(study_of(pieces)).study;
    const auto ahead = x->spec().trials_ahead;
    EXPECT_LT(ahead, trials_ahead_max);
    EXPECT_LE(ahead * x->cost().bytes(), open_trials_bytes_max);
    EXPECT_GT((ahead + 1) * x->cost().bytes(), open_trials_bytes_max);
    EXPECT_LE(x->first_bytes(),
              open_trials_bytes_max + 2 * x->text().size());
  }
}

TEST(TrialCost, WhereThereIsLittleMemoryFewerAreAndOneInAnyCase) {
  auto x = *admit(study_of(100)).study;
  x.keep_to(mib);
  EXPECT_EQ(x.spec().trials_ahead, mib / x.cost().bytes());
  x.keep_to(0);
  EXPECT_EQ(x.spec().trials_ahead, 1u);
  EXPECT_EQ(x.first_bytes(), 2 * x.text().size() + x.cost().bytes());
  EXPECT_EQ(x.restore("", 77), std::nullopt);
  EXPECT_EQ(x.spec().trials_ahead, 77u) << "as it was when it began";
}

TEST(TrialCost, FewTrialsReserveLittle) {
  const auto x = admit(study_of(1, "", 3)).study;
  EXPECT_EQ(x->first_bytes(), 2 * x->text().size() + 3 * x->cost().bytes());
}

} // namespace
} // namespace hippo
