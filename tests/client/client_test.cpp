#include <algorithm>
#include <future>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client/fake_service.hpp"
#include "hippo/net/client/client.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using std::string;

const string grid = "study: grid\n";
const string mine = "study: mine\nalgorithm: client\n";

class ClientTest : public testing::Test {
protected:
  client connected(client_options options = {}) {
    auto x = client::connect(service->address(), std::move(options));
    EXPECT_TRUE(x) << x.failure().message;
    return *x;
  }

  /// Submits a study and returns its handle.
  study_handle submitted(client& x, const string& text) {
    auto study = x.submit(text, "x.yaml");
    EXPECT_TRUE(study) << study.failure().message;
    auto handle = x.study(std::to_string(study->id));
    EXPECT_TRUE(handle) << handle.failure().message;
    return *handle;
  }

  /// Ends the service and starts another on the same port and model.
  void restart() {
    const auto port = service->port();
    service.reset();
    service = std::make_unique<fake_service>(model, port);
  }

  int calls(const string& method) {
    const std::lock_guard lock{model.mutex};
    return model.calls[method];
  }

  void cut(const string& method, int times = 1) {
    const std::lock_guard lock{model.mutex};
    model.cuts[method] = times;
  }

  fake_model model;
  std::unique_ptr<fake_service> service
    = std::make_unique<fake_service>(model);
};

TEST_F(ClientTest, SaysWhoIsAtTheOtherEnd) {
  const auto x = connected();
  EXPECT_EQ(x.service().version, "0.1.0");
  EXPECT_EQ(x.service().state, "/somewhere/state");
}

TEST_F(ClientTest, RefusesWhatIsNoAddress) {
  for (const string bad : {"", "localhost", "localhost:", ":4849",
                           "localhost:0", "localhost:65536", "localhost:48a",
                           "localhost:-1"}) {
    const auto x = client::connect(bad);
    ASSERT_FALSE(x) << bad;
    EXPECT_EQ(x.failure().code, errc::invalid_argument);
    EXPECT_NE(x.failure().message.find("'" + bad + "' is not HOST:PORT: "),
              string::npos)
      << x.failure().message;
  }
}

TEST_F(ClientTest, SaysThatNobodyAnswers) {
  const auto address = service->address();
  service.reset();
  const auto x = client::connect(address);
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().code, errc::io_failed);
  EXPECT_EQ(x.failure().message,
            "cannot connect to a service at " + address
              + ": Connection refused; start one with: hippo serve --state "
                "DIR");
}

TEST_F(ClientTest, SaysThatTheServiceRefusesIt) {
  model.failures["greet"]
    = "incompatible_version: this service speaks version 9";
  const auto x = client::connect(service->address());
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().code, errc::incompatible_version);
  EXPECT_EQ(x.failure().message, "this service speaks version 9");
}

TEST_F(ClientTest, SaysThatAnOlderServiceIsToBeUpgraded) {
  model.failures["greet"]
    = "incompatible_version: this service speaks version 1 and the client "
      "version 2: use the same release of both"; // as one of version 1 says it
  const auto x = client::connect(service->address());
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().code, errc::incompatible_version);
  EXPECT_EQ(x.failure().message,
            "this service speaks version 1 and the client version 2: upgrade "
            "the service to the client's release (stop it, install that, and "
            "run hippo serve again)");
}

TEST_F(ClientTest, GivesErrorsVerbatim) {
  auto x = connected();
  const auto study = x.study("mnits");
  ASSERT_FALSE(study);
  EXPECT_EQ(study.failure().code, errc::unknown_study);
  EXPECT_EQ(study.failure().message,
            "no study 'mnits', did you mean 'mnist'?");
  const auto bad = x.submit("nothing", "x.yaml");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.failure().code, errc::invalid_study);
  EXPECT_EQ(bad.failure().message,
            "x.yaml:1:1: study: is missing\nx.yaml:2:1: space: is missing");
  // A code of a newer service, and a text with no code.
  model.failures["list"] = "tired: come back later";
  EXPECT_EQ(x.studies().failure().code, errc::io_failed);
  EXPECT_EQ(x.studies().failure().message, "tired: come back later");
}

