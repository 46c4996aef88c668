// A whole service in this process, and clients over loopback.

#include "actors/gateway_fixture.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "actors/run_sql.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/model/view/view_wire.hpp"
#include "hippo/net/wire/codec.hpp"
#include "log_format.hpp"

namespace hippo::test {
namespace {

using json = nlohmann::json;

/// What is known of the grid is not enough for it.
const std::string longer_text = [] {
  auto text = grid_text;
  return text.replace(text.find("max_steps: 4"), 12, "max_steps: 8");
}();

/// Leaves the algorithm open. Its schedules part behind step 4.
const std::string automatic_text = R"(
study: open
workload: {name: sum}
objective: {metric: sum}
max_steps: 27
space:
  lr:
    multistep:
      initial: {uniform: [0.1, 1]}
      milestones: [{choice: [5, 8]}]
      gamma: {choice: [0.1, 0.2]}
budget: {trials: 48}
)";

const std::string random_text = R"(
study: some
workload: {name: sum}
objective: {metric: sum}
max_steps: 4
space: {lr: {uniform: [0.1, 0.5]}}
algorithm: random
budget: {trials: 2}
)";

const std::string client_text = R"(
study: mine
workload: {name: sum}
objective: {metric: sum}
max_steps: 6
space: {lr: {choice: [0.1, 0.2]}}
algorithm: client
)";

class GatewayTest : public gateway_test {
public:
  /// Returns all events of a study that has ended, in parts of two.
  std::vector<std::string> all_events(schema::Study::Client study) {
    std::vector<std::string> result;
    for (std::uint64_t after = 0;;) {
      auto request = study.eventsRequest();
      request.setAfter(after);
      request.setMost(2);
      const auto answer = request.send().wait(scope);
      for (const auto x : answer.getEvents())
        result.push_back(kj::str(x).cStr());
      after = answer.getNext();
      if (answer.getEnded())
        return result;
    }
  }

  capnp::Response<schema::Study::TrainResults>
  train(schema::Study::Client study, std::uint64_t trial, step_t to) {
    auto request = study.trainRequest();
    request.setTrial(trial);
    request.setStep(to);
    return request.send().wait(scope);
  }

  std::uint64_t ask(schema::Study::Client study, const std::string& params) {
    auto request = study.askRequest();
    request.setParams(params);
    return request.send().wait(scope).getTrial();
  }

  capnp::Response<schema::Study::DescribeResults>
  describe(schema::Study::Client study) {
    return study.describeRequest().send().wait(scope);
  }
};

// -- what a study goes through ------------------------------------------------

TEST_F(GatewayTest, ResultsOfASubmittedStudy) {
  open();
  auto me = enter();
  auto study = submit(me, grid_text);
  EXPECT_EQ(wait(study), "COMPLETE");

  const auto described = describe(study);
  const auto info = described.getInfo();
  EXPECT_EQ(std::string{described.getText().cStr()}, grid_text);
  EXPECT_EQ(info.getId(), 1u);
  EXPECT_EQ(kj::str(info.getName()), "grid"_kj);
  EXPECT_EQ(kj::str(info.getAlgorithm()), "grid"_kj);
  EXPECT_EQ(kj::str(info.getMetric()), "sum"_kj);
  EXPECT_TRUE(info.getMaximize());
  EXPECT_EQ(info.getTrials(), 3u);
  EXPECT_EQ(info.getFinished(), 3u);
  EXPECT_EQ(info.getAskedSteps(), 12u);
  EXPECT_EQ(info.getSharedSteps(), 2u); // of 0.1, before the milestone
  EXPECT_EQ(gate.passed(), 10);
  ASSERT_TRUE(info.getBest().isValue());
  EXPECT_EQ(info.getBest().getValue().getTrial(), 1u);

  auto some = study.trialsRequest();
  some.setFirst(1);
  some.setMost(5);
  const auto trials = some.send().wait(scope);
  ASSERT_EQ(trials.getTrials().size(), 2u);
  EXPECT_EQ(trials.getTrials()[0].getTrial(), 1u);
  EXPECT_EQ(kj::str(trials.getTrials()[0].getState()), "COMPLETE"_kj);
  EXPECT_EQ(json::parse(trials.getTrials()[0].getParams().cStr()),
            (json{{"lr", 0.2}}));
  EXPECT_EQ(trials.getTrials()[0].getDeliveredSteps(), 4u);

  const auto best = study.bestRequest().send().wait(scope);
  EXPECT_EQ(best.getTrial().getBest().getValue().getStep(), 4u);
  EXPECT_DOUBLE_EQ(best.getTrial().getBest().getValue().getValue(), 0.8);

  EXPECT_EQ(all_events(study).size(), 12u);

  const auto exported
    = json::parse(study.exportRequest().send().wait(scope).getJson().cStr());
  EXPECT_EQ(exported.at("name"), "grid");
  EXPECT_EQ(exported.at("asked_steps"), 12);
  EXPECT_EQ(exported.at("unique_steps"), 10);
  EXPECT_EQ(exported.at("best").at("trial"), 1);
  ASSERT_EQ(exported.at("trials").size(), 3u);
  EXPECT_EQ(exported.at("trials")[1].at("results").size(), 4u);
}

TEST_F(GatewayTest, WeightsAreOfWhatWasMeasured) {
  open();
  auto me = enter();
  auto study = submit(me, grid_text);
  EXPECT_EQ(wait(study), "COMPLETE");
  const auto weights = [&](std::uint64_t trial, step_t step) {
    auto request = study.weightsRequest();
    request.setTrial(trial);
    request.setStep(step);
    return request;
  };
  const auto answer = weights(1, 4).send().wait(scope);
  const auto bytes = answer.getRecipe().asChars();
  const auto recipe
    = decode(wire<schema::Lease>::of_bytes({bytes.begin(), bytes.size()}));
  ASSERT_TRUE(recipe);
  EXPECT_EQ(recipe->stages.back().end, 4u);
  EXPECT_EQ(recipe->stops, (std::vector<stop_point>{{4, false, false}}));
  EXPECT_EQ(failure_of(weights(9, 4)),
            "invalid_argument: there is no trial 9");
  EXPECT_EQ(failure_of(weights(1, 9)),
            "invalid_argument: trial 1 was not measured at step 9: there are no"
            " weights of it");
  // A pipe is not waited for, a link not followed.
  for (const auto& x : std::filesystem::directory_iterator{
         folder.path + "/checkpoints"}) {
    ASSERT_EQ(::mkfifo((x.path() / "pipe.ckpt").c_str(), 0600), 0);
    std::filesystem::create_symlink("/etc/hostname", x.path() / "link.ckpt");
  }
  for (const auto* name : {"none.ckpt", "../hippo.db", "../../hippo.db", "",
                           ".", "pipe.ckpt", "link.ckpt"}) {
    auto request = study.checkpointRequest();
    request.setFile(name);
    EXPECT_TRUE(failure_of(request).starts_with("bad_checkpoint: ")) << name;
  }
}

TEST_F(GatewayTest, SubmitSaysWhatIsOddAboutSharing) {
  open();
  auto me = enter();
  auto text = grid_text;
  text.replace(text.find("algorithm: grid"), 15,
               "algorithm: {sha: {eta: 2, min: 1}}");
  text.replace(text.find("      - 0.2\n"), 12, "");
  auto request = me.service.submitRequest();
  request.setText(text);
  const auto answer = request.send().wait(scope);
  ASSERT_EQ(answer.getWarnings().size(), 1u);
  const std::string said = answer.getWarnings()[0].cStr();
  EXPECT_NE(said.find("these 2 trials are one and the same state"),
            std::string::npos)
    << said;
}

