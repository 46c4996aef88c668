#include "hippo/search/algorithm/freeze_thaw.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "search/studies.hpp"
#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

/// A model whose word is given.
class told_model : public trial_states {
public:
  [[nodiscard]] std::uint64_t of(trial_no trial, step_t) const override {
    return trial;
  }
  [[nodiscard]] std::optional<trial_no>
  next(const std::vector<placed_trial>& resting,
       const std::vector<placed_trial>& going,
       std::optional<trial_no> fresh) const override {
    seen = {};
    for (const auto& x : resting)
      seen.resting[x.trial] = x.at;
    for (const auto& x : going)
      seen.going[x.trial] = x.at;
    seen.fresh = fresh;
    const bool is_offered =
      answer && (answer == fresh || seen.resting.contains(*answer));
    return is_offered ? answer : std::nullopt;
  }

  struct question {
    std::map<trial_no, step_t> resting, going;
    std::optional<trial_no> fresh;
    friend bool operator==(const question&, const question&) = default;
  };
  mutable question seen;
  std::optional<trial_no> answer;
};

freeze_thaw make(std::uint64_t trials, std::optional<std::uint64_t> concurrent,
                 const trial_states* states) {
  return {trials, {2, 4, 8}, direction::minimize, concurrent, states};
}

TEST(FreezeThaw, WithoutAModelNewTrialsComeFirst) {
  auto x = make(2, 1, nullptr);
  EXPECT_EQ(start(x), (actions{advance{0, 2}}));
  EXPECT_EQ(x.on_result(0, 2, 1), (actions{advance{1, 2}}));
  EXPECT_EQ(x.on_result(1, 2, 1), (actions{advance{0, 4}}));
  EXPECT_EQ(x.on_result(0, 4, 1), (actions{advance{0, 8}}));
  EXPECT_EQ(x.on_result(0, 8, 1), (actions{advance{1, 4}}));
  EXPECT_EQ(x.on_result(1, 4, 1), (actions{advance{1, 8}}));
  EXPECT_EQ(x.on_result(1, 8, 1), actions{});
  EXPECT_TRUE(x.done());
}

TEST(FreezeThaw, TheModelSaysWhichTrialGoesOn) {
  told_model model;
  model.answer = 0;
  auto x = make(3, 2, &model);
  EXPECT_EQ(x.open(1), (actions{advance{0, 2}}));
  model.answer = 1;
  EXPECT_EQ(x.open(3), (actions{advance{1, 2}}));
  EXPECT_EQ(model.seen, (told_model::question{{}, {}, 1}));
  model.answer = 0;
  EXPECT_EQ(x.on_result(0, 2, 5), (actions{advance{0, 4}}));
  EXPECT_EQ(model.seen, (told_model::question{{{0, 2}}, {}, 2}));
  model.answer = 1;
  EXPECT_EQ(x.on_result(1, 2, 3), (actions{advance{1, 4}}));
  EXPECT_EQ(model.seen, (told_model::question{{{1, 2}}, {{0, 4}}, 2}));
  EXPECT_EQ(x.on_result(1, 3, 3), actions{}); // between two rungs
  model.answer = 2;
  EXPECT_EQ(x.on_result(0, 4, 5), (actions{advance{2, 2}}));
  EXPECT_EQ(model.seen, (told_model::question{{{0, 4}}, {{1, 4}}, 2}));
  model.answer = 0;
  EXPECT_EQ(x.on_result(2, 2, 5), (actions{advance{0, 8}}));
  EXPECT_EQ(model.seen,
            (told_model::question{{{0, 4}, {2, 2}}, {{1, 4}}, std::nullopt}));
  model.answer = std::nullopt; // none is worth its steps
  EXPECT_EQ(x.on_result(1, 4, 3), actions{});
  EXPECT_EQ(model.seen,
            (told_model::question{{{1, 4}, {2, 2}}, {{0, 8}}, std::nullopt}));
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(0, 8, 3), (actions{prune{1}, prune{2}}));
  EXPECT_TRUE(x.done());
}

