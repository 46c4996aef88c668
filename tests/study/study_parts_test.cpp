#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "hippo/search/accepted_study.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/service/study/client_values.hpp"
#include "hippo/service/study/history.hpp"
#include "hippo/service/study/order_book.hpp"
#include "hippo/service/study/refusals.hpp"
#include "hippo/service/study/requests.hpp"
#include "hippo/service/study/study_clock.hpp"
#include "hippo/service/study/study_outbox.hpp"
#include "hippo/service/study/study_shown.hpp"
#include "hippo/service/study/watches.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verb = study_command::verb;

constexpr moment start{};

/// The books of a study of two trials, which have begun.
struct StudyParts : testing::Test {
  explicit StudyParts(const std::string& more = "algorithm: grid\n") {
    auto read =
      test::read(test::with_space("  lr: {choice: [0.1, 0.2]}\n" + more));
    EXPECT_TRUE(read.study) << test::texts(read.errors).front();
    options.spec = std::move(*read.study);
    options.workload = test::workloads().front();
    options.stored.id = study_id{7};
    options.stored.name = "s";
    options.search = read_search(options.spec);
    decisions = std::make_unique<tuner>(options.spec, options.search,
                                        trial_defaults{options.workload});
    trials = std::make_unique<study_trials>(options.spec.objective);
    first = decisions->start();
    for (const auto no : first.added)
      trials->add(no);
    for (const auto& [no, to] : first.asked)
      trials->ask(no, to);
  }

  study_books books() const { return {options, *decisions, *trials}; }
  step_t end() const { return decisions->when().rungs.back(); }

  study_options options;
  std::unique_ptr<tuner> decisions;
  std::unique_ptr<study_trials> trials;
  turn first;
};

struct ClientParts : StudyParts {
  ClientParts() : StudyParts("algorithm: client\n") {}
};

// -- the clock ----------------------------------------------------------------

TEST(StudyClock, CountsWhileItRuns) {
  study_clock x{60, {}, start};
  x.restore(10);
  EXPECT_FALSE(x.due_after(start, false)) << "it does not run";
  x.start(start);
  EXPECT_EQ(x.active_seconds(start + 5s), 15);
  EXPECT_EQ(x.due_after(start + 5s, false), 45s);
  EXPECT_FALSE(x.is_spent(start + 49s));
  EXPECT_TRUE(x.is_spent(start + 50s));
  x.stop(start + 20s);
  EXPECT_EQ(x.active_seconds(start + 1h), 30);
  EXPECT_FALSE(x.is_spent(start + 1h));
}

TEST(StudyClock, TheDeadlineComesWhetherItRunsOrNot) {
  study_clock x{1000, 30, start};
  EXPECT_EQ(x.deadline_left(start + 40s), -10);
  EXPECT_EQ(x.due_after(start + 10s, false), 20s);
  EXPECT_EQ(x.due_after(start + 10s, true), std::nullopt);
  EXPECT_EQ(x.due_after(start + 40s, false), 0s);
  EXPECT_FALSE(x.is_at_deadline(start + 29s));
  EXPECT_TRUE(x.is_at_deadline(start + 30s));
}

// -- watches ------------------------------------------------------------------

TEST_F(StudyParts, AStudyWithoutGainIsToldSoAfterWholeTrials) {
  options.spec.stop_when.no_gain = 2;
  gain_watch x{options.spec, end()};
  EXPECT_FALSE(x.reason_to_stop(*trials)) << "nothing is measured";
  trials->measure(0, end(), {{"accuracy", 0.5}});
  x.add_steps(2 * end() - 1);
  EXPECT_FALSE(x.reason_to_stop(*trials));
  x.add_steps(1);
  EXPECT_NE(x.reason_to_stop(*trials)->find("as many steps as 2 whole trials"),
            std::string::npos);
  x.note_gain();
  EXPECT_FALSE(x.reason_to_stop(*trials));
}

