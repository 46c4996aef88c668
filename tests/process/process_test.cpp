#include "hippo/train/process/process_workload.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <thread>

#include <gtest/gtest.h>

#include "hippo/model/lease.hpp"
#include "hippo/train/process/captured_file.hpp"
#include "hippo/train/process/exchange_folder.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

struct ProcessTest : testing::Test {
  process_options options() {
    process_options result;
    result.command = {SUM_PROCESS};
    return result;
  }

  std::unique_ptr<workload> make(std::map<std::string, scalar> args = {}) {
    auto result = make_process_workload(options(), {5, std::move(args), {}});
    result->prepare();
    return result;
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
  EXPECT_EQ(work->take_output(), "seed 5 on cpu\n");
  EXPECT_EQ(work->take_output(), "");
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
            "in step 0: a negative rate\nin the third line");
  work->init();
  EXPECT_EQ(work->evaluate().at("total"), 0);
}

TEST_F(ProcessTest, ACrashIsToldFromAnExitAndItIsStartedAgain) {
  for (const auto& [trouble, said] : std::map<std::string, std::string>{
         {"crash", "in step 0: the workload's process ended with signal 6"},
         {"exit", "in step 0: the workload's process ended with exit code 7"},
         {"number", "in step 0: the workload's process answered what it was "
                    "not asked"}}) {
    const auto work = make({{"trouble", trouble}});
    work->init();
    const auto why
      = failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); });
    EXPECT_NE(why.find(said), std::string::npos) << why;
    EXPECT_NE(failure_of([&] { work->evaluate(); }).find("has ended"),
              std::string::npos);
    work->prepare();
    work->init();
    work->train(lr(form::constant(1)), 0, 1);
    EXPECT_EQ(work->evaluate().at("total"), 1);
  }
}

TEST_F(ProcessTest, ASilentOneIsKilled) {
  auto x = options();
  x.silence_max = 1s;
  const auto work
    = make_process_workload(x, {1, {{"trouble", std::string{"hang"}}}, {}});
  work->prepare();
  work->init();
  const auto why
    = failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); });
  EXPECT_NE(why.find("said nothing for 1 s and was killed"), std::string::npos)
    << why;
}

/// Waits until a process that is no child of this one has ended.
bool ends(pid_t id) {
  for (int i = 0; i < 1000 && ::kill(id, 0) == 0; ++i)
    std::this_thread::sleep_for(10ms);
  return ::kill(id, 0) != 0;
}

/// Returns the number that follows a word.
pid_t number_after(const std::string& word, const std::string& text) {
  std::smatch found;
  return std::regex_search(text, found, std::regex{word + " (\\d+)"})
           ? std::stoi(found[1])
           : 0;
}

TEST_F(ProcessTest, WhatItHasStartedEndsWithIt) {
  auto work = make({{"trouble", "child"}});
  const auto child = number_after("child", work->take_output());
  ASSERT_GT(child, 0);
  work.reset();
  EXPECT_TRUE(ends(child));
}

TEST_F(ProcessTest, ItsEndIsSeenThoughAChildHoldsItsOutputAndSocket) {
  const auto work = make({{"trouble", "heir"}});
  work->init();
  const auto why
    = failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); });
  EXPECT_NE(why.find("ended with exit code 9"), std::string::npos) << why;
  const auto child = number_after("child", work->take_output());
  ASSERT_GT(child, 0);
  EXPECT_TRUE(ends(child));
}

TEST_F(ProcessTest, HalfAnAnswerIsNotWaitedForWhateverIsPrinted) {
  for (const auto& [trouble, said] : std::map<std::string, std::string>{
         {"half", "did not end an answer for 0.5 s and was killed"},
         {"byte", "did not end an answer for 0.5 s and was killed"},
         {"huge", "sent an answer of more than 67108864 bytes"},
         {"segments", "sent an answer of more than 67108864 bytes"},
         {"garbage", "damaged"}}) {
    auto x = options();
    x.silence_max = 500ms;
    const auto work = make_process_workload(x, {1, {{"trouble", trouble}}, {}});
    work->prepare();
    work->init();
    const auto why
      = failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); });
    EXPECT_NE(why.find(said), std::string::npos) << trouble << ": " << why;
    EXPECT_NE(failure_of([&] { work->evaluate(); }).find("has ended"),
              std::string::npos);
  }
}