TEST_F(ClientTest, SubmitsAndDescribes) {
  auto x = connected();
  const auto done = x.submit(grid, "x.yaml");
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, 1u);
  EXPECT_EQ(done->warnings, std::vector<string>{"x.yaml:1:1: is a fake"});
  EXPECT_EQ(done->notes,
            std::vector<string>{"x.yaml:2:1: grid, as it is a fake"});
  auto study = *x.study("grid");
  EXPECT_EQ(study.id(), 1u);
  const auto known = study.describe();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->text, grid);
  EXPECT_EQ(known->view.name, "grid");
  EXPECT_EQ(known->view.direction, direction::maximize);
  EXPECT_FALSE(known->view.best);
  EXPECT_EQ(study.best().failure().message,
            "study 'grid' has no result yet");
}

TEST_F(ClientTest, WaitsAndShowsProgress) {
  auto x = connected();
  auto study = submitted(x, grid);
  std::vector<std::uint64_t> finished;
  const auto end = study.wait([&](const study_view& now) {
    finished.push_back(now.finished);
    return true;
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(finished, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(end->state, "COMPLETE");
  EXPECT_TRUE(has_ended(*end));
  ASSERT_TRUE(end->best);
  EXPECT_EQ(end->best->trial, 2u);
  const auto best = study.best();
  ASSERT_TRUE(best);
  EXPECT_EQ(best->trial, 2u);
  EXPECT_EQ(best->params, R"({"lr": 0.3, "batch_size": 64})");
  ASSERT_TRUE(best->best);
  EXPECT_EQ(best->best->step, 2u);
}

TEST_F(ClientTest, WaitsNoLongerThanIsWanted) {
  auto x = connected();
  auto study = submitted(x, "study: slow\n");
  int looks = 0;
  const auto now = study.wait([&](const study_view&) {
    return ++looks < 3;
  });
  ASSERT_TRUE(now);
  EXPECT_EQ(now->state, "RUNNING");
  EXPECT_EQ(looks, 3);
}

TEST_F(ClientTest, ReadsTrialsPageByPage) {
  auto x = connected();
  auto study = submitted(x, mine);
  {
    const std::lock_guard lock{model.mutex};
    for (std::uint64_t i = 0; i < 2000; ++i) {
      trial_view trial;
      trial.trial = i;
      model.studies[0].trials.push_back(trial);
    }
  }
  for (const std::uint64_t first : {0, 1, 999, 1000, 1999, 2000}) {
    const auto all = study.trials(first);
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 2000 - first);
    for (std::size_t i = 0; i < all->size(); ++i)
      ASSERT_EQ((*all)[i].trial, first + i);
  }
}

/// Returns the ids of the events that a study tells of.
std::vector<std::uint64_t>
follow(study_handle& study,
       const std::function<void(const event_view&)>& also = {}) {
  std::vector<std::uint64_t> ids;
  const auto why = study.follow(0, [&](const event_view& x) {
    ids.push_back(x.id);
    if (also)
      also(x);
    return true;
  });
  EXPECT_FALSE(why) << why->message;
  return ids;
}

const std::vector<std::uint64_t> all_ids{10, 20, 30, 40, 50, 60};

TEST_F(ClientTest, FollowsEvents) {
  auto x = connected();
  auto study = submitted(x, grid);
  EXPECT_EQ(follow(study, [](const event_view& y) {
              ASSERT_TRUE(y.measured);
              EXPECT_EQ(y.measured->count("val_accuracy"), 1u);
              EXPECT_FALSE(y.failure || y.command || y.chosen);
            }),
            all_ids);
  std::vector<std::uint64_t> some;
  EXPECT_FALSE(study.follow(20, [&](const event_view& y) {
    some.push_back(y.id);
    return y.id < 40;
  }));
  EXPECT_EQ(some, (std::vector<std::uint64_t>{30, 40}));
}

TEST_F(ClientTest, FollowsEventsThroughRestarts) {
  auto x = connected();
  auto study = submitted(x, grid);
  cut("events", 2);
  EXPECT_EQ(follow(study,
                   [&](const event_view& y) {
                     if (y.id == 40)
                       restart();
                   }),
            all_ids);
  EXPECT_GE(calls("greet"), 4);
}

TEST_F(ClientTest, RepeatsReadsWhenTheConnectionIsLost) {
  auto x = connected();
  auto study = submitted(x, grid);
  for (const string method :
       {"list", "trainers", "demand", "describe", "trials", "wait", "preview",
        "logs", "pause", "resume", "setWeight", "best", "export"}) {
    const auto before = calls(method);
    cut(method);
    if (method == "list") {
      EXPECT_EQ(x.studies()->size(), 1u);
    } else if (method == "trainers") {
      EXPECT_TRUE(x.trainers());
    } else if (method == "demand") {
      const auto demand = x.demand();
      ASSERT_TRUE(demand);
      EXPECT_EQ(demand->work.at(0).waiting, 2u);
      EXPECT_EQ(demand->connected.at(0).idle_seconds, 2.5);
    } else if (method == "describe") {
      EXPECT_TRUE(study.describe());
    } else if (method == "trials") {
      EXPECT_EQ(study.trials()->size(), 3u);
    } else if (method == "wait") {
      EXPECT_TRUE(study.wait());
    } else if (method == "preview") {
      EXPECT_TRUE(x.preview(grid, "x.yaml"));
    } else if (method == "logs") {
      EXPECT_TRUE(x.logs(0));
    } else if (method == "pause") {
      EXPECT_FALSE(study.pause());
    } else if (method == "resume") {
      EXPECT_FALSE(study.resume());
    } else if (method == "setWeight") {
      EXPECT_FALSE(study.set_weight(2));
    } else if (method == "best") {
      EXPECT_TRUE(study.best());
    } else {
      const auto text = study.export_json(); // in two parts
      EXPECT_TRUE(text && text->starts_with('{') && text->ends_with('}'));
    }
    EXPECT_GE(calls(method), before + 2) << method;
  }
}

TEST_F(ClientTest, DoesNotRepeatWhatMayBeDone) {
  auto x = connected();
  auto study = submitted(x, mine);
  const auto is_left_open = [this](const error& why) {
    EXPECT_EQ(why.code, errc::io_failed);
    EXPECT_EQ(why.message,
              "lost the connection to " + service->address()
                + " on the way: it may or may not have been carried out");
  };
  cut("submit");
  is_left_open(x.submit(grid, "x.yaml").failure());
  cut("steer");
  is_left_open(study.extend({3, 0, 0}).failure());
  cut("steer");
  is_left_open(study.enqueue("trials: [{lr: 0.1}]").failure());
  cut("steer");
  is_left_open(study.tell_past("results: []").failure());
  EXPECT_EQ(calls("submit"), 2);
  EXPECT_EQ(x.studies()->size(), 2u);
  cut("ask");
  is_left_open(study.ask().failure());
  EXPECT_EQ(calls("ask"), 1);
  cut("tell");
  const auto why = study.tell(0);
  ASSERT_TRUE(why);
  is_left_open(*why);
  EXPECT_EQ(calls("tell"), 1);
}

TEST_F(ClientTest, SubmitsOverANewConnection) {
  // Nothing was on its way, so that nothing is in doubt.
  auto x = connected();
  for (int i = 0; i < 3; ++i) {
    cut("list");
    EXPECT_TRUE(x.studies());
    EXPECT_TRUE(x.submit(grid, "x.yaml"));
  }
  EXPECT_EQ(calls("submit"), 3);
}

TEST_F(ClientTest, GivesUpInTheEnd) {
  client_options options;
  options.reconnect_for = 300ms;
  auto x = connected(options);
  auto study = submitted(x, grid);
  const auto address = service->address();
  service.reset();
  const auto expected_text = "lost the connection to " + address
                             + " and tried in vain for 0.3 s to make it "
                               "again: Connection refused";
  EXPECT_EQ(x.studies().failure().message, expected_text);
  EXPECT_EQ(study.ask().failure().message, expected_text);
  study.start(0, 1);
  EXPECT_EQ(study.next().failure().message, expected_text);
}

TEST_F(ClientTest, GivesUpWhereEveryConnectionIsCut) {
  client_options options;
  options.reconnect_for = 300ms;
  auto x = connected(options);
  cut("list", 1'000'000);
  EXPECT_EQ(x.studies().failure().code, errc::io_failed);
}

TEST_F(ClientTest, AsksTrainsAndTells) {
  auto x = connected();
  auto study = submitted(x, mine);
  const auto drawn = study.ask();
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->trial, 0u);
  EXPECT_EQ(drawn->params, R"({"lr": 0.25})");
  const auto given = study.ask(R"({"lr": 0.5})");
  ASSERT_TRUE(given);
  EXPECT_EQ(given->trial, 1u);
  EXPECT_EQ(given->params, R"({"lr": 0.5})");
  const auto trained = study.train(1, 3);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->trial, 1u);
  EXPECT_EQ(trained->state, trial_state::paused);
  EXPECT_EQ(trained->step, 3u);
  EXPECT_EQ(trained->metrics.at("val_accuracy"), 0.5 + 0.1 + 0.03);
  EXPECT_EQ(study.train(7, 1).failure().message, "there is no trial 7");
  trial_outcome outcome;
  outcome.state = trial_state::pruned;
  outcome.value = 0.625;
  outcome.step = 3;
  EXPECT_FALSE(study.tell(1, outcome));
  const auto all = study.trials();
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[1].state, trial_state::pruned);
  EXPECT_EQ((*all)[1].best->value, 0.625);
  EXPECT_FALSE(study.close());
  EXPECT_EQ(study.describe()->view.state, "COMPLETE");
}

