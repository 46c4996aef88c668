#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "study/study_world.hpp"

// The words of people about a study, and trials and studies that are hidden.

namespace hippo {
namespace {

using verb = study_command::verb;
using test::given_up;
using test::options_of;
using test::world;

constexpr auto four_trials = "algorithm: random\nbudget: {trials: 4}\n";

/// Trains until nothing waits.
void train_all(world& x) {
  x.commit_all();
  for (auto all = x.waiting(); !all.empty(); all = x.waiting()) {
    x.train_one(all.front());
    x.commit_all();
  }
}

/// Gives a command. @returns why it is refused; empty: it is not
std::string refused(world& x, verb what, const std::string& text) {
  const auto token = x.command(what, 0, 0, text);
  x.commit_all();
  return x.refusal(token);
}

void expect_refused(world& x, verb what, const std::string& text,
                    const std::string& why) {
  const auto records = x.records_;
  const auto said = refused(x, what, text);
  EXPECT_NE(said.find(why), std::string::npos) << said;
  EXPECT_EQ(x.records_, records);
}

std::string trials_text(std::initializer_list<trial_no> trials) {
  std::string result;
  for (const auto no : trials)
    result += (result.empty() ? "" : ", ") + std::to_string(no);
  return R"({"trials": [)" + result + "]}";
}

// -- notes --------------------------------------------------------------------

TEST(Note, ChangesOneThingAndLeavesTheOther) {
  world x{options_of(four_trials)};
  x.commit_all();
  EXPECT_EQ(refused(x, verb::note, R"({"note": "a baseline"})"), "");
  EXPECT_EQ(refused(x, verb::note, R"({"add_tags": ["paper", "a b"]})"), "");
  EXPECT_EQ(x.core().stored().note, "a baseline");
  EXPECT_EQ(x.core().stored().tags, (std::vector<std::string>{"a b", "paper"}));
  EXPECT_EQ(x.stored_options().stored.tags, x.core().stored().tags);
  x.expect_replayed();
  EXPECT_EQ(refused(x, verb::note,
                    R"({"note": "", "add_tags": ["paper", "z"],)"
                    R"( "remove_tags": ["a b"]})"),
            "");
  EXPECT_EQ(x.core().stored().note, "");
  EXPECT_EQ(x.core().stored().tags, (std::vector<std::string>{"paper", "z"}));
  x.expect_replayed();
}

TEST(Note, BeginsWithTheTagsOfTheStudyFile) {
  auto options = options_of(std::string{"tags: [b, a, b]\n"} + four_trials);
  EXPECT_EQ(options.spec.tags, (std::vector<std::string>{"a", "b"}));
  options.stored.tags = options.spec.tags; // as a submission does
  world x{options};
  x.commit_all();
  EXPECT_EQ(refused(x, verb::note, R"({"remove_tags": ["a"]})"), "");
  EXPECT_EQ(x.core().stored().tags, std::vector<std::string>{"b"});
  x.expect_replayed();
}

TEST(Note, IsTakenByAStudyThatHasEndedInAnyWay) {
  for (const auto how : {verb::cancel, verb::finish}) {
    world x{options_of(four_trials)};
    x.commit_all();
    EXPECT_EQ(refused(x, how, "enough"), "");
    const auto state = x.core().stored().state;
    ASSERT_TRUE(has_ended(state));
    EXPECT_EQ(refused(x, verb::note, R"({"note": "no good"})"), "");
    EXPECT_EQ(x.core().stored().note, "no good");
    EXPECT_EQ(x.core().stored().state, state);
    x.expect_replayed();
    world later{x.stored_options()};
    later.begin_after(x);
    EXPECT_EQ(refused(later, verb::note, R"({"add_tags": ["old"]})"), "");
    EXPECT_EQ(later.core().stored().note, "no good");
    EXPECT_EQ(later.core().stored().state, state);
    later.expect_replayed();
  }
}

TEST(Note, RefusesWithASentenceAndStoresNothing) {
  world x{options_of(four_trials)};
  x.commit_all();
  const auto no_map = "a note is a map with";
  for (const auto* text :
       {"", "[]", "{}", R"({"note": 1})", R"({"tags": []})",
        R"({"add_tags": "a"})", R"({"add_tags": [1]})", R"({"add_tags": []})"})
    expect_refused(x, verb::note, text, no_map);
  for (const auto* tag : {"", " a", "a ", "a,b", "a\\nb"})
    expect_refused(x, verb::note,
                   R"({"add_tags": [")" + std::string{tag} + "\"]}",
                   "a tag is a text of 1 to 64 bytes");
  expect_refused(x, verb::note,
                 R"({"add_tags": [")" + std::string(65, 'a') + "\"]}",
                 "a tag is a text of 1 to 64 bytes");
  expect_refused(x, verb::note,
                 R"({"note": ")" + std::string(10'001, 'a') + "\"}",
                 "a note has at most 10000 bytes, not 10001");
  expect_refused(x, verb::note, R"({"remove_tags": ["a"]})", "has no tag 'a'");
  expect_refused(x, verb::note, R"({"add_tags": ["a"], "remove_tags": ["a"]})",
                 "'a' is both added and removed");
  std::string many;
  for (int i = 0; i < 33; ++i)
    many += (i == 0 ? "\"" : ", \"") + std::to_string(i) + '"';
  expect_refused(x, verb::note, R"({"add_tags": [)" + many + "]}",
                 "a study has at most 32 tags, and this one would have 33");
}

