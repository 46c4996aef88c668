#include "hippo/service/notify/notification_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hippo {
namespace {

using nlohmann::json;

stored_study ended() {
  stored_study result;
  result.id = study_id{3};
  result.name = "sweep";
  result.metric = "acc";
  result.state = study_phase::complete;
  result.active_seconds = 12.5;
  result.tags = {"paper"};
  return result;
}

stored_trial best() {
  stored_trial result;
  result.trial = 7;
  result.params = R"({"lr": 0.1})";
  result.best = stored_best{30, 0.25};
  return result;
}

TEST(NotificationText, TellsTheEndAndTheBestTrial) {
  const auto found = json::parse(
    notification_text(notify_event::ended, ended(), best(), 1'800'000'000));
  EXPECT_EQ(found, json::parse(R"({
    "type": "study.ended", "timestamp": "2027-01-15T08:00:00Z",
    "text": "Study sweep (3) has ended: COMPLETE. Best: trial 7, acc 0.25 at )"
                               R"(step 30.",
    "data": {"study": 3, "name": "sweep", "state": "COMPLETE", "reason": "",
      "metric": "acc", "direction": "maximize", "tags": ["paper"],
      "active_seconds": 12.5, "device_seconds": 0.0,
      "best": {"trial": 7, "step": 30, "value": 0.25, "params": {"lr": 0.1}}}
  })"));
}

TEST(NotificationText, TellsWhyAStudyHasFailed) {
  auto study = ended();
  study.state = study_phase::failed;
  study.reason = "no disk";
  study.direction = direction::minimize;
  const auto found =
    json::parse(notification_text(notify_event::failed, study, {}, 0));
  EXPECT_EQ(found["type"], "study.failed");
  EXPECT_EQ(found["text"], "Study sweep (3) has ended: FAILED, no disk.");
  EXPECT_EQ(found["data"]["direction"], "minimize");
  EXPECT_EQ(found["data"]["best"], nullptr);
}

TEST(NotificationText, IsJsonWhateverNamesAndValuesAre) {
  auto study = ended();
  study.name = "a\xff\"b";
  auto trial = best();
  trial.params = "no json";
  const auto found = json::parse(
    notification_text(notify_event::best, study, trial, 0), nullptr, false);
  ASSERT_FALSE(found.is_discarded());
  EXPECT_EQ(found["type"], "study.best");
  EXPECT_EQ(found["data"]["best"]["params"], nullptr);
  trial.best->value = __builtin_inf();
  EXPECT_FALSE(
    json::parse(notification_text(notify_event::best, study, trial, 0), nullptr,
                false)
      .is_discarded());
}

} // namespace
} // namespace hippo