TEST_F(GatewayTest, WhatIsChosenForAStudyIsSaidAndHeedsItsTrainers) {
  open();
  auto me = enter();
  const auto said = [&] {
    auto request = me.service.submitRequest();
    request.setText(automatic_text);
    const auto answer = request.send().wait(scope);
    EXPECT_EQ(answer.getNotes().size(), 1u);
    return std::string{answer.getNotes()[0].cStr()};
  };
  const std::string of_few = R"("min":9.0,"prefer_shared":"ties")";
  EXPECT_NE(said().find(of_few), std::string::npos);
  for (int i = 1; i < 11; ++i)
    node->add_trainer();
  while (me.service.trainersRequest().send().wait(scope).getTrainers().size()
         < 11)
    std::this_thread::yield();
  EXPECT_NE(said().find(R"("min":3.0,"prefer_shared":"price")"),
            std::string::npos);
  node->send_trainer_away();
  EXPECT_NE(said().find(of_few), std::string::npos);
}

TEST_F(GatewayTest, AClientsStudyHasNoPreview) {
  open();
  auto me = enter();
  auto preview = me.service.previewRequest();
  preview.setText(client_text);
  EXPECT_NE(failure_of(preview).find("decisions come from a client"),
            std::string::npos);
}

TEST_F(GatewayTest, AnswersAboutTrainingAreTyped) {
  open();
  auto me = enter();
  auto study = submit(me, grid_text);
  EXPECT_EQ(wait(study), "COMPLETE");
  const auto known = describe(study);
  const auto key = known.getInfo().getWorkload();
  const auto timeline = me.service.timelineRequest().send().wait(scope);
  const auto done = decode(timeline.getTimeline());
  EXPECT_EQ(done.to_step.size(), done.trainer.size());
  EXPECT_EQ(done.workload.size(), done.trainer.size());
  const auto timings = me.service.timingsRequest().send().wait(scope);
  for (const auto x : timings.getTimings())
    EXPECT_EQ(kj::str(x.getWorkload()), kj::str(key));
  auto columns = study.columnsRequest();
  columns.setKind(schema::ColumnKind::WORK);
  EXPECT_TRUE(json::parse(columns.send().wait(scope).getJson().cStr())
                .contains("from_step"));
  auto others = study.columnsRequest();
  others.setKind(static_cast<schema::ColumnKind>(99));
  EXPECT_NE(failure_of(others).find("knows no columns of kind 99: upgrade it"),
            std::string::npos);
  EXPECT_NE(failure_of(study.importanceRequest())
              .find("parameter importance needs at least"),
            std::string::npos);
}

TEST_F(GatewayTest, TheSameStudyOnceMoreIsShared) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  auto preview = me.service.previewRequest();
  preview.setText(grid_text);
  const auto shown = to_json(decode(preview.send().wait(scope).getPreview()));
  EXPECT_EQ(shown.at("unique_steps"), 10);
  EXPECT_EQ(shown.at("known_steps"), 10);
  EXPECT_EQ(shown.at("new_steps"), 0);
  auto again = submit(me, grid_text);
  EXPECT_EQ(wait(again), "COMPLETE");
  EXPECT_EQ(describe(again).getInfo().getSharedSteps(), 12u);
  EXPECT_EQ(gate.passed(), 10);
  const auto listed = me.service.listRequest().send().wait(scope);
  ASSERT_EQ(listed.getStudies().size(), 2u);
  EXPECT_EQ(listed.getStudies()[0].getSharedSteps(), 2u);
  EXPECT_EQ(listed.getStudies()[1].getId(), 2u);
  auto by_name = me.service.studyRequest();
  by_name.setIdOrName("grid");
  EXPECT_EQ(by_name.send().wait(scope).getId(), 2u); // the last one
}

TEST_F(GatewayTest, ClientsDriveStudiesThatShare) {
  open();
  auto me = enter();
  auto mine = submit(me, client_text);
  const auto trial = ask(mine, R"({"lr": 0.3})");
  auto at_2 = train(mine, trial, 2);
  EXPECT_EQ(kj::str(at_2.getTrained().getState()), "PAUSED"_kj);
  EXPECT_EQ(at_2.getTrained().getStep(), 2u);
  ASSERT_EQ(at_2.getTrained().getMetrics().size(), 2u);
  EXPECT_DOUBLE_EQ(at_2.getTrained().getMetrics()[1].getValue(), 0.6);
  EXPECT_EQ(train(mine, trial, 3).getTrained().getStep(), 3u);
  EXPECT_EQ(gate.passed(), 3);
  // Once more: it is known, however far the trial is by now.
  EXPECT_EQ(train(mine, trial, 2).getTrained().getStep(), 2u);
  EXPECT_EQ(gate.passed(), 3);

  auto other = submit(me, client_text);
  const auto twin = ask(other, "{lr: 0.3}");
  EXPECT_EQ(train(other, twin, 3).getTrained().getStep(), 3u);
  EXPECT_EQ(gate.passed(), 3);
  EXPECT_EQ(describe(other).getInfo().getSharedSteps(), 3u);
  EXPECT_EQ(describe(mine).getInfo().getSharedSteps(), 0u);

  auto drawn = mine.askRequest().send().wait(scope);
  EXPECT_TRUE(json::parse(drawn.getParams().cStr()).contains("lr"));
  auto told = mine.tellRequest();
  told.setTrial(drawn.getTrial());
  told.initOutcome().setState("PRUNED");
  told.send().wait(scope);
  auto valued = mine.tellRequest();
  valued.setTrial(trial);
  valued.initOutcome().setState("COMPLETE");
  valued.getOutcome().getValue().setValue(7);
  valued.send().wait(scope);
  mine.closeRequest().send().wait(scope);
  EXPECT_EQ(wait(mine), "COMPLETE");
  EXPECT_EQ(mine.bestRequest().send().wait(scope).getTrial().getBest()
              .getValue().getValue(), 7);
  // What is known stays known when the study is over.
  auto late = train(mine, trial, 3);
  EXPECT_EQ(kj::str(late.getTrained().getState()), "COMPLETE"_kj);
  EXPECT_EQ(late.getTrained().getStep(), 3u);
  ASSERT_EQ(late.getTrained().getMetrics().size(), 2u);
}

