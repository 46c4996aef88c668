#include "hippo/service/coordinator/coordinator_core.hpp"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using namespace std::chrono_literals;
namespace event = coordinator_event;
namespace effect = coordinator_effect;

/// A coordinator with a store whose studies go when they have ended.
struct CoordinatorCore : testing::Test {
  std::optional<coordinator_core> core;
  coordinator_core::effects last; ///< of the last event
  moment now{};
  request_number requests = 0;

  void SetUp() override { begin({}); }

  void begin(std::set<study_id> awaited, bool keep_ended = false) {
    coordinator_begin known;
    known.keep_ended = keep_ended;
    known.restores = true;
    known.has_store = true;
    known.limits_space = true;
    known.awaited = std::move(awaited);
    core.emplace(std::move(known), now);
    tell(event::begun{});
    tell(event::going{});
  }

  void tell(any_coordinator_event x) { last = core->apply(std::move(x), now); }

  template <class T>
  std::vector<T> all() const {
    std::vector<T> result;
    for (const auto& x : last)
      if (const auto* found = std::get_if<T>(&x))
        result.push_back(*found);
    return result;
  }

  template <class T>
  bool has() const {
    return !all<T>().empty();
  }

  /// Submits a study. @returns the number of its submission
  request_number submit(std::optional<study_id> stored = {},
                        const std::string& key = "key") {
    event::submitted x;
    x.request = ++requests;
    x.stored = stored;
    x.name = "study";
    x.workload_key = key;
    tell(x);
    return requests;
  }

  /// Submits a study that starts. @returns its id
  study_id run(const std::string& key = "key") {
    const auto request = submit({}, key);
    const auto id = all<effect::store_submission>().at(0).id;
    tell(event::stored{request});
    if (has<effect::read_plan>())
      tell(event::plan_read{key, {}});
    EXPECT_TRUE(has<effect::spawn_study>());
    tell(event::started{id, request, study_no{1}});
    EXPECT_TRUE(has<effect::accept_submission>());
    return id;
  }
};

TEST_F(CoordinatorCore, AStudyIsStoredThenItsPlanIsReadThenItStarts) {
  const auto request = submit();
  ASSERT_EQ(last.size(), 1u);
  const auto stored = all<effect::store_submission>().at(0);
  EXPECT_EQ(stored.id, study_id{1});
  EXPECT_TRUE(stored.is_new);
  EXPECT_EQ(stored.lease_epoch, 1u);
  tell(event::stored{request});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(all<effect::read_plan>().at(0).lease_epoch, 1u);
  const auto other = submit();
  EXPECT_EQ(all<effect::store_submission>().at(0).lease_epoch, 2u);
  tell(event::stored{other});
  EXPECT_TRUE(last.empty()) << "it waits for the same plan";
  tell(event::plan_read{"key", {}});
  EXPECT_EQ(all<effect::make_merger>().size(), 1u);
  EXPECT_EQ(all<effect::start_merger>().size(), 1u);
  EXPECT_EQ(all<effect::spawn_study>().size(), 2u);
  EXPECT_FALSE(has<effect::accept_submission>());
  tell(event::started{study_id{1}, request, study_no{4}});
  EXPECT_EQ(all<effect::accept_submission>().at(0).request, request);
  tell(event::started{study_id{1}, request, study_no{4}});
  EXPECT_TRUE(last.empty());
}

TEST_F(CoordinatorCore, APlanThatCannotBeReadFailsItsStudies) {
  const auto request = submit();
  tell(event::stored{request});
  tell(event::plan_read{"key", error{errc::io_failed, "damaged"}});
  EXPECT_EQ(all<effect::end_study>().at(0).why, "it cannot start: damaged");
  EXPECT_EQ(all<effect::refuse_submission>().at(0).why.code, errc::io_failed);
  EXPECT_TRUE(core->awaited().empty());
  EXPECT_FALSE(core->has_merger("key"));
}

TEST_F(CoordinatorCore, AStudyThatCannotBeStoredIsNotAwaited) {
  const auto request = submit();
  tell(event::unstored{request});
  EXPECT_EQ(all<effect::refuse_unstored>().at(0).request, request);
  EXPECT_TRUE(core->awaited().empty());
}