TEST_F(StudyParts, AValueThatIsGoodEnoughIsTold) {
  options.spec.stop_when.value = 0.9;
  const gain_watch x{options.spec, end()};
  trials->measure(0, 1, {{"accuracy", 0.5}});
  EXPECT_FALSE(x.reason_to_stop(*trials));
  trials->measure(1, 1, {{"accuracy", 0.9}});
  EXPECT_EQ(x.reason_to_stop(*trials),
            "stop_when.value, 0.9, is reached: accuracy 0.9 (trial 1, step 1)");
}

TEST(FailureWatch, ThreeAlikeAreToldOnce) {
  const error broken{errc::training_failed, "broken\nline 2"};
  failure_watch x{true};
  EXPECT_FALSE(x.note(broken));
  EXPECT_FALSE(x.note(broken));
  EXPECT_EQ(x.note(broken), "its first 3 trials failed alike: broken");
  EXPECT_FALSE(x.note(broken));
}

TEST(FailureWatch, NothingIsToldOnceMoreIsKnown) {
  const error broken{errc::training_failed, "broken"};
  failure_watch never{false};
  failure_watch ended{true};
  failure_watch other{true};
  failure_watch values{true};
  ended.note(broken);
  ended.end();
  other.note({errc::training_failed, "another"});
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(never.note(broken));
    EXPECT_FALSE(ended.note(broken));
    EXPECT_FALSE(other.note(broken));
    EXPECT_FALSE(values.note({errc::diverged, "broken"}));
  }
}

// -- requests -----------------------------------------------------------------

TEST(StudyRequests, ACommandIsTakenOnce) {
  study_requests x;
  const auto number = x.add({study_token{3}, {}, verb::pause});
  EXPECT_TRUE(x.is_storing({verb::ask, verb::pause}));
  EXPECT_FALSE(x.is_storing({verb::ask}));
  const auto found = x.take(number);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->from, study_token{3});
  EXPECT_FALSE(x.take(number));
  EXPECT_FALSE(x.is_storing({verb::pause}));
}

TEST(StudyRequests, WaitersLeaveWhenTheirStateIsThere) {
  study_requests x;
  x.wait(1, 4, study_token{1});
  x.wait(1, 8, study_token{2});
  x.wait(2, 1, study_token{3});
  const auto up_to_4 = [](step_t to) { return to <= 4; };
  EXPECT_EQ(x.take_waiters(1, up_to_4),
            (std::vector<study_requests::waiter>{{4, study_token{1}}}));
  EXPECT_TRUE(x.take_waiters(1, up_to_4).empty());
  EXPECT_EQ(x.waiters().size(), 2u);
}

// -- orders -------------------------------------------------------------------

TEST_F(StudyParts, OrdersAreSentOnce) {
  order_book x;
  EXPECT_FALSE(x.take(false));
  x.add(books(), 0);
  x.ask(0, 1);
  x.drop(1);
  x.acknowledge();
  auto sent = x.take(false);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->added.size(), 1u);
  EXPECT_EQ(sent->asked.size(), 1u);
  EXPECT_EQ(sent->dropped, (std::vector<trial_no>{1}));
  EXPECT_EQ(sent->acked, 1u);
  EXPECT_FALSE(x.take(false));
  EXPECT_TRUE(x.take(true));
  EXPECT_TRUE(x.take(false)) << "the merger offers room until it is told so";
  EXPECT_FALSE(x.take(false));
}

TEST_F(StudyParts, AfterARestartAllIsOrderedWithWhatIsKnown) {
  trials->ack(0, 1);
  trials->end(1, trial_state::failed, "broken");
  order_book x;
  x.drop(1);
  x.order_all(books());
  const auto sent = x.take(false);
  ASSERT_TRUE(sent);
  EXPECT_TRUE(sent->dropped.empty());
  ASSERT_EQ(sent->added.size(), 2u);
  ASSERT_EQ(sent->asked.size(), 2u);
  EXPECT_EQ(sent->asked[0].known_to, 1u);
  EXPECT_FALSE(sent->asked[0].is_over);
  EXPECT_TRUE(sent->asked[1].is_over);
  x.ask(0, 1);
  x.forget_asked();
  EXPECT_FALSE(x.take(false));
}