TEST_F(GatewayTest, EventsAreWaitedFor) {
  open();
  auto me = enter();
  auto study = submit(me, client_text);
  const auto trial = ask(study, "");
  const auto events = [&](std::uint64_t after, std::uint32_t wait_millis) {
    auto request = study.eventsRequest();
    request.setAfter(after);
    request.setWaitMillis(wait_millis);
    return request.send();
  };
  auto known = events(0, 0).wait(scope);
  ASSERT_EQ(known.getEvents().size(), 1u);
  EXPECT_TRUE(known.getEvents()[0].isCommand());
  EXPECT_EQ(events(known.getNext(), 0).wait(scope).getNext(), known.getNext());
  auto next = events(known.getNext(), 60'000);
  train(study, trial, 1);
  auto more = next.wait(scope);
  ASSERT_GE(more.getEvents().size(), 1u);
  EXPECT_GT(more.getEvents()[0].getId(), known.getNext());
  EXPECT_FALSE(more.getEnded());
}

TEST_F(GatewayTest, EventsAreTheSameAfterARestart) {
  std::vector<std::string> before;
  std::uint64_t last = 0;
  open();
  {
    auto me = enter();
    auto study = submit(me, client_text);
    train(study, ask(study, "{lr: 0.2}"), 2);
    auto known = study.eventsRequest().send().wait(scope);
    for (const auto x : known.getEvents())
      before.push_back(kj::str(x).cStr());
    last = known.getNext();
  }
  node.reset();
  open();
  auto me = enter();
  auto request = me.service.studyRequest();
  request.setIdOrName("mine");
  auto study = request.send().wait(scope).getStudy();
  EXPECT_EQ(train(study, 0, 2).getTrained().getStep(), 2u);
  EXPECT_EQ(train(study, 0, 4).getTrained().getStep(), 4u);
  EXPECT_EQ(gate.passed(), 4);
  study.closeRequest().send().wait(scope);
  EXPECT_EQ(wait(study), "COMPLETE");
  const auto after = all_events(study);
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  auto rest = study.eventsRequest();
  rest.setAfter(last);
  EXPECT_EQ(rest.send().wait(scope).getEvents().size(),
            after.size() - before.size());
}

TEST_F(GatewayTest, StudiesArePausedAndCancelled) {
  open();
  auto me = enter();
  gate.open(false);
  auto study = submit(me, grid_text);
  study.pauseRequest().send().wait(scope);
  const auto weigh = [&](double x) {
    auto request = study.setWeightRequest();
    request.setWeight(x);
    return request;
  };
  weigh(2.5).send().wait(scope);
  EXPECT_EQ(failure_of(study.pauseRequest()),
            "invalid_argument: study grid is PAUSED already");
  auto info = describe(study);
  EXPECT_EQ(kj::str(info.getInfo().getState()), "PAUSED"_kj);
  EXPECT_EQ(info.getInfo().getWeight(), 2.5);
  EXPECT_EQ(failure_of(weigh(-1)),
            "invalid_argument: a weight is a number above 0, not '-1'");
  study.resumeRequest().send().wait(scope);
  auto cancel = study.cancelRequest();
  cancel.setReason("enough");
  cancel.send().wait(scope);
  EXPECT_EQ(wait(study), "CANCELLED");
  EXPECT_EQ(kj::str(describe(study).getInfo().getReason()), "enough"_kj);
  EXPECT_EQ(failure_of(study.stopRequest()),
            "invalid_argument: study grid has ended: CANCELLED");
}

TEST_F(GatewayTest, AStudyThatHasEndedIsGivenMore) {
  open();
  auto me = enter();
  auto study = submit(me, random_text);
  EXPECT_EQ(wait(study), "COMPLETE");
  const auto steer = [&](auto fill) {
    auto request = study.steerRequest();
    fill(request.initChange());
    return request;
  };
  const auto more = steer(
    [](auto change) { change.initExtend().setTrials(1); }).send().wait(scope);
  EXPECT_EQ(more.getTrials(), 3u);
  EXPECT_EQ(wait(study), "COMPLETE");
  EXPECT_EQ(
    failure_of(steer([](auto change) { change.initExtend().setSteps(1); }))
      .find("invalid_argument: trials have "),
    0u);
  const auto given = steer([](auto change) {
    change.setEnqueue("trials: [{lr: 0.25}]");
  }).send().wait(scope);
  EXPECT_EQ(given.getTrials(), 4u);
  EXPECT_EQ(wait(study), "COMPLETE");
  const auto trials = study.trialsRequest().send().wait(scope);
  ASSERT_EQ(trials.getTrials().size(), 4u);
  EXPECT_EQ(kj::str(trials.getTrials()[3].getParams()), "{\"lr\":0.25}"_kj);
  EXPECT_EQ(kj::str(trials.getTrials()[3].getState()), "COMPLETE"_kj);
  EXPECT_EQ(failure_of(steer([](auto change) {
              change.setEnqueue("trials: [{lr: 7}]");
            })),
            "invalid_argument: trials[0].lr: must be from 0.1 to 0.5, found "
            "'7'");
  EXPECT_EQ(failure_of(steer([](auto change) { change.initExtend(); })),
            "invalid_argument: a study is extended by a map with some of "
            "trials, seconds, deadline_seconds, device_seconds, cost, "
            "budget_steps and steps, not '{}'");
  EXPECT_NE(failure_of(steer([](auto change) {
              change.setTellPast("results: [{params: {lr: 0.2}, metrics: "
                                 "{sum: 1}}]");
            }))
              .find("has ended"),
            std::string::npos);
  EXPECT_NE(failure_of(steer([](auto change) {
              change.setEnqueue(std::string(trials_text_bytes_max + 1, ' '));
            }))
              .find("may have at most"),
            std::string::npos);
}

TEST_F(GatewayTest, AStudyThatGoesOnAgainIsSteeredThroughItsNewActor) {
  open();
  auto me = enter();
  gate.open(false);
  auto study = submit(me, random_text);
  const auto weigh = [&](double weight) {
    auto request = study.setWeightRequest();
    request.setWeight(weight);
    request.send().wait(scope);
  };
  weigh(2); // its actor is known from here on
  gate.open(true);
  EXPECT_EQ(wait(study), "COMPLETE");
  gate.open(false);
  auto more = study.steerRequest();
  more.initChange().initExtend().setTrials(1);
  more.send().wait(scope);
  weigh(3);
  EXPECT_EQ(describe(study).getInfo().getWeight(), 3);
  gate.open(true);
  EXPECT_EQ(wait(study), "COMPLETE");
}

TEST_F(GatewayTest, WhatIsHiddenIsShownNowhere) {
  open();
  auto me = enter();
  auto study = submit(me, random_text);
  EXPECT_EQ(wait(study), "COMPLETE");
  const auto steer = [&](auto fill) {
    auto request = study.steerRequest();
    fill(request.initChange());
    return request;
  };
  const auto best = [&] {
    return study.bestRequest().send().wait(scope).getTrial().getTrial();
  };
  const auto listed = [&](bool removed) {
    auto request = me.service.listRequest();
    request.setRemoved(removed);
    return request.send().wait(scope).getStudies().size();
  };
  const auto first = best();
  const auto told = steer([&](auto change) {
    change.initRemove().initTrials(1).set(0, first);
  }).send().wait(scope);
  EXPECT_EQ(told.getTrials(), 1u);
  EXPECT_NE(best(), first);
  EXPECT_EQ(study.trialsRequest().send().wait(scope).getTrials().size(), 1u);
  steer([&](auto change) {
    change.initRestore().initTrials(1).set(0, first);
  }).send().wait(scope);
  EXPECT_EQ(best(), first);
  EXPECT_EQ(listed(false), 1u);
  steer([](auto change) { change.initRemove(); }).send().wait(scope);
  EXPECT_EQ(listed(false), 0u);
  EXPECT_EQ(listed(true), 1u);
  steer([](auto change) {
    auto x = change.initNote();
    x.setSetNote(true);
    x.setNote("seen");
    x.initAddTags(1).set(0, "old");
  }).send().wait(scope);
  const auto shown = study.describeRequest().send().wait(scope);
  EXPECT_EQ(kj::str(shown.getInfo().getNote()), "seen"_kj);
  ASSERT_EQ(shown.getInfo().getTags().size(), 1u);
  EXPECT_EQ(kj::str(shown.getInfo().getTags()[0]), "old"_kj);
  EXPECT_TRUE(shown.getInfo().getRemoved());
  EXPECT_EQ(failure_of(steer([&](auto change) {
              change.initRestore().initTrials(1).set(0, 9);
            })),
            "invalid_argument: trial 9 of study some is not removed");
}

TEST_F(GatewayTest, TrainersShowTheirLease) {
  open();
  auto me = enter();
  gate.open(false);
  auto study = submit(me, grid_text);
  for (;;) {
    const auto answer = me.service.trainersRequest().send().wait(scope);
    ASSERT_EQ(answer.getTrainers().size(), 1u);
    const auto x = answer.getTrainers()[0];
    EXPECT_EQ(kj::str(x.getDevice()), "test"_kj);
    EXPECT_EQ(x.getLost().size(), 0u);
    EXPECT_EQ(x.getMemoryBytes(), 1000u);
    EXPECT_EQ(kj::str(x.getDriver()), "13.0"_kj);
    EXPECT_EQ(kj::str(x.getComputeCapability()), "9.0"_kj);
    if (x.getLease().isNone())
      continue;
    const auto lease = x.getLease().getValue();
    EXPECT_EQ(lease.getToStep(), 4u);
    EXPECT_EQ(kj::str(lease.getValues()).slice(0, 3), "lr="_kj);
    ASSERT_EQ(lease.getStudies().size(), 1u);
    EXPECT_EQ(kj::str(lease.getStudies()[0]), "grid"_kj);
    break;
  }
  gate.open(true);
  EXPECT_EQ(wait(study), "COMPLETE");
}

TEST_F(GatewayTest, AStudyWithoutTrainersSaysThatItWaits) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  node->send_trainer_away();
  auto study = submit(me, longer_text);
  const auto waiting = [&] {
    return kj::str(describe(study).getInfo().getWaiting());
  };
  EXPECT_EQ(waiting(), "no trainer is connected: start one with hippo-trainer "
                       "--connect HOST:PORT"_kj);
  study.pauseRequest().send().wait(scope);
  EXPECT_EQ(waiting(), ""_kj) << "it is not to be trained";
  study.cancelRequest().send().wait(scope);
  EXPECT_EQ(waiting(), ""_kj);
}

