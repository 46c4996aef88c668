// A service that runs what it is given, and ends then: studies that have ended
// stay in memory, for a report.

#include <string>

#include <gtest/gtest.h>

#include "actors/stored_service.hpp"

namespace hippo {
namespace {

using namespace test;
using verb = study_command::verb;

/// A service that keeps what has ended.
struct kept_service : stored_service {
  explicit kept_service(const temporary_folder& where)
    : stored_service(where, std::make_shared<fake_engine::folder>(), {},
                     UINT64_MAX, true, true) {}
};

study_submission submission_of(stored_service& x, const std::string& study) {
  auto row = x.store->load_study(study);
  EXPECT_TRUE(row);
  auto read =
    admit_study(row->text, "test.yaml", workloads(), {true, row->algorithm});
  EXPECT_TRUE(read.study);
  return {*read.study, *row};
}

caf::expected<command_answer> retry(stored_service& x,
                                    const std::string& study) {
  return x.ask<command_answer>(
    x.boss, command_atom::value, submission_of(x, study),
    study_command{verb::retry, 0, 0, "{\"all\": true}", 0});
}

TEST(KeptStudies, HaveNotEndedOnceTheyAreRetried) {
  const temporary_folder where;
  kept_service x{where};
  const error broken{errc::training_failed, "no such data"};
  for (auto& device : x.devices)
    device->poison = [&](const configuration& config) {
      return config.at("batch_size") == form::constant(128) ? &broken : nullptr;
    };
  x.submit(sha_study);
  x.run_all();
  ASSERT_EQ(x.status().studies.size(), 1u);
  EXPECT_TRUE(x.status().studies[0].ended);
  const auto before = outcome_of(*x.store, study_id{1});
  ASSERT_NE(before.find("FAILED"), std::string::npos) << before;
  for (auto& device : x.devices)
    device->poison = [](const configuration&) { return nullptr; };
  const auto done = retry(x, "1");
  ASSERT_TRUE(done) << x.sys.render(done.error());
  ASSERT_EQ(x.status().studies.size(), 1u);
  EXPECT_FALSE(x.status().studies[0].ended);
  EXPECT_EQ(x.ask<bool>(x.boss, retire_atom::value), false);
  x.run_all();
  EXPECT_TRUE(x.status().studies[0].ended);
  EXPECT_EQ(outcome_of(*x.store, study_id{1}).find("FAILED"),
            std::string::npos);
  // Where there is nothing to retry it stays as it is.
  EXPECT_FALSE(retry(x, "1"));
  EXPECT_TRUE(x.status().studies[0].ended);
}

TEST(KeptStudies, NoneIsTakenInOnceAllHaveEndedAndTheRunEnds) {
  const temporary_folder where;
  kept_service x{where};
  x.submit(sha_study);
  EXPECT_EQ(x.ask<bool>(x.boss, retire_atom::value), false);
  const auto second = x.submit(tpe_study); // it is not refused
  EXPECT_EQ(second, study_id{2});
  x.run_all();
  EXPECT_EQ(x.ask<bool>(x.boss, retire_atom::value), true);
  auto read = admit_study(tpe_study, "test.yaml", workloads(), {true, {}});
  const auto late = x.ask<study_id>(x.boss, submit_atom::value,
                                    study_submission{*read.study, {}});
  ASSERT_FALSE(late);
  const auto said = x.sys.render(late.error());
  EXPECT_NE(said.find("this run ends, as all its studies have"),
            std::string::npos)
    << said;
  EXPECT_EQ(x.store->load_studies()->size(), 2u);
  EXPECT_FALSE(retry(x, "1"));
  EXPECT_TRUE(x.status().studies[0].ended);
}

TEST(KeptStudies, AStudyThatComesJustBeforeIsWaitedFor) {
  const temporary_folder where;
  kept_service x{where};
  auto read = admit_study(sha_study, "test.yaml", workloads(), {true, {}});
  // One after the other, before anything is stored.
  auto came = x.self->request(x.boss, caf::infinite, submit_atom::value,
                              study_submission{*read.study, {}});
  auto asked = x.self->request(x.boss, caf::infinite, retire_atom::value);
  x.run();
  asked.receive([](bool all) { EXPECT_FALSE(all); },
                [](const caf::error&) { ADD_FAILURE(); });
  came.receive([](study_id id) { EXPECT_EQ(id, study_id{1}); },
               [](const caf::error&) { ADD_FAILURE(); });
  x.run_all();
  x.expect_all_complete();
  EXPECT_EQ(x.ask<bool>(x.boss, retire_atom::value), true);
}

} // namespace
} // namespace hippo