TEST_F(CoordinatorCore, AMergerRetiresOnceItIsIdleAndStudiesWaitForItsEnd) {
  const auto id = run();
  now += 1h;
  tell(event::ticked{});
  EXPECT_FALSE(has<effect::retire_merger>()) << "it has a study";
  tell(event::study_ended{{id, "study", study_phase::complete}});
  ASSERT_TRUE(has<effect::retire_study>());
  tell(event::study_retired{id, all<effect::retire_study>().at(0).end});
  EXPECT_TRUE(has<effect::drop_study>());
  EXPECT_TRUE(has<effect::tell_end>());
  now += 599s;
  tell(event::ticked{});
  EXPECT_FALSE(has<effect::retire_merger>());
  now += 1s;
  tell(event::ticked{});
  EXPECT_TRUE(has<effect::retire_merger>());
  tell(event::ticked{});
  EXPECT_FALSE(has<effect::retire_merger>()) << "it is asked once";
  const auto request = submit();
  tell(event::stored{request});
  EXPECT_TRUE(last.empty());
  tell(event::merger_down{"key", false, "", 0, {}});
  EXPECT_TRUE(has<effect::read_plan>());
  EXPECT_FALSE(has<effect::tell_death>());
}

TEST_F(CoordinatorCore, StudiesGoOnWhenTheirMergerDiesForTheFirstTime) {
  const auto id = run();
  tell(event::merger_down{"key", false, "thrown", 0, "thrown"});
  EXPECT_FALSE(all<effect::tell_death>().at(0).is_again);
  EXPECT_EQ(all<effect::exit_study>().at(0).id, id);
  tell(event::study_down{id, false, "exit"});
  EXPECT_EQ(all<effect::submit_again>().at(0).id, id);
  EXPECT_EQ(core->awaited(), std::set{id});
  tell(event::not_resubmitted{id, {}});
  EXPECT_TRUE(core->awaited().empty());
}

TEST_F(CoordinatorCore, TheStudyFailsForWhichAMergerDiesTwice) {
  for (const bool is_late : {false, true}) {
    begin({});
    const auto first = run();
    tell(event::merger_down{"key", false, "thrown", 0, {}});
    tell(event::study_down{first, false, "exit"});
    tell(event::not_resubmitted{first, {}});
    const auto id = run();
    const auto other = run();
    now += is_late ? 10min : 10min - 1s;
    tell(event::merger_down{"key", false, "thrown", number_of(id), "this"});
    EXPECT_EQ(all<effect::exit_study>().size(), 2u);
    tell(event::study_down{id, false, "exit"});
    EXPECT_EQ(has<effect::submit_again>(), is_late);
    if (!is_late) {
      EXPECT_EQ(all<effect::end_study>().at(0).why,
                "what it asked for could not be carried out: this");
    }
    tell(event::study_down{other, false, "exit"});
    EXPECT_TRUE(has<effect::submit_again>());
  }
}

TEST_F(CoordinatorCore, AllStudiesFailWhenAMergerDiesTwiceForNobody) {
  run();
  tell(event::merger_down{"key", false, "thrown", 0, {}});
  const auto id = run();
  tell(event::merger_down{"key", false, "thrown", 0, {}});
  tell(event::study_down{id, false, "exit"});
  EXPECT_EQ(all<effect::end_study>().at(0).why,
            "the merger of its workload has died twice: thrown");
}

TEST_F(CoordinatorCore, EndsWhenNothingCanBeStored) {
  const auto id = run();
  tell(event::study_down{id, true, "journal"});
  EXPECT_TRUE(has<effect::quit>());
  tell(event::merger_down{"key", true, "journal", 0, {}});
  EXPECT_TRUE(has<effect::quit>());
}

TEST_F(CoordinatorCore, AStudyOfWhichTheActorDiesHasFailed) {
  const auto id = run();
  tell(event::study_down{id, false, "thrown"});
  EXPECT_EQ(all<effect::end_study>().at(0).why,
            "a fault of the service itself: thrown");
  EXPECT_TRUE(has<effect::drop_study>());
  EXPECT_TRUE(core->studies().empty());
}

