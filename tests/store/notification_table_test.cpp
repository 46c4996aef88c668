#include "hippo/store/notification_table.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/store/state_writer.hpp"
#include "store/folder_fixture.hpp"

namespace hippo {
namespace {

using event = notify_event;

class NotificationTable : public folder_test {
protected:
  NotificationTable() : folder_(open()) {}

  static stored_study study(study_phase state, std::uint64_t id = 1) {
    stored_study result;
    result.id = study_id{id};
    result.name = "s";
    result.metric = "acc";
    result.state = state;
    return result;
  }

  static trial_saved trial(double value, std::uint64_t id = 1) {
    stored_trial result;
    result.params = "{}";
    result.best = stored_best{1, value};
    return {study_id{id}, result};
  }

  void submit(std::vector<event> on, direction better = direction::maximize) {
    auto row = study(study_phase::running);
    row.direction = better;
    commit({study_saved{row, notify_request{"http://h/", std::move(on)}}});
  }

  void commit(const std::vector<journal_record>& records) {
    const auto done = folder_->commit(records);
    ASSERT_TRUE(done) << done.failure().message;
  }

  /// The events that are due, as `study-event-number`.
  std::vector<std::string> due() {
    std::vector<std::string> result;
    const auto all = folder_->load_due_notifications(100);
    for (const auto& x : *all) {
      EXPECT_EQ(x.url, "http://h/");
      result.push_back(to_string(x.study) + '-' + to_string(x.event) + '-'
                       + std::to_string(x.number));
    }
    return result;
  }

  void settle(event what, std::uint64_t number) {
    commit({notification_settled{study_id{1}, what, number, ""}});
  }

  std::unique_ptr<state_writer> folder_;
};

using names = std::vector<std::string>;

TEST_F(NotificationTable, AnEndIsDueOnceUntilItIsSettled) {
  submit({event::ended});
  EXPECT_EQ(due(), names{});
  commit({study_saved{study(study_phase::paused)}});
  EXPECT_EQ(due(), names{});
  commit({study_saved{study(study_phase::complete)}});
  EXPECT_EQ(due(), names{"1-ended-1"});
  // A note of people; the study stays as it is.
  commit({study_saved{study(study_phase::complete)}});
  EXPECT_EQ(due(), names{"1-ended-1"});
  folder_.reset();
  folder_ = open();
  EXPECT_EQ(due(), names{"1-ended-1"});
  settle(event::ended, 1);
  EXPECT_EQ(due(), names{});
  commit({study_saved{study(study_phase::complete)}});
  EXPECT_EQ(due(), names{});
}

TEST_F(NotificationTable, AStudyThatGoesOnEndsOnceMore) {
  submit({event::ended});
  commit({study_saved{study(study_phase::complete)}});
  commit({study_saved{study(study_phase::running)}});
  EXPECT_EQ(due(), names{});
  commit({study_saved{study(study_phase::cancelled)}});
  EXPECT_EQ(due(), names{"1-ended-2"});
  // The first one was on its way meanwhile.
  settle(event::ended, 1);
  EXPECT_EQ(due(), names{"1-ended-2"});
  settle(event::ended, 2);
  EXPECT_EQ(due(), names{});
}

TEST_F(NotificationTable, AFailureIsOneEnd) {
  submit({event::failed});
  commit({study_saved{study(study_phase::complete)}});
  EXPECT_EQ(due(), names{});
  commit({study_saved{study(study_phase::running)}});
  commit({study_saved{study(study_phase::failed)}});
  EXPECT_EQ(due(), names{"1-failed-1"});
}

TEST_F(NotificationTable, ARequestOfBothIsToldOfAFailureOnce) {
  submit({event::ended, event::failed});
  commit({study_saved{study(study_phase::failed)}});
  EXPECT_EQ(due(), names{"1-ended-1"});
}

TEST_F(NotificationTable, OnlyABetterTrialIsDue) {
  submit({event::best});
  commit({trial(0.5)});
  EXPECT_EQ(due(), names{"1-best-1"});
  settle(event::best, 1);
  commit({trial(0.4), trial(0.5)});
  EXPECT_EQ(due(), names{});
  commit({trial(0.6), trial(0.7)});
  EXPECT_EQ(due(), names{"1-best-3"});
  settle(event::best, 2);
  EXPECT_EQ(due(), names{"1-best-3"});
  commit({study_saved{study(study_phase::complete)}});
  EXPECT_EQ(due(), names{"1-best-3"});
}

TEST_F(NotificationTable, LessIsBetterWhereTheStudySaysSo) {
  submit({event::best}, direction::minimize);
  commit({trial(0.5)});
  settle(event::best, 1);
  commit({trial(0.6)});
  EXPECT_EQ(due(), names{});
  commit({trial(0.4)});
  EXPECT_EQ(due(), names{"1-best-2"});
}

TEST_F(NotificationTable, OtherStudiesAreNotTold) {
  submit({event::ended, event::best});
  commit({study_saved{study(study_phase::running, 2)}});
  commit({trial(0.5, 2), study_saved{study(study_phase::complete, 2)}});
  EXPECT_EQ(due(), names{});
}

TEST_F(NotificationTable, ARepeatedSubmissionChangesNothing) {
  submit({event::ended});
  commit({study_saved{study(study_phase::complete)}});
  commit({study_saved{study(study_phase::complete),
                      notify_request{"http://other/", {event::ended}}}});
  EXPECT_EQ(due(), names{"1-ended-1"});
}

} // namespace
} // namespace hippo