TEST_F(GatewayTest, ALogThatWasFullIsFollowed) {
  open();
  const auto file = folder.path + "/hippo.log";
  std::ofstream{old_log_of(file)} << "seen\nnot seen\n";
  std::ofstream{file} << "new\n";
  auto me = enter();
  std::string text;
  for (std::uint64_t after = 5;;) {
    auto request = me.service.logsRequest();
    request.setAfter(after);
    const auto part = request.send().wait(scope);
    if (part.getText().size() == 0)
      break;
    text += part.getText().cStr();
    after = part.getNext();
  }
  EXPECT_EQ(text, "not seen\nnew\n");
}

TEST_F(GatewayTest, LogsComeInParts) {
  open();
  {
    std::ofstream out(folder.path + "/hippo.log");
    out << "first\nsecond\nhalf";
  }
  auto me = enter();
  const auto logs = [&](std::uint64_t trainer, std::uint64_t after) {
    auto request = me.service.logsRequest();
    request.setTrainer(trainer);
    request.setAfter(after);
    return request;
  };
  auto part = logs(0, 0).send().wait(scope);
  EXPECT_EQ(kj::str(part.getText()), "first\nsecond\n"_kj);
  EXPECT_EQ(part.getNext(), 13u);
  EXPECT_EQ(logs(0, 17).send().wait(scope).getText().size(), 0u);
  EXPECT_NE(failure_of(logs(1, 0)), "");
}

TEST_F(GatewayTest, LogsHaveTheLineThatWasJustWritten) {
  const auto before = spdlog::default_logger();
  open(); // a new state folder has to be empty
  node.reset();
  log_to(make_log_files(folder.path + "/hippo.log"), "test", {});
  open();
  spdlog::info("just now");
  auto me = enter();
  const auto part = me.service.logsRequest().send().wait(scope);
  const std::string text = part.getText().cStr();
  EXPECT_NE(text.find("just now\n"), text.npos) << text;
  node.reset();
  spdlog::set_default_logger(before);
}

// -- what cannot be -----------------------------------------------------------

TEST_F(GatewayTest, ErrorsComeVerbatim) {
  open();
  auto me = enter();
  const std::string bad = "study: x\nworkload: {name: summ}\nmax_steps: no\n";
  std::string findings = "invalid_study: ";
  const auto read = admit_study(bad, "test.yaml", {sum_workload()}, {true, {}});
  for (const auto& x : read.errors)
    findings += to_text(x) + '\n';
  findings.pop_back();
  auto submit = me.service.submitRequest();
  submit.setText(bad);
  submit.setName("test.yaml");
  EXPECT_EQ(failure_of(submit), findings);
  auto preview = me.service.previewRequest();
  preview.setText(bad);
  preview.setName("test.yaml");
  EXPECT_EQ(failure_of(preview), findings);

  auto study = this->submit(me, client_text);
  auto request = me.service.studyRequest();
  request.setIdOrName("mind");
  EXPECT_EQ(failure_of(request), "unknown_study: no study 'mind', did you mean "
                                 "'mine'?");
  EXPECT_EQ(failure_of(study.bestRequest()),
            "invalid_argument: study 'mine' has no result yet");
  auto train = study.trainRequest();
  train.setTrial(3);
  EXPECT_EQ(failure_of(train),
            "invalid_argument: study mine has no trial 3");
  const auto refusal = [&](std::uint32_t protocol) {
    auto greeting = me.entrance.greetRequest();
    greeting.setProtocol(protocol);
    return failure_of(greeting);
  };
  const auto newer = refusal(99), why = refusal(1);
  EXPECT_NE(newer.find(
              "and the client version 99: upgrade the service to the client's "
              "release (stop it, install that, and run hippo serve again)"),
            std::string::npos)
    << newer;
  EXPECT_EQ(why.substr(0, 22), "incompatible_version: ");
  EXPECT_NE(why.find("this service speaks version 2 "), std::string::npos)
    << why;
  EXPECT_NE(why.find("and the client version 1: upgrade the client to the "
                     "service's release (pip install --upgrade hippo-hpo, or "
                     "the program hippo)"),
            std::string::npos)
    << why;
}