TEST_F(CoordinatorCore, AStudyThatCannotStartIsAnsweredWithItsEnd) {
  const auto request = submit();
  tell(event::stored{request});
  tell(event::plan_read{"key", {}});
  tell(event::not_started{study_id{1}, request + 1, "of another one"});
  EXPECT_TRUE(last.empty());
  tell(event::not_started{study_id{1}, request, "damaged"});
  EXPECT_EQ(all<effect::end_study>().at(0).submitter, request);
  EXPECT_TRUE(has<effect::exit_study>());
}

TEST_F(CoordinatorCore, CancelsBeforeTheStart) {
  begin({study_id{7}});
  tell(event::cancel_asked{++requests, study_id{7}, "why"});
  EXPECT_EQ(all<effect::end_study>().at(0).canceller, requests);
  EXPECT_EQ(all<effect::end_study>().at(0).how, study_phase::cancelled);
  submit(study_id{7});
  EXPECT_EQ(all<effect::refuse_submission>().at(0).why.code, errc::cancelled);
  const auto request = submit();
  tell(event::stored{request});
  tell(event::plan_read{"key", {}});
  const study_id id{1};
  tell(event::cancel_asked{++requests, id, "why"});
  EXPECT_TRUE(has<effect::exit_study>());
  EXPECT_FALSE(has<effect::end_study>());
  tell(event::cancel_asked{requests + 1, id, "why"});
  EXPECT_TRUE(has<effect::refuse_cancel>());
  tell(event::merger_down{"key", false, "thrown", 0, {}}); // changes nothing
  tell(event::study_down{id, false, "exit"});
  EXPECT_EQ(all<effect::end_study>().at(0).canceller, requests);
  EXPECT_EQ(all<effect::end_study>().at(0).submitter, request);
  tell(event::cancel_asked{requests + 2, run(), "why"});
  EXPECT_TRUE(has<effect::refuse_cancel>()) << "it has started";
}

TEST_F(CoordinatorCore, ASubmissionUnderWayThatIsCancelledIsRefused) {
  const auto request = submit();
  tell(event::cancel_asked{++requests, study_id{1}, "why"});
  EXPECT_TRUE(has<effect::end_study>());
  tell(event::stored{request});
  EXPECT_EQ(all<effect::refuse_submission>().at(0).why.code, errc::cancelled);
}

TEST_F(CoordinatorCore, AQuestionWaitsForAStudyThatIsToCome) {
  begin({study_id{7}});
  tell(event::asked{++requests, study_id{8}});
  EXPECT_FALSE(all<effect::answer_question>().at(0).is_there);
  const auto question = ++requests;
  tell(event::asked{question, study_id{7}});
  EXPECT_TRUE(last.empty());
  const auto request = submit(study_id{7});
  tell(event::stored{request});
  tell(event::plan_read{"key", {}});
  const auto answers = all<effect::answer_question>();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request, question);
  EXPECT_TRUE(answers[0].is_there);
}

TEST_F(CoordinatorCore, OpensAStudyForOneCommandAtATime) {
  const study_id id{7};
  tell(event::commanded{1, id});
  EXPECT_TRUE(has<effect::reopen_study>());
  tell(event::commanded{2, id});
  EXPECT_TRUE(last.empty()) << "it waits for the first one";
  event::submitted x;
  x.request = requests = 3;
  x.stored = id;
  x.has_ended = true;
  x.workload_key = "key";
  tell(x);
  tell(event::stored{3});
  tell(event::plan_read{"key", {}});
  tell(event::study_ended{{id, "study", study_phase::complete}});
  EXPECT_TRUE(last.empty()) << "that is known";
  tell(event::started{id, 3, study_no{1}});
  tell(event::reopened{1, id});
  const auto given = all<effect::command_study>();
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].request, 1u);
  EXPECT_EQ(given[1].request, 2u);
  tell(event::command_answered{id, true});
  EXPECT_TRUE(has<effect::retire_study>()) << "it was opened for that alone";
  tell(event::command_answered{id, true});
  EXPECT_TRUE(last.empty());
  tell(event::study_retired{id, {}});
  EXPECT_TRUE(core->studies().empty());
  EXPECT_FALSE(has<effect::tell_end>());
  tell(event::reopened{4, id});
  EXPECT_EQ(all<effect::refuse_command>().at(0).why.code, errc::unknown_study);
}

