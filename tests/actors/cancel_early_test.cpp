// Studies of before are cancelled while they are read, or do again what they
// did: nobody waits for that, and it is stored as any other end.

#include <algorithm>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "actors/stored_service.hpp"

namespace hippo {
namespace {

using namespace test;
using namespace std::chrono_literals;
using verb = study_command::verb;

/// Two studies are half through when the service is killed.
void leave_two(const temporary_folder& where,
               const std::shared_ptr<fake_engine::folder>& files) {
  stored_service x{where, files};
  EXPECT_EQ(x.submit(sha_study), study_id{1});
  EXPECT_EQ(x.submit(of_twin(tpe_study)), study_id{2});
  x.run_rounds(4);
}

/// What a request came to, once it has.
template <class T>
struct pending {
  std::optional<T> answer;
  std::optional<caf::error> failure;
};

template <class T, class Handle, class... Ts>
std::shared_ptr<pending<T>> begin(stored_service& x, const Handle& to,
                                  Ts... xs) {
  const auto result = std::make_shared<pending<T>>();
  x.spawn([=](caf::event_based_actor* self) {
    self->request(to, caf::infinite, xs...)
      .then([=](T& y) { result->answer = std::move(y); },
            [=](caf::error& why) { result->failure = std::move(why); });
  });
  return result;
}

std::shared_ptr<pending<study_id>> begin_again(stored_service& x,
                                               const stored_study& row) {
  auto read = admit_study(row.text, "test.yaml", workloads(),
                          {true, row.algorithm});
  return begin<study_id>(x, x.boss, submit_atom::value,
                         study_submission{*read.study, row});
}

std::uint64_t cancels_of(state_reader& store, study_id id) {
  const auto events = *store.load_events(id, 0, 10'000);
  return static_cast<std::uint64_t>(
    std::ranges::count_if(events, [](const auto& x) {
      const auto* y = std::get_if<study_command>(&x.what);
      return y != nullptr && y->what == verb::cancel;
    }));
}

/// @param at after so many messages it is cancelled
/// @returns whether it had not started by then
bool try_cancel(int at, const std::string& victim_alone) {
  SCOPED_TRACE("message " + std::to_string(at));
  const temporary_folder where;
  const auto files = std::make_shared<fake_engine::folder>();
  leave_two(where, files);
  bool was_early = false;
  {
    stored_service x{where, files};
    const auto old = *x.store->load_study(study_id{1});
    const auto victim = begin_again(x, *x.store->load_study(study_id{2}));
    const auto again = begin_again(x, old);
    for (int i = 0; i < at && x.sched.has_job(); ++i)
      x.sched.run_once();
    const auto early
      = begin<bool>(x, x.boss, cancel_atom::value, study_id{1},
                    std::string{"enough"});
    x.run();
    EXPECT_TRUE(early->answer);
    was_early = early->answer.value_or(false);
    if (!was_early) {
      const auto handle = x.ask<study_actor>(x.boss, find_atom::value,
                                             study_id{1});
      EXPECT_TRUE(handle);
      if (handle) {
        EXPECT_TRUE(x.ask<command_answer>(
          *handle, command_atom::value,
          study_command{verb::cancel, 0, 0, "enough", 0}));
      }
    }
    EXPECT_TRUE(again->answer || again->failure) << "nobody tells";
    if (was_early) {
      EXPECT_TRUE(again->failure && *again->failure == errc::cancelled);
    }
    const auto row = *x.store->load_study(study_id{1});
    EXPECT_EQ(row.state, study_phase::cancelled);
    EXPECT_EQ(row.reason, "enough");
    EXPECT_EQ(row.name, old.name);
    EXPECT_EQ(cancels_of(*x.store, study_id{1}), 1u);
    const auto trials = *x.store->load_trials(study_id{1}, 0, 1000);
    for (const auto& trial : trials)
      EXPECT_TRUE(has_ended(trial.state)) << trial.trial;
    x.run_all();
    EXPECT_TRUE(victim->answer);
    EXPECT_EQ(outcome_of(*x.store, study_id{2}), victim_alone);
    EXPECT_TRUE(x.status().studies.empty());
    EXPECT_TRUE(x.status().absent.empty());
    EXPECT_FALSE(*x.ask<bool>(x.boss, cancel_atom::value, study_id{1},
                              std::string{"again"}));
  }
  // It does again what it did, its end included.
  stored_service y{where, files};
  const auto row = *y.store->load_study(study_id{1});
  auto read = admit_study(row.text, "test.yaml", workloads(),
                          {true, row.algorithm});
  const auto refused = y.ask<command_answer>(
    y.boss, command_atom::value, study_submission{*read.study, row},
    study_command{verb::pause, 0, 0, "", 0});
  EXPECT_FALSE(refused);
  y.run_all();
  EXPECT_EQ(y.store->load_study(study_id{1})->state, study_phase::cancelled);
  EXPECT_TRUE(y.status().studies.empty());
  return was_early;
}

TEST(CancelEarly, NobodyWaitsUntilAStudyHasStarted) {
  const temporary_folder where;
  const auto files = std::make_shared<fake_engine::folder>();
  leave_two(where, files);
  stored_service alone{where, files};
  alone.restore();
  alone.run_all();
  const auto expected = outcome_of(*alone.store, study_id{2});
  int at = 0;
  while (at < 1000 && try_cancel(at, expected))
    at += 1 + at / 8;
  EXPECT_LT(at, 1000) << "it never starts";
  EXPECT_GT(at, 5) << "nothing was tried";
  EXPECT_FALSE(try_cancel(at + 1, expected));
}

TEST(CancelEarly, AStudyThatIsYetToBeReadIsCancelledAndNotTakenInAnyMore) {
  const temporary_folder where;
  const auto files = std::make_shared<fake_engine::folder>();
  leave_two(where, files);
  stored_service x{where, files};
  const auto stale = *x.store->load_study(study_id{1});
  EXPECT_EQ(x.status().absent.size(), 2u);
  const auto asks = begin<study_actor>(x, x.boss, find_atom::value,
                                       study_id{1});
  x.run();
  EXPECT_FALSE(asks->answer || asks->failure) << "it may come";
  EXPECT_TRUE(*x.ask<bool>(x.boss, cancel_atom::value, study_id{1},
                           std::string{"enough"}));
  EXPECT_TRUE(asks->failure && *asks->failure == errc::unknown_study);
  const auto late = begin_again(x, stale);
  x.run_all();
  EXPECT_TRUE(late->failure && *late->failure == errc::cancelled);
  EXPECT_TRUE(x.status().studies.empty());
  EXPECT_EQ(x.store->load_study(study_id{1})->state, study_phase::cancelled);
  EXPECT_FALSE(*x.ask<bool>(x.boss, cancel_atom::value, study_id{9},
                            std::string{}));
}

TEST(CancelEarly, AStudyOfBeforeThatCannotBeReadHasFailed) {
  const temporary_folder where;
  const auto files = std::make_shared<fake_engine::folder>();
  leave_two(where, files);
  stored_service x{where, files};
  x.self->send(x.boss, failed_atom::value, study_id{1}, "it is odd");
  x.run();
  const auto row = *x.store->load_study(study_id{1});
  EXPECT_EQ(row.state, study_phase::failed);
  EXPECT_EQ(row.reason, "it is odd");
  const auto trials = *x.store->load_trials(study_id{1}, 0, 1000);
  for (const auto& trial : trials)
    EXPECT_TRUE(has_ended(trial.state)) << trial.trial;
  EXPECT_EQ(x.status().absent.size(), 1u);
}

} // namespace
} // namespace hippo