TEST_F(GatewayTest, TooMuchIsRefused) {
  options.limits.calls = 2;
  open();
  auto me = enter();
  auto submit = me.service.submitRequest();
  submit.setText(std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(failure_of(submit),
            "invalid_argument: a study file may have at most 1048576 bytes, "
            "not 1048577");
  auto study = this->submit(me, client_text);
  const auto wait = [&] {
    auto request = study.waitRequest();
    request.setWaitMillis(60'000);
    return request.send();
  };
  auto first = wait();
  auto second = wait();
  EXPECT_EQ(failure_of(study.describeRequest()),
            "resource_exhausted: a client may make at most 2 calls at a time: "
            "wait for some to end");
  // Other clients have calls of their own.
  auto other = enter();
  other.service.listRequest().send().wait(scope);
  { const auto dropped = kj::mv(first); }
  while (!failure_of(study.closeRequest()).empty()) {
  }
  EXPECT_EQ(kj::str(second.wait(scope).getInfo().getState()), "COMPLETE"_kj);
}

TEST_F(GatewayTest, AClientHoldsSoManyStudiesAndLetsGoOfThem) {
  options.limits.studies = 2;
  open();
  auto me = enter();
  auto first = submit(me, client_text);
  const auto find = [&] {
    auto request = me.service.studyRequest();
    request.setIdOrName("1");
    return request;
  };
  {
    auto second = find().send().wait(scope);
    const std::string refusal
      = "resource_exhausted: a client may hold at most 2 studies at a time: "
        "let go of some, or make another connection";
    EXPECT_EQ(failure_of(find()), refusal);
    // Nothing is stored of which the client would hear nothing.
    auto another = me.service.submitRequest();
    another.setText(client_text);
    EXPECT_EQ(failure_of(another), refusal);
    EXPECT_EQ(me.service.listRequest().send().wait(scope).getStudies().size(),
              1u);
    // Other clients have studies of their own.
    auto other = enter();
    auto request = other.service.studyRequest();
    request.setIdOrName("1");
    request.send().wait(scope);
  }
  // Its letting go comes before what it asks next.
  EXPECT_EQ(find().send().wait(scope).getId(), 1u);
}

TEST_F(GatewayTest, ManyLongAnswersComeOneAfterTheOther) {
  options.limits.held_bytes = 1;
  options.held = std::make_shared<byte_ledger>("clients", 4 << 20);
  options.http_port = 0;
  open();
  auto me = enter();
  auto other = enter();
  auto study = submit(me, grid_text);
  EXPECT_EQ(wait(study), "COMPLETE");
  std::vector<kj::Promise<std::size_t>> exported;
  for (int i = 0; i < 100; ++i)
    exported.push_back(study.exportRequest().send().then(
      [](auto x) -> std::size_t { return x.getJson().size(); }));
  // They wait for each other, and nobody for ever.
  other.service.listRequest().send().wait(scope);
  for (auto& x : exported)
    EXPECT_GT(x.wait(scope), 100u);
  EXPECT_NE(get("/api/studies").find("200 OK"), std::string::npos);
}

TEST_F(GatewayTest, OneClientTooManyIsTold) {
  options.limits.clients = 1;
  open();
  auto me = enter();
  auto other = connect();
  auto greeting = other.entrance.greetRequest();
  greeting.setProtocol(schema::SERVICE_PROTOCOL_VERSION);
  EXPECT_EQ(failure_of(greeting),
            "resource_exhausted: this service has 1 clients, and takes no "
            "more: try again later");
  me.service.listRequest().send().wait(scope);
}

TEST_F(GatewayTest, TrainersMayNotAsk) {
  options.make_authenticator = [](kj::Timer&) -> expected<authenticator> {
    return authenticator{[](kj::AuthenticatedStream x) {
      return kj::Promise<admitted_connection>{
        admitted_connection{kj::mv(x.stream), peer_role::trainer}};
    }};
  };
  options.http_port = 0;
  open();
  auto me = connect();
  auto greeting = me.entrance.greetRequest();
  greeting.setProtocol(schema::SERVICE_PROTOCOL_VERSION);
  EXPECT_EQ(failure_of(greeting).substr(0, 13), "not_allowed: ");
  EXPECT_EQ(get("/api/studies").substr(0, 12), "HTTP/1.1 403");
}

TEST_F(GatewayTest, AnAuthenticatorThatCannotBeMadeIsTold) {
  options.make_authenticator = [](kj::Timer&) -> expected<authenticator> {
    return {errc::not_allowed, "no keys"};
  };
  node = std::make_unique<service_node>(folder.path, gate, options);
  ASSERT_TRUE(node->failure());
  EXPECT_EQ(node->failure()->message, "no keys");
}

// -- clients that behave badly ------------------------------------------------

TEST_F(GatewayTest, RubbishHarmsNobody) {
  open();
  auto me = enter();
  std::mt19937 random{7};
  for (int i = 0; i < 50; ++i) {
    std::string bytes(1 + random() % 5000, '\0');
    for (auto& x : bytes)
      x = static_cast<char>(random());
    if (i % 2 == 0) // a short segment table, so that the message is looked at
      std::fill_n(bytes.begin(), std::min<std::size_t>(4, bytes.size()), '\0');
    raw_socket{node->server().rpc_port()}.send(bytes);
  }
  me.service.listRequest().send().wait(scope);
}

TEST_F(GatewayTest, AMessageThatIsTooBigEndsItsConnection) {
  options.limits.message_bytes = 1 << 16;
  open();
  auto me = enter();
  raw_socket bad{node->server().rpc_port()};
  std::string head(8, '\0');
  head[6] = 1; // 65536 words
  bad.send(head);
  const auto said = bad.read_all(); // until it hangs up
  EXPECT_NE(said.find("too large"), std::string::npos) << said;
  me.service.listRequest().send().wait(scope);
}

/// Returns a message that asks for the first capability.
std::string bootstrap(std::uint32_t question) {
  capnp::MallocMessageBuilder message;
  message.initRoot<capnp::rpc::Message>().initBootstrap().setQuestionId(
    question);
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asChars();
  return {bytes.begin(), bytes.size()};
}

TEST_F(GatewayTest, AClientThatDoesNotReadIsLetGo) {
  options.limits.beat = std::chrono::milliseconds{10};
  options.limits.times.answer = {20, 1 << 20};
  open();
  auto me = enter();
  auto study = submit(me, grid_text);
  EXPECT_EQ(wait(study), "COMPLETE");
  // The service takes no more once nobody takes its answers, and hangs up.
  raw_socket deaf{node->server().rpc_port()};
  for (std::uint32_t question = 0; deaf.send(bootstrap(question)); ++question) {
  }
  me.service.listRequest().send().wait(scope);
}

TEST_F(GatewayTest, AClientThatDiesWhileItWaitsIsForgotten) {
  options.limits.clients = 2;
  open();
  auto me = enter();
  auto study = submit(me, client_text);
  gate.open(false);
  const auto trial = ask(study, "{lr: 0.4}");
  {
    auto other = enter();
    auto request = other.service.studyRequest();
    request.setIdOrName("mine");
    auto theirs = request.send().wait(scope).getStudy();
    auto training = theirs.trainRequest();
    training.setTrial(trial);
    training.setStep(1);
    auto answer = training.send();
    auto waiting = theirs.waitRequest();
    waiting.setWaitMillis(60'000);
    auto more = waiting.send();
    theirs.describeRequest().send().wait(scope); // both have arrived
  }
  gate.open(true);
  // The trial went on, and another client may come in.
  EXPECT_EQ(train(study, trial, 1).getTrained().getStep(), 1u);
  EXPECT_EQ(gate.passed(), 1);
  for (;;) {
    auto next = connect();
    auto greeting = next.entrance.greetRequest();
    greeting.setProtocol(schema::SERVICE_PROTOCOL_VERSION);
    if (failure_of(greeting).empty())
      break;
  }
}

/// A client's end of a connection that stops reading.
class deaf_stream final : public kj::AsyncIoStream {
public:
  explicit deaf_stream(kj::Own<kj::AsyncIoStream> inner)
    : inner_(kj::mv(inner)) {}

  kj::Promise<size_t> tryRead(void*, size_t, size_t) override {
    return kj::NEVER_DONE;
  }
  kj::Promise<void> write(const void* buffer, size_t size) override {
    return inner_->write(buffer, size);
  }
  kj::Promise<void>
  write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return inner_->write(pieces);
  }
  kj::Promise<void> whenWriteDisconnected() override {
    return inner_->whenWriteDisconnected();
  }
  void shutdownWrite() override { inner_->shutdownWrite(); }

private:
  kj::Own<kj::AsyncIoStream> inner_;
};

/// A study that is never done: its client asks for nothing.
class RudeClientTest : public GatewayTest {
public:
  /// A client that asks for all without hearing anything.
  struct deaf {
    kj::Own<deaf_stream> stream;
    kj::Own<capnp::TwoPartyClient> network;
    schema::Study::Client study = nullptr;
  };
  deaf enter_deaf(const std::string& study) {
    auto stream = kj::heap<deaf_stream>(
      io.provider->getNetwork()
        .parseAddress("127.0.0.1", node->server().rpc_port())
        .wait(scope)
        ->connect()
        .wait(scope));
    auto network = kj::heap<capnp::TwoPartyClient>(*stream);
    auto greeting
      = network->bootstrap().castAs<schema::Entrance>().greetRequest();
    greeting.setProtocol(schema::SERVICE_PROTOCOL_VERSION);
    auto asked = greeting.send().getService().studyRequest();
    asked.setIdOrName(study);
    auto found = asked.send().getStudy();
    return {kj::mv(stream), kj::mv(network), kj::mv(found)};
  }

  /// Lets the loops of both sides go on until `f` says that it is enough.
  template <class F>
  void until(F f) {
    auto& timer = io.provider->getTimer();
    while (!f())
      timer.afterDelay(5 * kj::MILLISECONDS).wait(scope);
  }
  [[nodiscard]] std::uint64_t held() const {
    return options.held->root().held();
  }
};

TEST_F(RudeClientTest, WhoWaitsTakesNoAnswersRoom) {
  options.http_port = 0;
  options.held = std::make_shared<byte_ledger>("clients", 16 << 20);
  open();
  auto me = enter();
  submit(me, client_text);
  std::vector<client> others;
  std::vector<kj::Promise<void>> waiting;
  for (int i = 0; i < 9; ++i) {
    others.push_back(enter());
    auto asked = others.back().service.studyRequest();
    asked.setIdOrName("mine");
    auto study = asked.send().wait(scope).getStudy();
    for (int j = 0; j < 200; ++j) {
      auto request = study.eventsRequest();
      request.setAfter(1'000'000);
      request.setWaitMillis(60'000);
      waiting.push_back(request.send().ignoreResult().eagerlyEvaluate(nullptr));
    }
    // All have come when this has.
    study.describeRequest().send().wait(scope);
  }
  EXPECT_EQ(me.service.listRequest().send().wait(scope).getStudies().size(),
            1u);
  EXPECT_NE(get("/api/studies").find("200 OK"), std::string::npos);
  // What they hold is what calls take, and booked.
  EXPECT_GE(held(), 1800u * call_bytes);
  EXPECT_LT(held(), 4u << 20);
  waiting.clear();
  others.clear();
  until([&] { return held() == 0; });
}

TEST_F(RudeClientTest, WhoDoesNotReadIsLetGoWhenOthersNeedTheRoom) {
  options.http_port = 0;
  options.held = std::make_shared<byte_ledger>("clients", 32 << 20);
  options.limits.beat = std::chrono::milliseconds{20};
  options.limits.times.answer = {100'000, 1 << 20}; // none is let go by that
  open();
  auto me = enter();
  const auto text = client_text + "# " + std::string(1'000'000, 'x') + '\n';
  submit(me, text);
  std::vector<deaf> deafs;
  std::vector<kj::Promise<void>> asked;
  for (int i = 0; i < 12; ++i) {
    deafs.push_back(enter_deaf("mine"));
    for (int j = 0; j < 60; ++j)
      asked.push_back(deafs.back()
                        .study.describeRequest()
                        .send()
                        .ignoreResult()
                        .eagerlyEvaluate([](kj::Exception&&) {}));
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(me.service.listRequest().send().wait(scope).getStudies().size(),
              1u);
    EXPECT_NE(get("/api/studies").find("200 OK"), std::string::npos);
    EXPECT_LE(held(), options.held->room());
    io.provider->getTimer().afterDelay(10 * kj::MILLISECONDS).wait(scope);
  }
  asked.clear();
  deafs.clear();
  until([&] { return held() == 0; });
}

TEST_F(RudeClientTest, WhoIsSilentMakesRoomAndIsLetGo) {
  options.limits.clients = 4;
  options.limits.beat = std::chrono::milliseconds{20};
  options.limits.times.greeting = {50, 0};
  open();
  std::vector<std::unique_ptr<raw_socket>> silent;
  for (int i = 0; i < 50; ++i)
    silent.push_back(std::make_unique<raw_socket>(node->server().rpc_port()));
  auto me = enter();
  EXPECT_EQ(me.service.listRequest().send().wait(scope).getStudies().size(),
            0u);
  // In the end none of them has a connection, nor a message that is half there.
  silent.back()->send(std::string(4, '\0'));
  for (auto& x : silent)
    EXPECT_EQ(x->read_all(), "");
  me.service.listRequest().send().wait(scope);
}

TEST_F(RudeClientTest, HalfAMessageIsNotWaitedForForEver) {
  options.limits.beat = std::chrono::milliseconds{10};
  options.limits.times.greeting = {100'000, 1};
  options.limits.times.request = {20, 1 << 20};
  open();
  auto me = enter();
  // The first one is whole, and the second never comes to its end.
  raw_socket half{node->server().rpc_port()};
  half.send(bootstrap(0));
  std::string head(8, '\0');
  head[5] = 1 << 6; // 16384 words: 128 KiB
  half.send(head + std::string(1000, '\0'));
  until([&] { return held() >= 128u << 10; });
  half.read_all(); // until it hangs up
  until([&] { return held() == 0; });
  me.service.listRequest().send().wait(scope);
}

TEST_F(RudeClientTest, PagesAreAsLongAsTheirRowsAllow) {
  options.http_port = 0;
  open();
  auto me = enter();
  auto study = submit(me, grid_text);
  EXPECT_EQ(wait(study), "COMPLETE");
  run_sql(folder.path, "UPDATE trials SET params = '{\"lr\": \"'"
                       " || hex(zeroblob(400000)) || '\"}'");
  auto request = study.trialsRequest();
  const auto page = request.send().wait(scope);
  ASSERT_EQ(page.getTrials().size(), 1u);
  request = study.trialsRequest();
  request.setFirst(2);
  const auto last = request.send().wait(scope);
  ASSERT_EQ(last.getTrials().size(), 1u);
  EXPECT_EQ(last.getTrials()[0].getTrial(), 2u);
  request = study.trialsRequest();
  request.setFirst(3);
  EXPECT_EQ(request.send().wait(scope).getTrials().size(), 0u);
}

// -- HTTP ---------------------------------------------------------------------

/// What our own page sends with what changes something.
const std::string page_headers = "Hippo-Page: 1\r\nContent-Type: "
                                 "application/json\r\nConnection: close\r\n";

class HttpTest : public GatewayTest {
public:
  HttpTest() { options.http_port = 0; }

  /// Returns the body of an answer that must be JSON and of that status.
  json body_of(const std::string& answer, int status) {
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 " + std::to_string(status))
      << answer;
    EXPECT_NE(answer.find("application/json"), std::string::npos) << answer;
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
};

TEST_F(HttpTest, ShowsStudies) {
  open();
  auto me = enter();
  EXPECT_EQ(body_of(get("/healthz"), 200), (json{{"status", "ok"}}));
  EXPECT_EQ(body_of(get("/api/studies"), 200), json::array());
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  const auto studies = body_of(get("/api/studies"), 200);
  ASSERT_EQ(studies.size(), 1u);
  EXPECT_EQ(studies[0].at("state"), "COMPLETE");
  EXPECT_EQ(studies[0].at("best").at("trial"), 1);
  EXPECT_EQ(body_of(get("/api/studies/1"), 200), studies[0]);
  EXPECT_EQ(body_of(get("/api/studies/grid"), 200), studies[0]);
  const auto trials
    = body_of(get("/api/studies/1/trials?first=1&most=1"), 200);
  ASSERT_EQ(trials.size(), 1u);
  EXPECT_EQ(trials[0].at("trial"), 1);
  EXPECT_EQ(trials[0].at("params"), (json{{"lr", 0.2}}));
  const auto events = body_of(get("/api/studies/1/events"), 200);
  ASSERT_EQ(events.at("events").size(), 12u);
  EXPECT_EQ(events.at("ended"), true);
  const auto next = events.at("next").get<int>();
  EXPECT_EQ(body_of(get("/api/studies/1/events?after="
                        + std::to_string(next - 1)),
                    200)
              .at("events")
              .size(),
            1u);
  const auto trainer = body_of(get("/api/trainers"), 200).at(0);
  EXPECT_EQ(trainer.at("device"), "test");
  EXPECT_EQ(trainer.at("memory_bytes"), 1000);
  EXPECT_EQ(trainer.at("driver"), "13.0");
  EXPECT_EQ(trainer.at("compute_capability"), "9.0");
  const auto study = body_of(get("/api/studies/1"), 200);
  EXPECT_EQ(study.at("delivered_steps"), 12);
  EXPECT_EQ(study.at("shared_steps"), 2);
  int shared = 0;
  for (const auto& x : body_of(get("/api/studies/1/trials"), 200))
    shared += x.at("shared_steps").get<int>();
  EXPECT_EQ(shared, 2); // although it has ended
  EXPECT_GT(study.at("saved_seconds"), 0.0); // although it has ended
  const auto tree = body_of(get("/api/tree"), 200);
  ASSERT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree[0].at("trained_steps"), 10);
  EXPECT_EQ(tree[0].at("stages").size(), 4u);
}

TEST_F(HttpTest, AStudyByColumns) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  const auto table = body_of(get("/api/studies/1/table"), 200);
  EXPECT_EQ(table.at("trial"), (json{0, 1, 2}));
  EXPECT_EQ(table.at("state"), (json{"COMPLETE", "COMPLETE", "COMPLETE"}));
  EXPECT_EQ(table.at("delivered_steps"), (json{4, 4, 4}));
  EXPECT_EQ(table.at("params").at("lr"),
            (json{0.1, 0.2, "multistep(0.1,[2],0.5)"}));
  EXPECT_EQ(table.at("failures"), json::object());

  const auto curves = body_of(get("/api/studies/1/curves"), 200);
  EXPECT_EQ(curves.at("whole"), true);
  std::map<std::pair<int, int>, double> values;
  for (std::size_t i = 0; i < curves.at("trial").size(); ++i)
    values[{curves["trial"][i], curves["step"][i]}] = curves["value"][i];
  EXPECT_EQ(values.size(), 12u);
  EXPECT_DOUBLE_EQ(values.at({1, 4}), 0.8);
  EXPECT_DOUBLE_EQ(values.at({2, 2}), 0.2);
  EXPECT_DOUBLE_EQ(values.at({2, 4}), 0.3);

  // Two trials are one up to step 2.
  const auto tree = body_of(get("/api/studies/1/tree"), 200);
  EXPECT_EQ(tree.at("all_nodes"), 3);
  std::map<std::string, json> nodes;
  for (std::size_t i = 0; i < 3; ++i)
    nodes[tree["label"][i]] = {{"begin", tree["begin"][i]},
                               {"end", tree["end"][i]},
                               {"trials", tree["trials"][i]}};
  EXPECT_EQ(nodes,
            (std::map<std::string, json>{
              {"lr=0.1", {{"begin", 0}, {"end", 4}, {"trials", 2}}},
              {"lr=0.2", {{"begin", 0}, {"end", 4}, {"trials", 1}}},
              {"lr=0.05", {{"begin", 2}, {"end", 4}, {"trials", 1}}}}));
  EXPECT_EQ(tree.at("at").at("trial"), (json{0, 1, 2}));
  EXPECT_EQ(tree.at("at").at("step"), (json{4, 4, 4}));

  body_of(get("/api/studies/none/table"), 404);
  body_of(get("/api/studies/1/curve"), 404);
  body_of(get("/api/studies/1/tree?first=1"), 400);
}

TEST_F(HttpTest, TellsHowManyTrainersCouldBeUsed) {
  open();
  auto me = enter();
  node->send_trainer_away();
  const auto demand = [&] { return body_of(get("/api/demand"), 200); };
  EXPECT_EQ(demand(), (json{{"trainers", 0},
                            {"work", json::array()},
                            {"connected", json::array()},
                            {"refused", json::array()}}));
  auto study = submit(me, grid_text);
  // Three trials, of which two are one model at first.
  while (demand().at("trainers") != 2)
    kj::evalLater([] {}).wait(scope);
  const auto work = demand().at("work").at(0);
  EXPECT_EQ(work.at("waiting"), 2);
  EXPECT_EQ(work.at("working"), 0);
  EXPECT_EQ(work.at("kinds"), json::array());
  EXPECT_TRUE(work.at("seconds").is_null()) << "nothing was measured";
  const auto metrics = get("/metrics");
  EXPECT_NE(metrics.find("hippo_demand_trainers{kind=\"any\"} 2\n"),
            std::string::npos);
  EXPECT_EQ(metrics.find("hippo_demand_seconds"), std::string::npos);
  const auto answer = me.service.demandRequest().send().wait(scope);
  EXPECT_EQ(answer.getDemand().getTrainers(), 2u);
  study.pauseRequest().send().wait(scope);
  while (demand().at("trainers") != 0)
    kj::evalLater([] {}).wait(scope);
  study.resumeRequest().send().wait(scope);
  while (demand().at("trainers") != 2)
    kj::evalLater([] {}).wait(scope);
}

TEST_F(HttpTest, ListsIdleTrainersBesideTheDemand) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  const auto demand = body_of(get("/api/demand"), 200);
  EXPECT_EQ(demand.at("trainers"), 0);
  ASSERT_EQ(demand.at("connected").size(), 1u);
  EXPECT_EQ(demand["connected"][0].at("device"), "test");
}

TEST_F(HttpTest, ATrainerThatHasLeftIsGone) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  EXPECT_TRUE(body_of(get("/api/trainers"), 200).at(0).at("lost").is_null());
  node->send_trainer_away();
  EXPECT_EQ(body_of(get("/api/trainers"), 200).at(0).at("lost"), "has left");
  EXPECT_NE(get("/metrics").find("hippo_trainers{state=\"left\"} 1\n"),
            std::string::npos);
  const auto answer = me.service.trainersRequest().send().wait(scope);
  EXPECT_EQ(answer.getTrainers()[0].getLost(), "has left");
}

TEST_F(HttpTest, CountsForPrometheus) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  const auto answer = get("/metrics");
  EXPECT_NE(answer.find("text/plain; version=0.0.4"), std::string::npos);
  for (const auto* line :
       {"hippo_studies{state=\"COMPLETE\"} 1\n",
        "hippo_studies{state=\"RUNNING\"} 0\n",
        "hippo_trials{state=\"COMPLETE\"} 3\n", "hippo_asked_steps 12\n",
        "hippo_delivered_steps 12\n", "hippo_unique_steps 10\n",
        "hippo_shared_steps 2\n",
        "hippo_trained_steps 10\n", "hippo_trained_steps_total 10\n",
        "hippo_trainers{state=\"lost\"} 0\n",
        "hippo_trainers{state=\"left\"} 0\n",
        "hippo_clients 1\n", "hippo_journal_healthy 1\n",
        "# TYPE hippo_journal_commits_total counter\n"})
    EXPECT_NE(answer.find(line), std::string::npos) << line << answer;
}

TEST_F(HttpTest, SaysWhenNothingCanBeWritten) {
  open();
  auto me = enter();
  refuse_events(folder.path);
  auto study = submit(me, grid_text);
  std::string answer;
  do
    answer = get("/healthz");
  while (answer.starts_with("HTTP/1.1 200"));
  EXPECT_NE(body_of(answer, 503).dump().find("the disk is full"),
            std::string::npos);
  EXPECT_NE(get("/metrics").find("hippo_journal_healthy 0\n"),
            std::string::npos);
  accept_events(folder.path);
  EXPECT_EQ(wait(study), "COMPLETE");
  do // what was found is good for a second
    answer = get("/healthz");
  while (answer.starts_with("HTTP/1.1 503"));
  EXPECT_EQ(body_of(answer, 200), (json{{"status", "ok"}}));
}

TEST_F(HttpTest, APageChangesStudies) {
  open();
  gate.open(false);
  const auto post = [&](const std::string& path, const json& x) {
    const auto body = x.dump();
    return http("POST " + path + " HTTP/1.1\r\nHost: localhost\r\n"
                + page_headers + "Content-Length: "
                + std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  const json study{{"text", grid_text}, {"name", "grid.yaml"}};
  EXPECT_TRUE(body_of(post("/api/preview", study), 200).is_object());
  EXPECT_TRUE(body_of(get("/api/studies"), 200).empty()) << "it was looked at";
  EXPECT_EQ(body_of(post("/api/studies", study), 200).at("id"), 1);
  const auto state = [&] {
    return body_of(get("/api/studies/1"), 200).at("state");
  };
  EXPECT_EQ(body_of(post("/api/studies/grid/pause", json::object()), 200),
            json::object());
  EXPECT_EQ(state(), "PAUSED");
  body_of(post("/api/studies/1/weight", {{"weight", 2.5}}), 200);
  EXPECT_EQ(body_of(get("/api/studies/1"), 200).at("weight"), 2.5);
  body_of(post("/api/studies/1/resume", json::object()), 200);
  EXPECT_EQ(state(), "RUNNING");
  EXPECT_EQ(body_of(post("/api/studies/1/enqueue",
                         {{"trials", json::array({{{"lr", 0.2}}})}}),
                    200)
              .at("trials"),
            4);
  EXPECT_NE(std::string{body_of(post("/api/studies/1/extend",
                                     {{"trials", 1}}),
                                400)
                          .at("error")}
              .find("at most 0 can be added"),
            std::string::npos);
  body_of(post("/api/studies/1/cancel", {{"reason", "enough"}}), 200);
  EXPECT_EQ(state(), "CANCELLED");
  const auto bad = [&](const std::string& path, const json& x, int status,
                       const std::string& why) {
    const std::string said = body_of(post(path, x), status).at("error");
    EXPECT_NE(said.find(why), std::string::npos) << said;
  };
  bad("/api/studies/1/weight", json::object(), 400, "the number 'weight'");
  bad("/api/studies", {{"text", 1}}, 400, "the text 'text'");
  bad("/api/studies", json::array(), 400, "not a map");
  bad("/api/studies/1/pause", json::object(), 400, "has ended");
  bad("/api/studies/9/pause", json::object(), 404, "no study");
  bad("/api/studies/1/explode", json::object(), 404, "nothing here");
  bad("/api/preview", {{"text", "study: x"}, {"name", "x"}}, 400, "x:1:1");
}

TEST_F(HttpTest, RefusesWhatItDoesNotKnow) {
  open();
  EXPECT_TRUE(body_of(get("/api"), 404).contains("error"));
  EXPECT_TRUE(body_of(get("/api/studies/nobody"), 404).contains("error"));
  EXPECT_TRUE(body_of(get("/api/studies?x=1"), 400).contains("error"));
  EXPECT_TRUE(body_of(get("/api/studies/1/trials?first=-1"), 400)
                .contains("error"));
  const auto posted = http("POST /api/studies HTTP/1.1\r\nHost: localhost\r\n"
                           "Connection: close\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(body_of(posted, 403).contains("error"));
  const auto put = http("PUT /api/studies HTTP/1.1\r\nHost: localhost\r\n"
                        + page_headers + "Content-Length: 0\r\n\r\n");
  EXPECT_TRUE(body_of(put, 405).contains("error"));
  EXPECT_NE(put.find("Allow: GET, HEAD, POST"), std::string::npos);
  EXPECT_TRUE(body_of(http("rubbish\r\n\r\n"), 501).contains("error"));
}

TEST_F(HttpTest, HeadIsAnsweredAsGetWithoutTheBody) {
  open();
  const auto head_of = [](const std::string& answer) {
    return answer.substr(0, answer.find("\r\n\r\n") + 4);
  };
  for (const std::string path :
       {"/", "/healthz", "/api/studies", "/api/studies/9", "/api/studies?x=1",
        "/api/me", "/nothing"}) {
    const auto answer = http("HEAD " + path
                             + " HTTP/1.1\r\nHost: localhost\r\n"
                               "Connection: close\r\n\r\n");
    EXPECT_EQ(answer, head_of(get(path))) << path;
  }
  const auto stream = http("HEAD /api/stream HTTP/1.1\r\nHost: localhost\r\n"
                           "Connection: close\r\n\r\n");
  EXPECT_TRUE(stream.starts_with("HTTP/1.1 200")) << stream;
  EXPECT_EQ(stream, head_of(stream));
}

TEST_F(HttpTest, WhatIsAskedForIsDecodedOnce) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  const auto studies = body_of(get("/api/studies"), 200);
  EXPECT_EQ(body_of(get("/api/studies/gri%64"), 200), studies[0]);
  EXPECT_EQ(body_of(get("/api/studies/1/curves?%6Detric=su%6D"), 200),
            body_of(get("/api/studies/1/curves?metric=sum"), 200));
  const std::string why
    = body_of(get("/api/studies/1/curves?metric=a%20b+c"), 400).at("error");
  EXPECT_NE(why.find("'a b c'"), std::string::npos) << why;
  for (const auto* path : {"/api/studies/%", "/api/studies/1/curves?metric=%f",
                           "/%00", "/api/studies?a=1&a=2"})
    EXPECT_TRUE(body_of(get(path), 400).contains("error")) << path;
}

TEST_F(HttpTest, WhatIsBeyondTheEndIsNoBeginning) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  for (const std::string far : {"9223372036854775807", "9223372036854775808",
                                "18446744073709551615"}) {
    EXPECT_EQ(body_of(get("/api/studies/1/trials?first=" + far), 200),
              json::array());
    const auto events
      = body_of(get("/api/studies/1/events?after=" + far), 200);
    EXPECT_EQ(events.at("events"), json::array());
    EXPECT_EQ(std::to_string(events.at("next").get<std::uint64_t>()), far);
    for (const auto* metric : {"", "&metric=sum"})
      EXPECT_EQ(body_of(get("/api/studies/1/curves?after=" + far + metric), 200)
                  .at("trial"),
                json::array());
    EXPECT_EQ(
      body_of(get("/api/studies/1/output?trial=0&from_step=" + far), 200)
        .at("text"),
      "");
    EXPECT_EQ(body_of(get("/api/studies/1/events?trial=" + far), 200)
                .at("events"),
              json::array());
  }
  EXPECT_TRUE(body_of(get("/api/studies/1/trials?first=18446744073709551616"),
                      400)
                .contains("error"));
}

TEST_F(HttpTest, AConnectionHasOneRequest) {
  open();
  const std::string one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::string all;
  for (int i = 0; i < 100; ++i)
    all += one;
  const auto answers = http(all);
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 200")) << answers;
  EXPECT_EQ(answers.find("HTTP/1.1", 1), std::string::npos) << answers;
}

TEST_F(HttpTest, HeadersAreAsLongAsIsSaid) {
  open();
  const auto asked_with = [&](std::size_t bytes) {
    return http("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: "
                "close\r\nX-Long: "
                + std::string(bytes, 'x') + "\r\n\r\n");
  };
  EXPECT_TRUE(asked_with(60 << 10).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(asked_with(130 << 10).find("HTTP/1.1 200"), std::string::npos);
  EXPECT_EQ(body_of(get("/healthz"), 200), (json{{"status", "ok"}}));
}

TEST_F(HttpTest, OneConnectionTooManyMayAskHowTheServiceDoes) {
  options.limits.http_connections = 1;
  open();
  raw_socket first{node->server().http_port()};
  first.send("GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  first.read_until("data: {}");
  EXPECT_EQ(body_of(get("/healthz"), 200), (json{{"status", "ok"}}));
  EXPECT_EQ(body_of(get("/api/studies"), 503),
            (json{{"error", "resource_exhausted: this port has as many "
                            "connections as it takes: try again later"}}));
}

TEST_F(HttpTest, WhoSendsHalfARequestMakesRoom) {
  options.limits.http_connections = 2;
  open();
  std::vector<std::unique_ptr<raw_socket>> halves;
  for (int i = 0; i < 20; ++i) {
    halves.push_back(std::make_unique<raw_socket>(node->server().http_port()));
    halves.back()->send("GET /healthz HTTP/1.1\r\n"); // and no more
  }
  EXPECT_EQ(body_of(get("/api/studies"), 200), json::array());
  // The oldest one was told.
  EXPECT_EQ(body_of(halves.front()->read_all(), 503).at("error"),
            "resource_exhausted: the port has as many connections as it takes, "
            "and this one made room for the next");
}

TEST_F(HttpTest, HalfARequestIsNotWaitedForForEver) {
  options.limits.beat = std::chrono::milliseconds{10};
  options.limits.times.greeting = {20, 1 << 20};
  options.limits.times.request = {20, 1 << 20};
  open();
  raw_socket head{node->server().http_port()};
  head.send("GET /healthz HTTP/1.1\r\n");
  raw_socket body{node->server().http_port()};
  body.send("POST /api/studies HTTP/1.1\r\nHost: localhost\r\n" + page_headers
            + "Content-Length: 100000\r\n\r\n{");
  EXPECT_TRUE(head.read_all().starts_with("HTTP/1.1 408"));
  EXPECT_TRUE(body.read_all().starts_with("HTTP/1.1 408"));
  EXPECT_EQ(options.held->root().held(), 0u);
}

TEST_F(HttpTest, HealthIsWhatAClientWouldFind) {
  open();
  auto me = enter();
  EXPECT_EQ(wait(submit(me, grid_text)), "COMPLETE");
  EXPECT_EQ(body_of(get("/healthz"), 200), (json{{"status", "ok"}}));
  const auto becomes = [&](int status) {
    for (;;) {
      const auto said = get("/healthz");
      if (said.substr(0, 12) == "HTTP/1.1 " + std::to_string(status))
        return body_of(said, status);
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  };
  run_sql(folder.path, "ALTER TABLE studies RENAME TO elsewhere");
  EXPECT_NE(becomes(503).at("error").get<std::string>().find(
              "reads of what is stored"),
            std::string::npos);
  run_sql(folder.path, "ALTER TABLE elsewhere RENAME TO studies");
  becomes(200);
}

} // namespace
} // namespace hippo::test