TEST_F(CoordinatorCore, ACommandWaitsWhileItsStudyMayLeave) {
  const auto id = run();
  tell(event::study_ended{{id, "study", study_phase::complete}});
  ASSERT_TRUE(has<effect::retire_study>());
  tell(event::commanded{7, id});
  EXPECT_TRUE(last.empty());
  tell(event::study_stays{id});
  EXPECT_EQ(all<effect::command_study>().at(0).request, 7u);
  tell(event::command_answered{id, false});

  tell(event::study_ended{{id, "study", study_phase::complete}});
  tell(event::study_ended{{id, "study", study_phase::complete}});
  tell(event::commanded{8, id});
  tell(event::study_stays{id});
  EXPECT_TRUE(last.empty()) << "it was asked twice";
  tell(event::study_retired{id, {}});
  EXPECT_TRUE(has<effect::drop_study>());
  EXPECT_EQ(all<effect::reopen_study>().at(0).request, 8u);
  EXPECT_FALSE(has<effect::command_study>());
  tell(event::commanded{9, id});
  tell(event::not_reopened{id});
  EXPECT_EQ(all<effect::reopen_study>().at(0).request, 9u)
    << "the other one has its own answer";
}

TEST_F(CoordinatorCore, ACommandIsAnsweredIfTheStudyDiesThatMayLeave) {
  const auto id = run();
  tell(event::study_ended{{id, "study", study_phase::complete}});
  tell(event::commanded{7, id});
  tell(event::study_down{id, false, "why"});
  EXPECT_EQ(all<effect::refuse_command>().at(0).request, 7u);
}

TEST_F(CoordinatorCore, DividesSpaceOnlyWhileNothingIsStoredOrRead) {
  tell(event::ticked{});
  EXPECT_TRUE(has<effect::divide_space>());
  const auto request = submit();
  tell(event::ticked{});
  EXPECT_FALSE(has<effect::divide_space>());
  tell(event::stored{request});
  tell(event::ticked{});
  EXPECT_FALSE(has<effect::divide_space>());
  tell(event::plan_read{"key", {}});
  tell(event::ticked{});
  EXPECT_TRUE(has<effect::divide_space>());
}

TEST_F(CoordinatorCore, TakesNothingInOnceAllHasEndedAndThatWasAsked) {
  begin({}, true);
  const auto id = run();
  const auto asked = [&] {
    tell(event::retirement_asked{++requests});
    const auto answers = all<effect::answer_retirement>();
    EXPECT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers.at(0).request, requests);
    return answers.at(0).is_idle;
  };
  EXPECT_FALSE(asked());
  const auto under_way = submit();
  EXPECT_FALSE(has<effect::refuse_submission>()) << "it has not retired";
  const auto other = all<effect::store_submission>().at(0).id;
  tell(event::unstored{under_way});
  EXPECT_NE(other, id);
  tell(event::study_ended{{id, "study", study_phase::complete}});
  // A command lets it go on: it is at work again.
  tell(event::commanded{++requests, id});
  EXPECT_TRUE(has<effect::command_study>());
  tell(event::command_answered{id, false});
  EXPECT_FALSE(asked());
  tell(event::study_ended{{id, "study", study_phase::complete}});
  EXPECT_TRUE(asked());
  submit();
  ASSERT_TRUE(has<effect::refuse_submission>());
  EXPECT_NE(all<effect::refuse_submission>().at(0).why.message.find(
              "this run ends, as all its studies have"),
            std::string::npos);
  tell(event::commanded{++requests, id});
  EXPECT_TRUE(has<effect::refuse_command>());
  EXPECT_FALSE(has<effect::command_study>());
}

TEST_F(CoordinatorCore, KeepsWhatHasEndedIfItIsTold) {
  begin({}, true);
  const auto id = run();
  tell(event::study_ended{{id, "study", study_phase::complete}});
  EXPECT_TRUE(has<effect::tell_end>());
  EXPECT_TRUE(core->studies().at(id).ended);
  now += 1h;
  tell(event::ticked{});
  EXPECT_FALSE(has<effect::retire_merger>());
  tell(event::study_down{id, false, "exit"});
  EXPECT_TRUE(last.empty());
}

// -- histories at random ------------------------------------------------------