TEST_F(ClientTest, KeepsTrialsInFlight) {
  auto x = connected();
  auto study = submitted(x, mine);
  EXPECT_EQ(study.next().failure().code, errc::invalid_argument);
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(study.ask());
    study.start(static_cast<std::uint64_t>(i), 2);
  }
  study.start(99, 2);
  std::set<std::uint64_t> there;
  int failures = 0;
  for (int i = 0; i < 9; ++i) {
    const auto answer = study.next();
    if (answer)
      there.insert(answer->trial);
    else
      ++failures;
  }
  EXPECT_EQ(there.size(), 8u);
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(study.next().failure().message,
            "no trial is in flight: start one first");
}

TEST_F(ClientTest, TrainsThroughARestart) {
  auto x = connected();
  auto study = submitted(x, mine);
  ASSERT_TRUE(study.ask());
  ASSERT_TRUE(study.ask());
  {
    const std::lock_guard lock{model.mutex};
    model.trains = false;
  }
  study.start(0, 4);
  auto other = std::async(std::launch::async,
                          [&] { return study.train(1, 5); });
  while (calls("train") < 2)
    std::this_thread::yield();
  restart();
  {
    const std::lock_guard lock{model.mutex};
    model.trains = true;
  }
  const auto first = study.next();
  ASSERT_TRUE(first) << first.failure().message;
  EXPECT_EQ(first->step, 4u);
  const auto second = other.get();
  ASSERT_TRUE(second) << second.failure().message;
  EXPECT_EQ(second->step, 5u);
  EXPECT_EQ(calls("train"), 4);
}

