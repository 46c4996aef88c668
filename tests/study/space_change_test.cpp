#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "study/study_world.hpp"

// Studies whose space becomes another one: `set_space`.

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verb = study_command::verb;
using json = nlohmann::ordered_json;
using test::options_of;
using test::world;

std::string space_of(const std::string& values, const std::string& more = {}) {
  return "{space: {" + values + "}" + more + "}";
}

/// Gives a study a space. @returns why that is refused; empty: it is not
std::string set_space(world& x, const std::string& text,
                      space_change_view* change = nullptr) {
  const auto token = x.command(verb::set_space, 0, 0, text);
  x.commit_all();
  const auto told = x.answer(token);
  if (!told)
    return "no answer";
  if (const auto* why = std::get_if<error>(&told->what))
    return why->message;
  if (change != nullptr)
    *change = std::get<command_answer>(told->what).space;
  return "";
}

/// The effects of a space, without it.
space_change_view preview(world& x, const std::string& text) {
  const auto told = x.answer(x.preview(verb::set_space, text));
  const auto* answer =
    told ? std::get_if<command_answer>(&told->what) : nullptr;
  if (answer == nullptr) {
    ADD_FAILURE() << "it is refused";
    return {};
  }
  return answer->space;
}

void finish(world& x) {
  x.commit_all();
  for (auto all = x.waiting(); !all.empty(); all = x.waiting()) {
    x.train_one(all.front());
    x.commit_all();
  }
}

json values_of(world& x, trial_no no) {
  for (const auto& trial : x.core().record().trials)
    if (trial.id == no)
      return trial.params;
  ADD_FAILURE() << "trial " << no << " is not there";
  return {};
}

/// The values of all trials that are shown, by number.
std::map<trial_no, json> all_values(world& x) {
  std::map<trial_no, json> result;
  for (const auto& trial : x.core().record().trials)
    result[trial.id] = trial.params;
  return result;
}

std::set<std::string> texts_of(const std::map<trial_no, json>& values) {
  std::set<std::string> result;
  for (const auto& x : values)
    result.insert(x.second.dump());
  return result;
}

constexpr auto grid = "algorithm: grid\n";
constexpr auto two_by_two = "  lr: {choice: [0.1, 0.2]}\n"
                            "  momentum: {choice: [0.8, 0.9]}\n";