/// Answers the effects of a coordinator in any order.
class world {
public:
  explicit world(unsigned seed) : random_(seed), core_(known(), now_) {
    tell(event::begun{});
    for (std::uint64_t id = 1; id <= 3; ++id)
      submit(study_id{id});
    tell(event::going{});
  }

  void run() {
    for (int i = 0; i < 150; ++i) {
      now_ += std::chrono::seconds{below(200)};
      step();
    }
    while (!due_.empty())
      answer();
    for (const auto& [request, answers] : answers_)
      EXPECT_EQ(answers, 1) << request;
    EXPECT_TRUE(core_.awaited().empty());
    for (const auto& [id, x] : core_.studies())
      EXPECT_TRUE(x.number && !x.restarting && !x.ending) << number_of(id);
  }

private:
  static coordinator_begin known() {
    coordinator_begin result;
    result.keep_ended = false;
    result.restores = result.has_store = result.limits_space = true;
    result.last_study = study_id{3};
    result.awaited = {study_id{1}, study_id{2}, study_id{3}};
    return result;
  }

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  request_number ask() {
    answers_[++requests_] = 0;
    return requests_;
  }
  void submit(std::optional<study_id> stored) {
    event::submitted x;
    x.request = ask();
    x.stored = stored;
    x.name = "study";
    x.workload_key = below(2) == 0 ? "a" : "b";
    tell(x);
  }
  study_id any_id() { return study_id{below(last_ + 2) + 1}; }

  void step() {
    const auto id = any_id();
    switch (below(12)) {
      case 0:
        submit({});
        break;
      case 1:
        if (core_.studies().contains(id))
          tell(event::study_ended{{id, "", study_phase::complete}});
        break;
      case 2:
        tell(event::cancel_asked{ask(), id, "why"});
        break;
      case 3:
        tell(event::asked{ask(), id});
        break;
      case 4:
        tell(event::ticked{});
        break;
      case 5:
        if (const std::string key = below(2) == 0 ? "a" : "b";
            below(4) == 0 && mergers_.erase(key) > 0)
          tell(event::merger_down{
            key, false, "why", below(2) * number_of(id), {}});
        break;
      case 7:
      case 8:
        if (core_.studies().contains(id) || ended_.contains(id))
          tell(event::commanded{ask(), id});
        break;
      case 6:
        if (below(4) == 0 && actors_.erase(id) > 0)
          tell(event::study_down{id, false, "why"});
        break;
      default:
        answer();
    }
  }

  void answer() {
    if (due_.empty())
      return;
    const auto i =
      due_.begin() + static_cast<std::ptrdiff_t>(below(due_.size()));
    auto next = std::move(*i);
    due_.erase(i);
    if (const auto* down = std::get_if<event::study_down>(&next);
        down != nullptr && actors_.erase(down->id) == 0)
      return;
    if (const auto* down = std::get_if<event::merger_down>(&next);
        down != nullptr && mergers_.erase(down->key) == 0)
      return;
    if (const auto* goes = std::get_if<event::study_retired>(&next);
        goes != nullptr && !actors_.contains(goes->id))
      return;
    if (const auto* stays = std::get_if<event::study_stays>(&next);
        stays != nullptr && !actors_.contains(stays->id))
      return;
    if (const auto* goes = std::get_if<event::study_retired>(&next))
      ended_.insert(goes->id);
    tell(std::move(next));
  }

  void tell(any_coordinator_event x) {
    for (auto& y : core_.apply(std::move(x), now_))
      std::visit([this](auto& what) { on(what); }, y);
  }