// -- the outbox ---------------------------------------------------------------

TEST_F(StudyParts, AnAnswerGoesOutWithWhatItDependsOn) {
  study_outbox x;
  EXPECT_FALSE(x.next_commit(books(), 0));
  x.add_trial(0, {});
  x.answer({study_token{1}, command_answer{}});
  const auto sent = x.next_commit(books(), 0);
  ASSERT_TRUE(sent);
  ASSERT_EQ(sent->records.size(), 1u);
  const auto& saved = std::get<trial_saved>(sent->records[0]);
  EXPECT_NE(saved.trial.params, "") << "it is new";
  EXPECT_EQ(sent->answers.size(), 1u);
  x.change_trial(0);
  const auto again = x.next_commit(books(), 0);
  ASSERT_TRUE(again);
  EXPECT_EQ(std::get<trial_saved>(again->records[0]).trial.params, "");
  EXPECT_TRUE(again->answers.empty());
  EXPECT_FALSE(x.next_commit(books(), 0));
}

TEST_F(StudyParts, TheTimeIsSavedNowAndThen) {
  study_outbox x;
  x.begin(true, 5);
  x.change_trial(0);
  EXPECT_EQ(x.next_commit(books(), 14)->records.size(), 1u);
  EXPECT_FALSE(x.next_commit(books(), 15)) << "nothing has changed";
  x.change_trial(0);
  const auto sent = x.next_commit(books(), 15);
  ASSERT_EQ(sent->records.size(), 2u);
  EXPECT_EQ(std::get<study_saved>(sent->records[0]).study.active_seconds, 15);
}

TEST_F(StudyParts, TheEndIsAnnouncedOnceUnlessItIsReopened) {
  study_outbox x;
  options.stored.state = study_phase::complete;
  EXPECT_EQ(x.next_commit(books(), 0)->end->state, study_phase::complete);
  EXPECT_FALSE(x.next_commit(books(), 0));
  x.reopen();
  EXPECT_TRUE(x.next_commit(books(), 0)->end);
}

TEST_F(StudyParts, OnlyChoicesThatAreNotStoredAreStored) {
  const trial_choice known{{"model", {}, {}}, {1}};
  const trial_choice other{{"model", {}, {}}, {2}};
  study_outbox x;
  x.note_stored_choice(0, known);
  x.note_stored_choice(1, known);
  x.add_trial(0, known);
  x.add_trial(1, other);
  EXPECT_FALSE(x.lacks_choice(0));
  EXPECT_TRUE(x.lacks_choice(1));
}

// -- earlier runs -------------------------------------------------------------

TEST(StudyHistory, IsTakenEventByEvent) {
  study_history x{{{1, study_id{7}, 0, trial_failed{0, 1, {}}},
                   {2, study_id{7}, 0, trial_failed{1, 1, {}}}},
                  {}};
  EXPECT_FALSE(x.has_started());
  x.start();
  EXPECT_TRUE(x.has_started());
  EXPECT_EQ(x.take_next().id, 1u);
  EXPECT_EQ(x.progress(), 0.5);
  EXPECT_FALSE(x.is_over());
  EXPECT_EQ(x.take_next().id, 2u);
  EXPECT_TRUE(x.is_over());
}

TEST_F(StudyParts, AnEventThatCannotBeNextIsDamage) {
  const study_outbox unsaved;
  const auto damage = [&](study_input x) {
    return damage_of(x, books(), unsaved, decisions->when());
  };
  const auto next = decisions->when().next(0);
  const metrics values{{"accuracy", 0.5}};
  EXPECT_EQ(damage(trial_measured{0, {}, next, values, 0}), "");
  EXPECT_EQ(damage(trial_measured{9, {}, next, values, 0}),
            "it has no trial 9");
  EXPECT_NE(damage(trial_measured{0, {}, next + end(), values, 0}), "");
  EXPECT_NE(damage(trial_measured{0, {}, next, values, next + 1}), "");
  EXPECT_NE(damage(trial_measured{0, {}, next, {}, 0}), "");
  EXPECT_EQ(damage(trial_failed{9, 1, {}}), "it has no trial 9");
  study_command wider;
  wider.what = verb::widen;
  wider.text = "3";
  EXPECT_EQ(damage(wider), "");
  wider.text = "100000000";
  EXPECT_NE(damage(wider), "");
}