TEST_F(ClientTest, ServesSeveralThreads) {
  auto x = connected();
  auto study = submitted(x, mine);
  std::vector<std::future<std::set<std::uint64_t>>> threads;
  for (int i = 0; i < 4; ++i)
    threads.push_back(std::async(std::launch::async, [study]() mutable {
      std::set<std::uint64_t> mine_of;
      for (int j = 0; j < 25; ++j)
        mine_of.insert(study.ask()->trial);
      return mine_of;
    }));
  std::set<std::uint64_t> all;
  for (auto& thread : threads)
    all.merge(thread.get());
  EXPECT_EQ(all.size(), 100u);
}

TEST_F(ClientTest, LivesAsLongAsAHandle) {
  auto x = std::make_optional(connected());
  auto study = submitted(*x, grid);
  x.reset();
  EXPECT_TRUE(study.describe());
  // And goes with trials in flight.
  {
    const std::lock_guard lock{model.mutex};
    model.trains = false;
  }
  study.start(0, 1);
}

TEST_F(ClientTest, RefusesCredentialsThatCannotBeRead) {
  client_options options;
  options.credentials = "/nowhere/me.pem";
  const auto x = client::connect(service->address(), options);
  ASSERT_FALSE(x);
  EXPECT_NE(x.failure().message.find("/nowhere/me.pem"), string::npos);
}

} // namespace
} // namespace hippo