  template <class T>
  void on(T&) {}
  void on(effect::store_submission& x) {
    last_ = std::max(last_, number_of(x.id));
    if (below(8) == 0)
      due_.emplace_back(event::unstored{x.request});
    else
      due_.emplace_back(event::stored{x.request});
  }
  void on(effect::read_plan& x) {
    event::plan_read read{x.key, {}};
    if (below(5) == 0)
      read.failure = error{errc::io_failed, "damaged"};
    due_.emplace_back(std::move(read));
  }
  void on(effect::make_merger& x) {
    EXPECT_TRUE(mergers_.insert(x.key).second);
  }
  void on(effect::retire_merger& x) {
    for (const auto& [id, y] : core_.studies())
      EXPECT_TRUE(y.ended || y.is_orphan || y.workload_key != x.key);
    due_.emplace_back(event::merger_down{x.key, false, "", 0, {}});
  }
  void on(effect::spawn_study& x) {
    EXPECT_TRUE(mergers_.contains(x.key));
    EXPECT_TRUE(actors_.insert(x.id).second);
  }
  void on(effect::start_study& x) {
    if (below(6) == 0)
      due_.emplace_back(event::not_started{x.id, x.request, "damaged"});
    else
      due_.emplace_back(event::started{x.id, x.request, study_no{1}});
  }
  void on(effect::exit_study& x) {
    due_.emplace_back(event::study_down{x.id, false, "exit"});
  }
  void on(effect::drop_study& x) { actors_.erase(x.id); }
  void on(effect::retire_study& x) {
    if (below(3) == 0)
      due_.emplace_back(event::study_stays{x.id});
    else
      due_.emplace_back(event::study_retired{x.id, x.end});
  }
  void on(effect::command_study& x) {
    EXPECT_EQ(core_.studies().at(x.id).leaving, 0u);
    ++answers_.at(x.request);
    due_.emplace_back(event::command_answered{x.id, below(2) == 0});
  }
  void on(effect::refuse_command& x) { ++answers_.at(x.request); }
  void on(effect::reopen_study& x) {
    if (below(3) == 0) {
      ++answers_.at(x.request);
      due_.emplace_back(event::not_reopened{x.id});
      return;
    }
    // As its submission is answered: once it has started.
    event::submitted again;
    again.request = ask();
    again.stored = x.id;
    again.has_ended = true;
    again.workload_key = "a";
    reopened_.emplace(requests_, event::reopened{x.request, x.id});
    due_.emplace_back(std::move(again));
  }
  void on(effect::end_study& x) {
    if (x.submitter)
      note_refusal(*x.submitter);
    if (x.canceller)
      ++answers_.at(*x.canceller);
  }
  void on(effect::submit_again& x) {
    std::optional<event::reopened> reopened;
    if (x.submitter) { // the next submission answers it
      ++answers_.at(*x.submitter);
      if (const auto entry = reopened_.extract(*x.submitter))
        reopened = entry.mapped();
    }
    event::submitted again;
    again.request = ask();
    again.stored = x.id;
    again.workload_key = "a";
    if (below(4) == 0) {
      answers_.erase(requests_);
      due_.emplace_back(event::not_resubmitted{x.id, {}});
      if (reopened)
        due_.emplace_back(*reopened);
    } else {
      if (reopened)
        reopened_.emplace(requests_, *reopened);
      due_.emplace_back(std::move(again));
    }
  }
  void on(effect::accept_submission& x) {
    ++answers_.at(x.request);
    if (const auto entry = reopened_.extract(x.request))
      due_.emplace_back(entry.mapped());
  }
  void on(effect::refuse_submission& x) { note_refusal(x.request); }
  void on(effect::refuse_unstored& x) { note_refusal(x.request); }
  void note_refusal(request_number request) {
    ++answers_.at(request);
    if (const auto entry = reopened_.extract(request)) {
      ++answers_.at(entry.mapped().request);
      due_.emplace_back(event::not_reopened{entry.mapped().id});
    }
  }
  void on(effect::refuse_cancel& x) { ++answers_.at(x.request); }
  void on(effect::answer_question& x) {
    EXPECT_EQ(x.is_there, core_.studies().contains(x.id));
    ++answers_.at(x.request);
  }

  std::mt19937 random_;
  moment now_{};
  coordinator_core core_;
  request_number requests_ = 0;
  std::uint64_t last_ = 3;
  std::map<request_number, int> answers_; ///< how often each was answered
  std::set<std::string> mergers_;
  std::set<study_id> actors_;
  std::set<study_id> ended_; ///< by themselves
  /// The submissions of studies that are opened for a command.
  std::map<request_number, event::reopened> reopened_;
  std::vector<any_coordinator_event> due_;
};

TEST(CoordinatorHistories, AnswerEveryRequestOnce) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    world{seed}.run();
    if (testing::Test::HasFailure())
      return;
  }
}

} // namespace
} // namespace hippo