TEST(SpaceChange, AGridThatHasEndedTrainsTheCombinationsThatAreMissing) {
  world x{options_of(grid, two_by_two)};
  finish(x);
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  const auto before = all_values(x);
  space_change_view change;
  EXPECT_EQ(set_space(x,
                      space_of("lr: {choice: [0.2, 0.3, 0.1]}, momentum: "
                               "{choice: [0.9, 0.8]}"),
                      &change),
            "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(change.learned, 4u);
  EXPECT_EQ(change.outside, 0u);
  EXPECT_EQ(change.replaced, 0u);
  EXPECT_EQ(change.trials, 6u);
  EXPECT_EQ(x.core().status(x.now_).view.trials, 6u);
  x.expect_replayed();
  finish(x);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  const auto now = all_values(x);
  ASSERT_EQ(now.size(), 6u);
  EXPECT_EQ(texts_of(now).size(), 6u);
  for (const auto& [no, values] : before)
    EXPECT_EQ(now.at(no), values);
  EXPECT_EQ(now.at(4).at("lr"), 0.3);
  EXPECT_EQ(now.at(5).at("lr"), 0.3);
  x.expect_replayed();
}

TEST(SpaceChange, EachCombinationComesOnceWhateverWasGivenTwice) {
  world x{options_of(grid, two_by_two)};
  x.commit_all();
  x.command(verb::enqueue, 0, 0,
            R"({"trials": [{"lr": 0.2, "momentum": 0.9}]})");
  finish(x);
  EXPECT_EQ(all_values(x).size(), 5u);
  EXPECT_EQ(set_space(x, space_of("lr: {choice: [0.1, 0.2, 0.3]}, momentum: "
                                  "{choice: [0.8, 0.9]}")),
            "");
  finish(x);
  EXPECT_EQ(all_values(x).size(), 7u);
  EXPECT_EQ(texts_of(all_values(x)).size(), 6u);
  x.expect_replayed();
}

TEST(SpaceChange, AnAlgorithmThatPrunesGoesOnAfterItsEnd) {
  for (const char* algorithm :
       {"{asha: {eta: 2, min: 3}}", "{asha: {eta: 2, min: 3, mode: stopping}}",
        "{median: {grace: 3}}"}) {
    world x{
      options_of(std::string{"algorithm: "} + algorithm + "\n", two_by_two)};
    finish(x);
    ASSERT_EQ(x.core().stored().state, study_phase::complete);
    const auto before = all_values(x);
    EXPECT_EQ(set_space(x, space_of("lr: {choice: [0.1, 0.2, 0.3]}, momentum: "
                                    "{choice: [0.8, 0.9]}")),
              "");
    EXPECT_EQ(x.core().stored().state, study_phase::running) << algorithm;
    finish(x);
    EXPECT_EQ(x.core().stored().state, study_phase::complete);
    EXPECT_EQ(texts_of(all_values(x)).size(), 6u) << algorithm;
    x.expect_replayed();
  }
}

TEST(SpaceChange, TrialsThatAreWithdrawnMakeRoomForOthers) {
  auto options = options_of("algorithm: random\nbudget: {trials: 5}\n",
                            "  lr: {uniform: [0.1, 0.2]}\n");
  options.spec.trials_ahead = 2;
  world x{std::move(options)};
  x.commit_all();
  EXPECT_EQ(x.core().trials().size(), 2u);
  EXPECT_EQ(set_space(x, space_of("lr: {uniform: [0.3, 0.4]}")), "");
  EXPECT_EQ(x.waiting(), (std::vector<trial_no>{2, 3}));
  finish(x);
  EXPECT_EQ(all_values(x).size(), 5u);
  x.expect_replayed();
}

TEST(SpaceChange, ADryRunSaysAllOfItAndChangesNothing) {
  world x{options_of("algorithm: random\nbudget: {trials: 4}\n", two_by_two)};
  x.commit_all();
  x.train_one(0);
  x.commit_all();
  const auto text = space_of(
    "lr: {choice: [0.2, 0.3]}, weight_decay: {choice: [0, 0.1]}, momentum: 0.8",
    "");
  const auto records = x.records_;
  const auto known = study_json(x.core().record());
  const auto would = preview(x, text);
  EXPECT_EQ(x.records_, records);
  EXPECT_EQ(study_json(x.core().record()), known);
  ASSERT_EQ(would.changes.size(), 3u);
  EXPECT_EQ(would.changes[0].name, "lr");
  EXPECT_EQ(would.changes[0].before, R"({"choice":[0.1,0.2]})");
  EXPECT_EQ(would.changes[0].after, R"({"choice":[0.2,0.3]})");
  EXPECT_EQ(would.changes[1].after, "0.8");
  EXPECT_EQ(would.changes[2].before, "");
  EXPECT_EQ(would.replaced, 3u);
  EXPECT_EQ(would.learned + would.outside, 1u);
  space_change_view change;
  EXPECT_EQ(set_space(x, text, &change), "");
  EXPECT_TRUE(change == would);
  const auto told = x.answer(x.preview(verb::extend, R"({"trials": 1})"));
  EXPECT_TRUE(std::holds_alternative<error>(told->what));
}

TEST(SpaceChange, TrialsThatHaveBegunStayAndOthersAreDrawnAnew) {
  world x{options_of("algorithm: random\nbudget: {trials: 6}\n",
                     "  lr: {uniform: [0.1, 0.2]}\n")};
  x.commit_all();
  for (const trial_no no : {1, 4})
    x.train_one(no);
  x.commit_all();
  const auto before = all_values(x);
  space_change_view change;
  EXPECT_EQ(set_space(x, space_of("lr: {uniform: [0.3, 0.4]}"), &change), "");
  EXPECT_EQ(change.replaced, 4u);
  EXPECT_EQ(change.outside, 2u);
  EXPECT_EQ(change.trials, 6u);
  EXPECT_EQ(x.dropped_, (std::vector<trial_no>{0, 2, 3, 5}));
  x.expect_replayed();
  finish(x);
  const auto now = all_values(x);
  ASSERT_EQ(now.size(), 6u);
  for (const auto& [no, values] : now)
    if (before.contains(no)) {
      EXPECT_EQ(values, before.at(no));
    } else {
      EXPECT_GE(values.at("lr").get<double>(), 0.3);
    }
  EXPECT_TRUE(now.contains(1) && now.contains(4));
  EXPECT_EQ(x.core().status(x.now_).view.trials, 6u);
  x.expect_replayed();
}

TEST(SpaceChange, ATrialThatIsHeardOfAfterAllIsShownWithItsValues) {
  world x{options_of("algorithm: random\nbudget: {trials: 3}\n",
                     "  lr: {uniform: [0.1, 0.2]}\n")};
  x.commit_all();
  const auto before = all_values(x);
  EXPECT_EQ(set_space(x, space_of("lr: {uniform: [0.3, 0.4]}")), "");
  study_effect::commit late;
  trial_measured what{1, node_id{1}, 1, {{"accuracy", .5}}};
  late.records.emplace_back(event_added{study_id{7}, "key", what});
  late.news.emplace_back(std::move(what));
  x.journal_.push_back(std::move(late));
  x.commit_all();
  EXPECT_EQ(values_of(x, 1), before.at(1));
  EXPECT_EQ(x.core().trials()[1].state, trial_state::cancelled);
  x.expect_replayed();
  finish(x);
  EXPECT_EQ(all_values(x).size(), 4u);
  x.expect_replayed();
}

TEST(SpaceChange, GivenValuesStayWhateverTheSpace) {
  world x{options_of("algorithm: {tpe: {startup: 2, max_concurrent: 1}}\n"
                     "first: [{lr: 0.11}, {lr: 0.12}]\nbudget: {trials: 8}\n",
                     "  lr: {uniform: [0.1, 0.2]}\n")};
  x.commit_all();
  const auto given =
    x.command(verb::enqueue, 0, 0, R"({"trials": [{"lr": 0.15}]})");
  const auto outside =
    x.command(verb::enqueue, 0, 0, R"({"outside": [{"lr": 7}]})");
  x.commit_all();
  EXPECT_EQ(x.refusal(given) + x.refusal(outside), "");
  EXPECT_EQ(set_space(x, space_of("lr: {uniform: [0.12, 0.4]}")), "");
  x.expect_replayed();
  finish(x);
  std::vector<double> lrs;
  for (const auto& [no, values] : all_values(x))
    lrs.push_back(values.at("lr").get<double>());
  ASSERT_EQ(lrs.size(), 10u);
  for (const auto wanted : {0.11, 0.12, 0.15, 7.0})
    EXPECT_EQ(std::ranges::count(lrs, wanted), 1) << wanted;
  EXPECT_EQ(
    std::ranges::count_if(lrs, [](double y) { return y >= 0.12 && y <= 0.4; }),
    8);
  x.expect_replayed();
}

TEST(SpaceChange, FirstTrialsComeAlsoWhereOthersAreEnqueuedBefore) {
  // Of a sampler that learns, before its trials are asked for.
  world x{options_of("algorithm: {tpe: {startup: 1, max_concurrent: 1}}\n"
                     "first: [{lr: 0.11}, {lr: 0.12}, {lr: 0.13}]\n"
                     "budget: {trials: 4}\n",
                     "  lr: {uniform: [0.1, 0.2]}\n")};
  x.commit_all();
  x.command(verb::enqueue, 0, 0, R"({"trials": [{"lr": 0.15}]})");
  finish(x);
  std::vector<double> lrs;
  for (const auto& [no, values] : all_values(x))
    lrs.push_back(values.at("lr").get<double>());
  for (const auto wanted : {0.11, 0.12, 0.13, 0.15})
    EXPECT_EQ(std::ranges::count(lrs, wanted), 1) << wanted;
}

TEST(SpaceChange, ADefaultIsTheValueOfAHyperParameterThatIsAddedOrDropped) {
  world x{options_of("algorithm: {tpe: {startup: 2, max_concurrent: 1}}\n"
                     "budget: {trials: 2}\n",
                     two_by_two)};
  finish(x);
  ASSERT_TRUE(has_ended(x.core().stored().state));
  const auto workload = test::workloads().front();
  const auto decay = std::ranges::find(
    workload.hyper_parameters, "weight_decay", &parameter_descriptor::name);
  ASSERT_NE(decay, workload.hyper_parameters.end());
  const auto usual = std::to_string(std::get<double>(decay->fallback));
  EXPECT_EQ(preview(x, space_of("lr: {choice: [0.1, 0.2]}, momentum: {choice: "
                                "[0.8, 0.9]}, weight_decay: {choice: ["
                                + usual + ", 0.3]}"))
              .learned,
            2u);
  EXPECT_EQ(preview(x, space_of("lr: {choice: [0.1, 0.2]}, momentum: {choice: "
                                "[0.8, 0.9]}, weight_decay: {choice: [0.2, "
                                "0.3]}"))
              .outside,
            2u);
  // Without the momentum that one of them had, which is no default.
  EXPECT_EQ(preview(x, space_of("lr: {choice: [0.1, 0.2]}")).outside, 1u);
}

TEST(SpaceChange, ImportedResultsInsideOfTheSpaceAreKept) {
  world x{
    options_of("algorithm: {tpe: {startup: 2, max_concurrent: 1}}\n"
               "budget: {trials: 6}\n"
               "import: [{params: {lr: 0.15}, metrics: {accuracy: .9}}]\n",
               "  lr: {uniform: [0.1, 0.2]}\n")};
  x.commit_all();
  x.command(verb::tell_past, 0, 0,
            "{results: [{params: {lr: 0.11}, metrics: {accuracy: .5}}, "
            "{params: {lr: 0.19}, step: 3, metrics: {accuracy: .6}}]}");
  x.commit_all();
  const auto text = space_of("lr: {uniform: [0.14, 0.3]}");
  EXPECT_EQ(preview(x, text).imported, 2u);
  EXPECT_EQ(set_space(x, text), "");
  EXPECT_EQ(preview(x, space_of("lr: {uniform: [0.16, 0.3]}")).imported, 1u);
  finish(x);
  x.expect_replayed();
}

TEST(SpaceChange, TheSameSpaceAgainChangesNothingOfWhatTpeProposes) {
  const auto run = [](bool has_change) {
    world x{options_of("algorithm: {client: {sampler: tpe, startup: 3}}\n"
                       "budget: {trials: 12}\n",
                       "  lr: {uniform: [0.1, 0.2], points: 11}\n"
                       "  momentum: {choice: [0.8, 0.9]}\n")};
    for (trial_no no = 0; no < 12; ++no) {
      if (has_change && (no == 2 || no == 7)) {
        EXPECT_EQ(
          set_space(x,
                    space_of("lr: {uniform: [0.1, 0.2], points: 11}, momentum: "
                             "{choice: [0.8, 0.9]}")),
          "");
      }
      x.command(verb::ask);
      x.commit_all();
      x.train(no, 12);
      x.commit_all();
      if (no == 4)
        x.fail_one(no);
      finish(x);
    }
    x.expect_replayed();
    return all_values(x);
  };
  const auto wanted = run(false);
  EXPECT_EQ(texts_of(wanted).size(), 12u);
  EXPECT_EQ(run(true), wanted);
}

TEST(SpaceChange, AFiniteSpaceIsNotTriedTwice) {
  for (const char* algorithm :
       {"random", "{tpe: {startup: 2, max_concurrent: 2}}"}) {
    world x{options_of(std::string{"algorithm: "} + algorithm
                         + "\nbudget: {trials: 4}\n",
                       "  lr: {uniform: [0.1, 0.2]}\n")};
    x.commit_all();
    // With as many trials left as before, of which the space has three.
    EXPECT_EQ(set_space(x, space_of("lr: {choice: [0.1, 0.3, 0.5]}")), "");
    EXPECT_EQ(x.core().status(x.now_).view.trials, 3u) << algorithm;
    finish(x);
    EXPECT_EQ(x.core().stored().state, study_phase::complete);
    EXPECT_EQ(texts_of(all_values(x)).size(), 3u);
    EXPECT_EQ(all_values(x).size(), 3u);
    // Two more are all that there are in a larger one.
    EXPECT_EQ(set_space(x, space_of("lr: {choice: [0.1, 0.3, 0.5, 1, 2]}")),
              "");
    EXPECT_EQ(x.core().stored().state, study_phase::complete);
    const auto many = x.command(verb::extend, 0, 0, R"({"trials": 3})");
    EXPECT_NE(x.refusal(many).find("at most 2 can be added"),
              std::string::npos);
    x.command(verb::extend, 0, 0, R"({"trials": 2})");
    finish(x);
    EXPECT_EQ(texts_of(all_values(x)).size(), 5u) << algorithm;
    x.expect_replayed();
  }
}

TEST(SpaceChange, AStudyWhoseTimeIsSpentTakesASpaceOnceItIsExtended) {
  world x{options_of("algorithm: random\nbudget: {trials: 4, seconds: 60}\n",
                     "  lr: {uniform: [0.1, 0.2]}\n")};
  x.commit_all();
  x.train_one(0);
  x.commit_all();
  x.pass(61s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  const auto text = space_of("lr: {uniform: [0.3, 0.4]}");
  EXPECT_NE(set_space(x, text).find("budget.seconds is spent: extend it"),
            std::string::npos);
  x.command(verb::extend, 0, 0, R"({"seconds": 60})");
  x.commit_all();
  EXPECT_EQ(set_space(x, text), "");
  finish(x);
  const auto now = all_values(x);
  ASSERT_EQ(now.size(), 4u);
  for (const auto& [no, values] : now)
    EXPECT_EQ(values.at("lr").get<double>() > 0.25, no != 0);
  x.expect_replayed();
}

TEST(SpaceChange, AStoppedStudyGoesOnInTheNewSpace) {
  world x{options_of("algorithm: random\nbudget: {trials: 4}\n",
                     "  lr: {uniform: [0.1, 0.2]}\n")};
  x.commit_all();
  x.train_one(2);
  x.commit_all();
  x.command(verb::stop);
  x.commit_all();
  EXPECT_NE(set_space(x, space_of("lr: {uniform: [0.3, 0.4]}"))
              .find("is STOPPING: change its space once it has ended"),
            std::string::npos);
  x.tell(study_core_event::quiesced{});
  x.commit_all();
  ASSERT_TRUE(has_ended(x.core().stored().state));
  space_change_view change;
  EXPECT_EQ(set_space(x, space_of("lr: {uniform: [0.3, 0.4]}"), &change), "");
  EXPECT_EQ(change.replaced, 3u);
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  finish(x);
  const auto now = all_values(x);
  ASSERT_EQ(now.size(), 4u);
  for (const auto& [no, values] : now)
    EXPECT_EQ(values.at("lr").get<double>() > 0.25, no != 2);
  x.expect_replayed();
}

TEST(SpaceChange, AClientsTrialsStayAndFurtherOnesAreOfTheNewSpace) {
  world x{options_of("algorithm: client\nbudget: {trials: 3}\n",
                     "  lr: {uniform: [0.1, 0.2]}\n")};
  x.command(verb::ask);
  x.commit_all();
  const auto before = values_of(x, 0);
  space_change_view change;
  EXPECT_EQ(set_space(x, space_of("lr: {uniform: [0.3, 0.4]}"), &change), "");
  EXPECT_EQ(change.replaced, 0u);
  x.command(verb::ask);
  x.commit_all();
  EXPECT_EQ(values_of(x, 0), before);
  EXPECT_GE(values_of(x, 1).at("lr").get<double>(), 0.3);
  x.expect_replayed();
}

TEST(SpaceChange, ValuesOfBeforeStayInTrialsThatAreMadeLonger) {
  const std::string both = "  lr: {choice: [0.1, {multistep: {initial: 0.1, "
                           "milestones: [4, 20], gamma: 0.1}}]}\n";
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n", both)};
  finish(x);
  const auto before = all_values(x);
  EXPECT_EQ(set_space(x, space_of("lr: {uniform: [0.3, 0.4]}")), "");
  x.command(verb::extend, 0, 0, R"({"steps": 30, "trials": 2})");
  finish(x);
  const auto now = all_values(x);
  ASSERT_EQ(now.size(), 4u);
  for (const auto& [no, values] : before)
    EXPECT_EQ(now.at(no), values);
  EXPECT_EQ(x.core().trials()[0].acked, 30u);
  world whole{options_of("algorithm: random\nbudget: {trials: 2}\n", both)};
  finish(whole);
  whole.command(verb::extend, 0, 0, R"({"steps": 30})");
  finish(whole);
  ASSERT_EQ(x.rerouted_.size(), 2u);
  for (const auto& [no, segments] : whole.rerouted_)
    EXPECT_EQ(x.rerouted_.at(no), segments);
  x.expect_replayed();
}

TEST(SpaceChange, SpacesThatCannotBeSayWhy) {
  const auto expect = [](const std::string& more, const std::string& text,
                         const std::string& why) {
    SCOPED_TRACE(more + text);
    world x{options_of(more, "  lr: {choice: [0.1, 0.2]}\n")};
    x.commit_all();
    const auto records = x.records_;
    const auto said = set_space(x, text);
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_EQ(x.records_, records);
  };
  const auto other = space_of("lr: {choice: [0.1, 0.3]}");
  expect(grid, "{lr: 0.1}", "'space' is missing");
  expect(grid, "[", "is not valid YAML");
  expect(grid, "{space: {lr: {choice: []}}}", "space.lr");
  expect(grid, "{space: {lrr: 0.1}}", "lrr");
  expect(grid, "{space: {lr: {uniform: [0.1, 0.3]}}}", "needs a finite space");
  expect("algorithm: random\n", "{space: {lr: {uniform: [0.1, 0.3]}}}",
         "needs `budget.trials`");
  expect(grid, "{space: {lr: 0.1}, max_steps: 13}",
         "max_steps: is not as in the file of the study: `space` and `prior` "
         "alone can be changed");
  expect(grid, "{space: {lr: {choice: [0.1, 0.3]}}, prior: {lr: {mode: 0.1}}}",
         "does not use a prior");
  expect(grid, "{space: {lr: {choice: [0.1, 0.3]}}, prior: {lr: {mode: 0.2}}}",
         "must be one of");
  for (const char* fixed :
       {"sha: {eta: 2, min: 2}", "hyperband: {eta: 2, min: 2}",
        "pbt: {interval: 4}", "dehb: {eta: 2}"})
    expect(std::string{"algorithm: {"} + fixed + "}\nbudget: {trials: 4}\n",
           other, "plans all of its trials at once, and takes no other space");
  world ended{options_of(grid, two_by_two)};
  ended.commit_all();
  ended.command(verb::cancel);
  ended.commit_all();
  EXPECT_NE(set_space(ended, other).find("has ended: CANCELLED"),
            std::string::npos);
}

TEST(SpaceChange, AStudyHasAHundredSpacesAtMost) {
  world x{options_of(grid, two_by_two)};
  x.commit_all();
  for (int i = 1; i < 100; ++i)
    ASSERT_EQ(set_space(x, space_of("lr: {choice: [0.1, "
                                    + std::to_string(i + 1) + "]}")),
              "");
  EXPECT_NE(set_space(x, space_of("lr: 0.1")).find("has had 100 spaces"),
            std::string::npos);
  finish(x);
  EXPECT_EQ(texts_of(all_values(x)).size(), 2u);
  x.expect_replayed();
}

TEST(SpaceChange, TheWholeFileOfTheStudyIsTakenIfNothingElseIsChanged) {
  auto options = options_of(grid, two_by_two);
  auto text = options.stored.text;
  const std::string before = "[0.1, 0.2]";
  text.replace(text.find(before), before.size(), "[0.1, 0.5]");
  world x{std::move(options)};
  x.commit_all();
  EXPECT_EQ(set_space(x, text), "");
  finish(x);
  EXPECT_EQ(all_values(x).size(), 4u);
}

// -- at any moment ------------------------------------------------------------

/// Studies of all algorithms that take it, which train and fail at random, get
/// other spaces at any moment, also once they have ended.
class SpaceChangeSeeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SpaceChangeSeeds, KeepWhatHasBegunAndAreReplayedAtAnyMoment) {
  const char* const algorithms[]{
    "algorithm: random\n",
    "algorithm: {asha: {eta: 2, min: 2, max_concurrent: 3}}\n",
    "algorithm: {asha: {eta: 2, min: 2, mode: stopping}}\n",
    "algorithm: {median: {grace: 2, max_concurrent: 2}}\n",
    "algorithm: {tpe: {startup: 2, max_concurrent: 2}}\n",
    "algorithm: {gp: {startup: 2, max_concurrent: 2}}\n",
    "algorithm: {asha: {eta: 2, min: 4, sampler: gp, startup: 2}}\n"};
  std::mt19937_64 random{GetParam()};
  const auto chance = [&](std::uint64_t percent) {
    return random() % 100 < percent;
  };
  world x{options_of(
    std::string{algorithms[GetParam() % std::size(algorithms)]}
      + "on_error: continue\nbudget: {trials: 6}\neval_every: "
      + std::to_string(1 + random() % 5) + "\n",
    "  lr: {uniform: [0.1, 1.0]}\n  optimizer: {choice: [sgd, adamw]}\n")};
  // The values of trials that have begun, and the low end of the space that
  // those which come have.
  std::map<trial_no, json> begun;
  double low = 0.1;
  std::uint64_t wanted = 6;
  trial_no next = 0;
  const auto note_begun = [&] {
    for (const auto& [no, values] : all_values(x)) {
      if (!x.core().trials().is_begun(no))
        continue;
      const auto [known, is_new] = begun.emplace(no, values);
      EXPECT_EQ(known->second, values) << no;
      if (no >= next && values.at("lr").get<double>() < 100) {
        EXPECT_GE(values.at("lr").get<double>(), low) << no;
      }
    }
  };
  for (int i = 0; i < 250; ++i) {
    if (const auto all = x.waiting(); !all.empty() && chance(70)) {
      const auto no = all[random() % all.size()];
      if (chance(6))
        x.fail_one(no);
      else
        x.train_one(no);
    }
    if (chance(5)) {
      x.commit_all();
      note_begun();
      low = static_cast<double>(1 + random() % 8) / 10;
      const auto text = space_of(
        "lr: {uniform: [" + std::to_string(low) + ", 1.5]}, optimizer: "
        + (chance(50) ? "{choice: [adamw, sgd]}" : "adamw")
        + (chance(30) ? ", weight_decay: {uniform: [0, 0.5]}" : ""));
      const auto would = preview(x, text);
      space_change_view change;
      EXPECT_EQ(set_space(x, text, &change), "");
      EXPECT_TRUE(would == change);
      next = x.core().trials().size() - change.replaced;
    }
    if (chance(3)) {
      x.commit_all();
      const auto token = x.command(verb::extend, 0, 0, R"({"trials": 1})");
      x.commit_all();
      wanted += x.refusal(token).empty();
    }
    if (chance(3)) {
      x.commit_all();
      const auto token =
        x.command(verb::enqueue, 0, 0,
                  R"({"outside": [{"lr": )" + std::to_string(100 + i)
                    + R"(, "optimizer": "sgd"}]})");
      x.commit_all();
      wanted += x.refusal(token).empty();
    }
    if (chance(2))
      x.command(verb::extend, 0, 0,
                R"({"steps": )" + std::to_string(12 + i) + "}");
    if (chance(3))
      x.command(chance(50) ? verb::pause : verb::resume);
    if (chance(4))
      x.command(verb::retry);
    if (chance(60))
      x.commit_one();
    if (chance(6)) {
      x.commit_all();
      x.expect_replayed();
    }
  }
  x.commit_all();
  if (x.core().stored().state == study_phase::paused)
    x.command(verb::resume);
  x.command(verb::retry, 0, 0, R"({"all": true})");
  finish(x);
  note_begun();
  EXPECT_TRUE(has_ended(x.core().stored().state));
  // No trial was lost, and none came too often.
  EXPECT_EQ(all_values(x).size(), wanted);
  EXPECT_EQ(x.core().status(x.now_).view.trials, wanted);
  for (const auto& [no, values] : begun)
    EXPECT_EQ(values_of(x, no), values);
  for (trial_no no = 0; no < x.core().trials().size(); ++no)
    for (const auto& [step, values] : x.core().trials().results_of(no))
      EXPECT_EQ(values.at("accuracy"), world::value_at(no, step));
  x.expect_replayed();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpaceChangeSeeds,
                         testing::Range<std::uint64_t>(0, 42));

} // namespace
} // namespace hippo