// -- refusals -----------------------------------------------------------------

TEST_F(StudyParts, WhatCannotBeDoneIsRefused) {
  study_requests requests;
  std::string full;
  const study_clock clock{{}, {}, {}};
  const auto refusal = [&](verb what) {
    study_command x;
    x.what = what;
    const auto why = refusal_of(x, books(), {requests, full, clock, {}, false});
    return why ? why->message : std::string{};
  };
  EXPECT_EQ(refusal(verb::pause), "");
  EXPECT_EQ(refusal(verb::resume), "study s is RUNNING already");
  requests.add({study_token{1}, {}, verb::pause});
  EXPECT_EQ(refusal(verb::resume), "") << "it may be paused by then";
  EXPECT_EQ(refusal(verb::retry), "no trial of study s has failed");
  trials->end(0, trial_state::failed, "broken", errc::training_failed);
  EXPECT_EQ(refusal(verb::retry), "");
  options.stored.state = study_phase::cancelled;
  EXPECT_EQ(refusal(verb::pause), "study s has ended: CANCELLED");
  EXPECT_NE(refusal(verb::retry).find("was ended before it was done"),
            std::string::npos);
}

TEST_F(ClientParts, NoTrialBeginsInAFullService) {
  const study_requests requests;
  const study_clock clock{{}, {}, {}};
  study_command ask;
  const auto why =
    refusal_of(ask, books(), {requests, "no room", clock, {}, false});
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::resource_exhausted);
  EXPECT_FALSE(refusal_of(ask, books(), {requests, {}, clock, {}, false}));
  EXPECT_EQ(refusal_of_training(books(), 0, 1)->message,
            "study s has no trial 0");
}

TEST_F(StudyParts, FailuresThatPassAreTriedAgain) {
  trials->end(0, trial_state::failed, "broken", errc::diverged);
  trials->end(1, trial_state::failed, "a client said so");
  command::retry some;
  EXPECT_NE(retried_by(some, books(), false).failure().message.find("--all"),
            std::string::npos);
  EXPECT_TRUE(retried_by(some, books(), true)->empty());
  some.all = true;
  EXPECT_EQ(*retried_by(some, books(), false), (std::vector<trial_no>{0}));
  some.trials = {1};
  EXPECT_NE(
    retried_by(some, books(), false).failure().message.find("not in training"),
    std::string::npos);
}

// -- values and views ---------------------------------------------------------

TEST_F(StudyParts, ClientsNeedNotGiveConstants) {
  for (const std::string same : {"{\"lr\":0.1}", "nonsense"})
    EXPECT_EQ(with_constants(same, options.spec, options.workload,
                             name_rules::today),
              same);
}

TEST_F(StudyParts, ATrialIsShownAsItEnded) {
  trials->ack(0, end());
  trials->measure(0, end(), {{"accuracy", 0.75}});
  trials->end(0, trial_state::complete);
  const auto ended = end_of_trial(books(), 0);
  EXPECT_EQ(ended.trial, 0u);
  EXPECT_EQ(ended.value, 0.75);
  EXPECT_EQ(ended.best->value, 0.75);
  EXPECT_EQ(answer_of(books(), 0, end()).metrics.at("accuracy"), 0.75);
  EXPECT_EQ(stored_of(books(), 0, false).best->value, 0.75);
  EXPECT_EQ(stored_of(books(), 0, true).params,
            shown_params(books(), 0).dump());
  const auto record = record_of(books());
  EXPECT_EQ(record.delivered_steps, end());
  EXPECT_EQ(record.best->trial, 0u);
  EXPECT_FALSE(shown_front(books()));
}

} // namespace
} // namespace hippo