// -- trials -------------------------------------------------------------------

TEST(Removal, AHiddenTrialCountsNowhereUntilItIsShownAgain) {
  world x{options_of(four_trials)};
  train_all(x);
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  const auto before = study_json(x.core().record());
  const auto best = x.core().trials().best()->trial;
  EXPECT_EQ(refused(x, verb::remove, trials_text({best})), "");
  EXPECT_FALSE(x.has_row(best));
  EXPECT_NE(x.core().trials().best()->trial, best);
  EXPECT_EQ(x.core().status(x.now_).view.trials, 3u);
  EXPECT_EQ(x.core().status(x.now_).view.finished, 3u);
  EXPECT_EQ(x.core().record().trials.size(), 3u);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  x.expect_replayed();
  world later{x.stored_options()};
  later.begin_after(x);
  for (auto* study : {&x, &later}) {
    EXPECT_EQ(refused(*study, verb::restore, trials_text({best})), "");
    EXPECT_TRUE(study->has_row(best));
    EXPECT_EQ(study_json(study->core().record()), before);
    study->expect_replayed();
  }
}

TEST(Removal, OfAStudyThatRunsTakesTrialsThatHaveEnded) {
  world x{options_of("algorithm: random\n"
                     "budget: {trials: 4}\n")};
  x.commit_all();
  expect_refused(x, verb::remove, trials_text({0}),
                 "trial 0 of study s is RUNNING: it can be removed once it "
                 "has ended");
  while (std::ranges::count(x.waiting(), trial_no{0}) > 0) {
    x.train_one(0);
    x.commit_all();
  }
  EXPECT_EQ(refused(x, verb::remove, trials_text({0})), "");
  EXPECT_FALSE(x.has_row(0));
  x.expect_replayed();
  train_all(x);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(x.core().record().trials.size(), 3u);
  x.expect_replayed();
}

TEST(Removal, AFailedTrialCountsNoMoreAndIsNotTriedAgain) {
  world x{options_of("algorithm: random\nbudget: {trials: 2, failed: 2}\n"
                     "on_error: continue\n")};
  x.commit_all();
  x.fail_one(1);
  x.commit_all();
  EXPECT_EQ(x.core().trials().failed(), 1u);
  EXPECT_EQ(refused(x, verb::remove, trials_text({1})), "");
  EXPECT_EQ(x.core().trials().failed(), 0u);
  expect_refused(x, verb::retry, trials_text({1}), "has no trial 1");
  expect_refused(x, verb::retry, "", "no trial of study s has failed");
  x.expect_replayed();
  EXPECT_EQ(refused(x, verb::restore, trials_text({1})), "");
  EXPECT_EQ(x.core().trials().failed(), 1u);
  EXPECT_EQ(refused(x, verb::retry, trials_text({1})), "");
  x.expect_replayed();
}

TEST(Removal, ALateMeasurementDoesNotBringATrialBack) {
  world x{options_of(four_trials)};
  x.commit_all();
  x.train_one(0);
  x.commit_all();
  EXPECT_EQ(refused(x, verb::cancel, "enough"), "");
  EXPECT_EQ(refused(x, verb::remove, trials_text({0})), "");
  x.train_one(0);
  x.commit_all();
  EXPECT_FALSE(x.has_row(0));
  x.expect_replayed();
}

TEST(Removal, AStudyThatIsExtendedShowsTheTrialsWithWhichItGoesOn) {
  world x{options_of(four_trials)};
  x.commit_all();
  x.train_one(0);
  x.commit_all();
  EXPECT_EQ(refused(x, verb::finish, "its time is spent"), "");
  EXPECT_EQ(refused(x, verb::remove, trials_text({0})), "");
  EXPECT_EQ(refused(x, verb::extend, R"({"trials": 1})"), "");
  EXPECT_TRUE(x.has_row(0));
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  x.expect_replayed();
  train_all(x);
  EXPECT_EQ(x.core().trials().finished(), 5u);
  x.expect_replayed();
}

