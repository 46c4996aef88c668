#include "hippo/process/process_workload.hpp"

#include <signal.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include <gtest/gtest.h>

#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

struct ProcessTest : testing::Test {
  temporary_folder folder;

  process_options options() {
    process_options result;
    result.command = {SUM_PROCESS};
    result.log = folder.path + "/log";
    return result;
  }

  std::unique_ptr<workload> make(std::map<std::string, scalar> args = {}) {
    return make_process_workload(options(), 5, std::move(args));
  }

  [[nodiscard]] std::string log() const {
    std::ifstream in{folder.path + "/log"};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  /// Returns what a call fails with.
  template <class F>
  std::string failure_of(F f) {
    try {
      f();
    } catch (const std::exception& why) {
      return why.what();
    }
    return {};
  }
};

configuration lr(form x) { return {{"lr", std::move(x)}}; }

TEST_F(ProcessTest, TrainsWithTheValuesOfEachStep) {
  const auto work = make({{"scale", 2.0}});
  work->init();
  form falling = form::constant(1);
  falling.kind = form_kind::exponential;
  falling.a = {1, 0.5};
  work->train(lr(falling), 0, 3);
  work->train(lr(form::constant(0.25)), 3, 5);
  EXPECT_EQ(work->evaluate(),
            (metrics{{"total", 2 * (1 + 0.5 + 0.25 + 0.25 + 0.25)}}));
  EXPECT_EQ(log(), "seed 5 on cpu\n");
}

TEST_F(ProcessTest, AnotherProcessGoesOnFromWhatOneHasSaved) {
  const auto first = make();
  first->init();
  first->train(lr(form::constant(0.1)), 0, 3);
  const auto state = first->save();
  const auto other = make();
  other->init();
  other->train(lr(form::constant(7)), 0, 1);
  other->load(state);
  EXPECT_EQ(other->save(), state);
  first->train(lr(form::constant(0.3)), 3, 6);
  other->train(lr(form::constant(0.3)), 3, 6);
  EXPECT_EQ(first->evaluate(), other->evaluate());
}

TEST_F(ProcessTest, WhatItSaysIsTheErrorAndItLivesOn) {
  const auto work = make();
  work->init();
  EXPECT_EQ(failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); }),
            "a negative rate\nin the third line");
  work->init();
  EXPECT_EQ(work->evaluate().at("total"), 0);
}

TEST_F(ProcessTest, ACrashIsToldFromAnExitAndItIsStartedAgain) {
  for (const auto& [trouble, said] : std::map<std::string, std::string>{
         {"crash", "ended with signal 11"},
         {"exit", "ended with exit code 7"},
         {"number", "answered what it was not asked"}}) {
    const auto work = make({{"trouble", trouble}});
    work->init();
    const auto why
      = failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); });
    EXPECT_NE(why.find(said), std::string::npos) << why;
    EXPECT_NE(failure_of([&] { work->evaluate(); }).find("has ended"),
              std::string::npos);
    work->init();
    work->train(lr(form::constant(1)), 0, 1);
    EXPECT_EQ(work->evaluate().at("total"), 1);
  }
}

TEST_F(ProcessTest, ASilentOneIsKilled) {
  auto x = options();
  x.silence_max = 1s;
  const auto work = make_process_workload(x, 1, {{"trouble", "hang"}});
  work->init();
  const auto why
    = failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); });
  EXPECT_NE(why.find("said nothing for 1 s and was killed"), std::string::npos)
    << why;
}

TEST_F(ProcessTest, WhatItHasStartedEndsWithIt) {
  make({{"trouble", "child"}});
  const auto said = log();
  std::smatch found;
  ASSERT_TRUE(std::regex_search(said, found, std::regex{"child (\\d+)"}));
  const auto child = std::stoi(found[1]);
  for (int i = 0; i < 500 && ::kill(child, 0) == 0; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_NE(::kill(child, 0), 0);
}

TEST_F(ProcessTest, WhatCannotBeStartedIsTold) {
  auto x = options();
  x.command = {"/no/such/program"};
  EXPECT_NE(failure_of([&] { make_process_workload(x, 1, {}); })
              .find("cannot start /no/such/program"),
            std::string::npos);
  x = options();
  x.command.emplace_back("--silent");
  EXPECT_NE(failure_of([&] { make_process_workload(x, 1, {}); })
              .find("ended with exit code 3"),
            std::string::npos);
}

} // namespace
} // namespace hippo