TEST_F(ProcessTest, WhoDoesNotReadARequestIsNotWaitedFor) {
  auto x = options();
  x.silence_max = 500ms;
  const auto work
    = make_process_workload(x, {1, {{"trouble", std::string{"deaf"}}}, {}});
  work->prepare();
  work->init();
  form falling = form::constant(1);
  falling.kind = form_kind::exponential;
  falling.a = {1, 0.5};
  const auto why = failure_of([&] { work->train(lr(falling), 0, 300'000); });
  EXPECT_NE(why.find("did not read a request for 0.5 s and was killed"),
            std::string::npos)
    << why;
}

TEST_F(ProcessTest, NothingEscapesIntoASessionOfItsOwn) {
  auto work = make({{"trouble", std::string{"daemon"}}});
  const auto daemon = number_after("daemon", work->take_output());
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(::kill(daemon, 0), 0);
  work.reset();
  EXPECT_TRUE(ends(daemon));
}

TEST_F(ProcessTest, NothingOutlivesATrainerThatIsKilled) {
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const auto trainer = ::fork();
  if (trainer == 0) {
    const auto work = make({{"trouble", std::string{"daemon"}}});
    const pid_t ids[]
      = {number_after("daemon", work->take_output()), ::getpid()};
    if (::write(told[1], ids, sizeof ids) > 0)
      failure_of([&] { // it is in the midst of a step
        work->init();
        work->train(lr(form::constant(1)), 0, 1);
      });
    for (;;)
      ::pause();
  }
  pid_t ids[2] = {0, 0};
  ASSERT_EQ(::read(told[0], ids, sizeof ids),
            static_cast<ssize_t>(sizeof ids));
  EXPECT_EQ(::kill(ids[0], 0), 0);
  ::kill(trainer, SIGKILL);
  ::waitpid(trainer, nullptr, 0);
  EXPECT_TRUE(ends(ids[0]));
  ::close(told[0]);
  ::close(told[1]);
}

struct ReuseTest : ProcessTest {
  /// A workload that names the process that trains it.
  struct introduced {
    std::unique_ptr<workload> work;
    std::string said;
    pid_t process = 0;
  };

  introduced make_again(const std::string& code = "a",
                        const std::string& trouble = "who",
                        const std::string& option = "--renew") {
    auto x = options();
    x.command.push_back(option);
    x.folder = folder.path();
    introduced result;
    result.work =
      make_process_workload(x, {5, {{"trouble", trouble}}, {}}, {idle, code});
    result.work->prepare();
    result.said = result.work->take_output();
    result.process = number_after("process", result.said);
    return result;
  }

  /// The process of a workload that is gone by now.
  template <class... Ts>
  pid_t gone(const Ts&... xs) {
    return make_again(xs...).process;
  }

  scratch_folder folder = make_exchange_folder();
  std::shared_ptr<idle_processes> idle = std::make_shared<idle_processes>();
};

TEST_F(ReuseTest, AProcessGoesOnWithTheNextWorkloadOfItsCode) {
  write_exchanged(folder.file("train.py"), "");
  auto first = make_again();
  ASSERT_GT(first.process, 0);
  first.work->init();
  first.work->train(lr(form::constant(2)), 0, 3);
  const auto state = first.work->save();
  first.work.reset();
  const auto second = make_again();
  EXPECT_EQ(second.process, first.process);
  // Neither a file nor a word is left, and its folder has kept its name.
  EXPECT_EQ(second.said, first.said);
  EXPECT_EQ(second.said.find(folder.path()), std::string::npos);
  second.work->init();
  EXPECT_EQ(second.work->evaluate().at("total"), 0);
  second.work->load(state);
  EXPECT_EQ(second.work->evaluate().at("total"), 6);
  // One that trains is nobody else's.
  EXPECT_NE(make_again().process, second.process);
}

TEST_F(ReuseTest, ItsFolderHasTheFilesOfTheNextOne) {
  write_exchanged(folder.file("train.py"), "");
  auto first = make_again();
  const auto place = first.said.substr(first.said.find(" in ") + 4);
  const auto file = place.substr(0, place.find('\n')) + "/train.py";
  write_exchanged(file, "changed");
  first.work.reset();
  EXPECT_FALSE(std::filesystem::exists(file));
  const auto second = make_again();
  EXPECT_EQ(second.process, first.process);
  EXPECT_EQ(read_exchanged(file, 10), "");
}

TEST_F(ReuseTest, OnlyOfTheSameCodeAndIfItCan) {
  const auto first = gone("a");
  EXPECT_NE(gone("b"), first);
  EXPECT_EQ(gone("a"), first);
  EXPECT_NE(gone("c", "who", "--once"), gone("c", "who", "--once"));
  EXPECT_NE(gone("d", "leaves"), gone("d", "leaves"));
}

TEST_F(ReuseTest, OneThatHasEndedMeanwhileIsReplaced) {
  const auto first = gone();
  ::kill(first, SIGKILL);
  ASSERT_TRUE(ends(first));
  auto next = make_again();
  EXPECT_NE(next.process, first);
  next.work->init();
}

TEST_F(ReuseTest, OfTooManyTheFirstIsEnded) {
  const auto first = gone("0");
  const auto second = gone("1");
  for (const auto* code : {"2", "3"})
    gone(code);
  EXPECT_EQ(::kill(first, 0), 0);
  gone("4");
  EXPECT_TRUE(ends(first));
  EXPECT_EQ(gone("1"), second);
}

TEST_F(ReuseTest, TheyEndWithWhatKeepsThem) {
  const auto first = gone();
  EXPECT_EQ(::kill(first, 0), 0);
  idle.reset();
  EXPECT_TRUE(ends(first));
}

TEST_F(ProcessTest, ALargeStateIsWrittenWhileTrainingGoesOn) {
  const auto work = make({{"large", 1.0}});
  work->init();
  work->train(lr(form::constant(1)), 0, 3);
  const auto first = work->snapshot()->bytes();
  const auto captured = work->snapshot();
  EXPECT_GE(captured->content_size(), 16u << 20); // as the first one was
  work->train(lr(form::constant(1)), 3, 4);
  const auto later = work->snapshot();
  work->train(lr(form::constant(1)), 4, 5);
  EXPECT_EQ(captured->bytes(), first);
  EXPECT_EQ(captured->bytes(), first); // as often as is wanted
  EXPECT_EQ(captured->content()->size(), first.size());
  work->load(later->bytes());
  EXPECT_EQ(work->evaluate().at("total"), 4);
}

TEST_F(ProcessTest, AStateThatCouldNotBeWrittenAsideIsTold) {
  for (const auto& [trouble, said] : std::map<std::string, std::string>{
         {"full", "no space is left"},
         {"dies aside",
          "the workload's process ended before the state was written"}}) {
    const auto work = make({{"large", 1.0}, {"trouble", trouble}});
    work->init();
    const auto first = work->save();
    const auto captured = work->snapshot();
    EXPECT_EQ(failure_of([&] { captured->bytes(); }), said);
    EXPECT_EQ(failure_of([&] { captured->content(); }), said);
    // From now on it writes before it goes on.
    EXPECT_EQ(work->snapshot()->bytes(), first);
  }
}

TEST_F(ProcessTest, AStateThatItsEndCutsShortIsTold) {
  auto work = make({{"large", 1.0}});
  work->init();
  work->save();
  const auto captured = work->snapshot();
  work.reset();
  EXPECT_EQ(failure_of([&] { captured->bytes(); }),
            "the workload's process ended before the state was written");
}

TEST_F(ProcessTest, ACapturedFileThatNobodyWritesIsNotWaitedFor) {
  const auto folder = make_exchange_folder();
  const captured_file file{folder.file("state"), 50ms};
  const int lock = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  EXPECT_NE(failure_of([&] {
              static_cast<void>(file.wait(100));
            }).find("has written nothing to a state's file for 0.05 s"),
            std::string::npos);
  ::close(lock);
}

TEST_F(ProcessTest, OfMuchOutputTheEndIsKept) {
  const auto work = make({{"trouble", "chatter"}});
  work->init();
  EXPECT_EQ(failure_of([&] { work->train(lr(form::constant(-1)), 0, 1); }),
            "in step 0: a negative rate\nin the third line");
  const auto said = work->take_output();
  EXPECT_LE(said.size(), output_bytes_max);
  EXPECT_GT(said.size(), output_bytes_max - 200);
  EXPECT_NE(said.find("bytes are left out]\n"), std::string::npos);
  EXPECT_TRUE(said.ends_with("line 99999\n")) << said.substr(said.size() - 99);
}

TEST_F(ProcessTest, OtherVersionsAreRefused) {
  for (const auto& [version, why] : std::map<std::string, std::string>{
         {"1.0", ""}, {"2.0", "this trainer has summing 1.0, the study was made "
                              "for summing 2.0"}}) {
    const auto work
      = make_process_workload(options(), {1, {}, {{"summing", version}}});
    const auto said = failure_of([&] { work->prepare(); });
    EXPECT_EQ(said.substr(0, why.size()), why);
    EXPECT_EQ(said.empty(), why.empty());
  }
}

TEST_F(ProcessTest, WhoCannotMeasureAMeanIsNotAskedTo) {
  const auto work = make_process_workload(
    options(), {.args = {}, .versions = {}, .average = {5, 200}});
  EXPECT_NE(failure_of([&] {
              work->prepare();
            }).find("cannot measure the mean of weights (objective.average)"),
            std::string::npos);
}

TEST_F(ProcessTest, WhoCannotCompareHasItsBytesCompared) {
  const auto work = make();
  work->init();
  const auto zero = work->save();
  work->train(lr(form::constant(1)), 0, 1);
  EXPECT_EQ(work->differences(zero, zero), std::vector<std::string>{});
  EXPECT_EQ(work->differences(zero, work->save()).size(), 1);
}

TEST_F(ProcessTest, WhatCannotBeStartedIsTold) {
  auto x = options();
  x.command = {"/no/such/program"};
  EXPECT_NE(failure_of([&] { make_process_workload(x, {}); })
              .find("cannot start /no/such/program"),
            std::string::npos);
  x = options();
  x.command.emplace_back("--silent");
  const auto work = make_process_workload(x, {});
  EXPECT_NE(failure_of([&] { work->prepare(); }).find("ended with exit code 3"),
            std::string::npos);
  // It is tried again, and said again.
  EXPECT_NE(failure_of([&] { work->prepare(); }).find("ended with exit code 3"),
            std::string::npos);
}

TEST(OutputTail, KeepsTextAndNothingElse) {
  output_tail x;
  x.add("a\xff\xfe" "b");
  x.add(std::string_view{"\0\xc3\xa9", 3});
  EXPECT_EQ(x.take(), "a??b?\xc3\xa9");
  EXPECT_EQ(x.take(), "");
}

TEST(OutputTail, CutsBetweenCharacters) {
  output_tail x;
  for (std::size_t i = 0; i < 2 * output_bytes_max; ++i)
    x.add("\xc3\xa9");
  const auto said = x.take();
  EXPECT_LE(said.size(), output_bytes_max);
  EXPECT_EQ(said.find('?'), said.npos);
}

} // namespace
} // namespace hippo