TEST(Removal, RefusesWithASentenceAndStoresNothing) {
  world x{options_of(four_trials)};
  train_all(x);
  EXPECT_EQ(refused(x, verb::remove, trials_text({2})), "");
  expect_refused(x, verb::remove, trials_text({2}), "is removed already");
  expect_refused(x, verb::remove, trials_text({1, 9}), "has no trial 9");
  expect_refused(x, verb::restore, trials_text({1}),
                 "trial 1 of study s is not removed");
  expect_refused(x, verb::restore, trials_text({9}), "is not removed");
  for (const auto what : {verb::remove, verb::restore})
    for (const auto* text :
         {"1", "[1]", R"({"trials": []})", R"({"trials": [-1]})",
          R"({"trials": [0.5]})", R"({"trials": 1})",
          R"({"trials": [1], "all": true})"})
      expect_refused(x, what, text, "trials are given as a map with trials");
  expect_refused(x, verb::enqueue,
                 "{forks: [{trial: 2, at: 1, params: {lr: 0.1}}]}",
                 "has no trial 2");
}

// -- a study ------------------------------------------------------------------

TEST(Removal, AStudyHasToHaveEnded) {
  world x{options_of(four_trials)};
  x.commit_all();
  expect_refused(x, verb::remove, "", "is RUNNING: cancel it first");
  expect_refused(x, verb::restore, "", "is not removed");
  train_all(x);
  EXPECT_EQ(refused(x, verb::remove, ""), "");
  EXPECT_TRUE(x.stored_options().stored.removed);
  x.expect_replayed();
  expect_refused(x, verb::remove, "", "is removed already");
  world later{x.stored_options()};
  later.begin_after(x);
  EXPECT_EQ(refused(later, verb::restore, ""), "");
  EXPECT_FALSE(later.core().stored().removed);
  later.expect_replayed();
}

TEST(Removal, OfAStudyThatWasGivenUpLeavesItAsItWas) {
  world x{given_up(options_of(four_trials))};
  x.commit_all();
  EXPECT_EQ(refused(x, verb::note, R"({"note": "seen"})"), "");
  EXPECT_EQ(x.core().stored().state, study_phase::failed);
  EXPECT_EQ(refused(x, verb::remove, ""), "");
  expect_refused(x, verb::remove, trials_text({0}), "try it again first");
  world again{x.stored_options()};
  again.begin_after(x);
  EXPECT_EQ(refused(again, verb::note, R"({"add_tags": ["a"]})"), "");
  for (auto* study : {&x, &again}) {
    EXPECT_EQ(study->stored_options().stored.state, study_phase::failed);
    EXPECT_EQ(study->stored_options().stored.reason,
              "a fault of the service itself");
    EXPECT_TRUE(study->stored_options().stored.removed);
    EXPECT_EQ(refused(*study, verb::retry, ""), "");
    EXPECT_EQ(study->core().stored().state, study_phase::running);
    EXPECT_EQ(study->core().stored().note, "seen");
    EXPECT_TRUE(study->core().stored().removed);
    study->expect_replayed();
  }
}

TEST(Removal, ARefusalEndsAStudyThatWasGivenUpOnceMore) {
  world x{given_up(options_of(four_trials))};
  x.commit_all();
  EXPECT_NE(
    refused(x, verb::remove, trials_text({0})).find("try it again first"),
    std::string::npos);
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::failed);
  EXPECT_EQ(x.stored_options().stored.state, study_phase::failed);
}

// -- all of it, at any moment -------------------------------------------------

TEST(Removal, HistoriesOfAnyOrderAreReplayedAsTheyWere) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 draws{seed};
    world x{options_of(
      seed % 3 == 0
        ? "algorithm: {asha: {eta: 2, min: 5}}\nbudget: {trials: 8}\n"
      : seed % 3 == 1 ? "  weight_decay: {uniform: [0, 1]}\n"
                        "algorithm: {tpe: {startup: 2, max_concurrent: 2}}\n"
                        "budget: {trials: 8}\n"
                      : "  weight_decay: {uniform: [0, 1]}\n"
                        "algorithm: {gp: {startup: 2, max_concurrent: 2}}\n"
                        "budget: {trials: 8}\n")};
    for (int i = 0; i < 120; ++i) {
      const auto all = x.waiting();
      const trial_no some = draws() % 8;
      switch (draws() % 12) {
        case 0:
          x.command(verb::remove, 0, 0, trials_text({some}));
          break;
        case 1:
          x.command(verb::restore, 0, 0, trials_text({some}));
          break;
        case 2:
          x.command(draws() % 2 == 0 ? verb::remove : verb::restore);
          break;
        case 3:
          x.command(verb::note, 0, 0, R"({"note": "x"})");
          break;
        case 4:
          if (!all.empty() && draws() % 4 == 0)
            x.fail_one(all[draws() % all.size()]);
          break;
        case 5:
          if (draws() % 8 == 0)
            x.command(verb::finish, 0, 0, "a budget is spent");
          break;
        case 6:
          if (draws() % 4 == 0)
            x.command(verb::extend, 0, 0, R"({"trials": 1})");
          break;
        default:
          if (!all.empty())
            x.train_one(all[draws() % all.size()]);
      }
      for (auto left = draws() % 3; left > 0 && x.commit_one(); --left) {
      }
    }
    x.commit_all();
    x.expect_replayed();
  }
}

} // namespace
} // namespace hippo