TEST(FreezeThaw, WhatHasFailedAtRestIsNotThere) {
  told_model model;
  model.answer = 0;
  auto x = make(2, 1, &model);
  EXPECT_EQ(start(x), (actions{advance{0, 2}}));
  model.answer = 1;
  EXPECT_EQ(x.on_result(0, 2, 5), (actions{advance{1, 2}}));
  EXPECT_EQ(x.on_failure(0), actions{});
  EXPECT_EQ(x.on_result(1, 2, 5), (actions{advance{1, 4}}));
  EXPECT_EQ(model.seen, (told_model::question{{{1, 2}}, {}, std::nullopt}));
  EXPECT_EQ(x.on_failure(1), actions{});
  EXPECT_TRUE(x.done());
  // Tried again, it goes where it was going.
  EXPECT_TRUE(x.take_back(1));
  EXPECT_FALSE(x.done());
  x.grow(1);
  model.answer = 2;
  EXPECT_EQ(x.open(3), actions{});  // there is no room
  EXPECT_EQ(x.widen(1), actions{}); // one at a time was wanted
  EXPECT_EQ(x.on_result(1, 4, 5), (actions{advance{2, 2}}));
  EXPECT_EQ(model.seen, (told_model::question{{{1, 4}}, {}, 2}));
}

TEST(FreezeThaw, TrialsThatBecomeLongerRestWhereTheyEnded) {
  told_model model;
  model.answer = 0;
  auto x = make(1, 1, &model);
  start(x);
  x.on_result(0, 2, 5);
  x.on_result(0, 4, 5);
  x.on_result(0, 8, 5);
  EXPECT_TRUE(x.done());
  EXPECT_EQ(x.lengthen(20), std::vector<trial_no>{0});
  EXPECT_EQ(x.rungs(), (std::vector<step_t>{2, 4, 8, 16, 20}));
  EXPECT_EQ(x.go_on(), (actions{advance{0, 16}}));
  EXPECT_EQ(model.seen, (told_model::question{{{0, 8}}, {}, std::nullopt}));
  x.grow(1);
  EXPECT_FALSE(x.done());
}

TEST(FreezeThaw, HasFewRungsAndTheSamplerGp) {
  const std::string budget = "budget: {trials: 40}";
  const auto rungs = [&](const std::string& algorithm) {
    return algorithm_of(study(endless, algorithm, budget))->rungs();
  };
  using steps = std::vector<step_t>;
  EXPECT_EQ(rungs("freeze-thaw"), (steps{11, 22, 44, 81}));
  EXPECT_EQ(rungs("{freeze-thaw: {max: 52}}"), (steps{7, 14, 28, 52}));
  EXPECT_EQ(rungs("{freeze-thaw: {max: 8}}"), (steps{1, 2, 4, 8}));
  EXPECT_EQ(rungs("{freeze-thaw: {min: 30}}"), (steps{30, 60, 81}));
  const auto x = study(endless, "{freeze-thaw: {startup: 3}}", budget);
  EXPECT_EQ(read_search(x).sampler->name, "gp");
  EXPECT_EQ(read_search(x).options->concurrent, std::nullopt);
  const auto error_of = [&](const study_spec& study) {
    const auto found = check_algorithm(study).errors;
    return found.size() == 1 ? found[0].path + ": " + found[0].message
                             : std::to_string(found.size());
  };
  EXPECT_EQ(error_of(study(endless, "{freeze-thaw: {min: 90}}", budget)),
            "algorithm.freeze-thaw.min: must be a whole number from 1 to 81,"
            " found 90");
  EXPECT_EQ(error_of(study(endless, "freeze-thaw",
                           budget + "\nprior: {x: {mode: 0.5}}\n")),
            "prior: freeze-thaw does not use a prior: use asha with"
            " `sampler: gp`");
  EXPECT_EQ(
    error_of(study(endless, "{freeze-thaw: {mean: schedules}}", budget)),
    "algorithm.freeze-thaw.mean: freeze-thaw does not use a law of"
    " schedules: leave `mean` out, or use asha with `sampler: gp`");
  EXPECT_EQ(error_of(study(endless, "{freeze-thaw: {mean: zero}}", budget)),
            "0");
}

} // namespace
} // namespace hippo
