// The promise: a state is a function of the spec and the values before it, bit
// for bit, wherever it was cut and whichever process went on.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "train/temporary_folder.hpp"
#include "train/test_name.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

constexpr step_t last = 6;

/// The states after each step of the changing trial, trained in one go.
std::vector<std::string> uncut_states(const std::string& name, step_t end) {
  const auto work = make_built_in(small_spec(name));
  work->init();
  std::vector<std::string> result{work->save()};
  for (step_t step = 0; step < end; ++step) {
    train_changing(*work, name, step, step + 1);
    result.push_back(work->save());
  }
  return result;
}

} // namespace

class Resume : public testing::TestWithParam<std::string> {};

TEST_P(Resume, CutAnywhereGivesTheSameBitsHereAndInAnotherProcess) {
  const auto states = uncut_states(GetParam(), last);
  // Two steps each, the first loaded by a process that has trained nothing:
  // within sgd, at sgd -> adamw, within adamw, at adamw -> sgd, and all the
  // way back to before the first step.
  constexpr step_t length = 2;
  const temporary_folder folder;
  std::vector<std::string> words{"--go-on", GetParam(), folder.path,
                                 std::to_string(length)};
  for (auto cut = last - length + 1; cut-- > 0;) {
    words.push_back(std::to_string(cut));
    write_file(folder.path + '/' + words.back(), states[cut]);
  }
  ASSERT_TRUE(run_again(words));
  for (step_t cut = 0; cut + length <= last; ++cut)
    EXPECT_TRUE(read_file(folder.path + "/after" + std::to_string(cut))
                == states[cut + length])
      << "cut at " << cut;
  // Here at each step.
  auto state = states.front();
  for (step_t step = 0; step < last; ++step) {
    const auto work = make_built_in(small_spec(GetParam()));
    work->load(state);
    EXPECT_TRUE(work->save() == state) << "loaded at " << step;
    train_changing(*work, GetParam(), step, step + 1);
    state = work->save();
    EXPECT_TRUE(state == states[step + 1]) << "trained from " << step;
  }
}

TEST_P(Resume, NothingElseTouchesTheState) {
  const auto states = uncut_states(GetParam(), 3);
  // Used before, evaluated at every step, and trained on another thread.
  const auto work = make_built_in(small_spec(GetParam()));
  train_changing(*work, GetParam(), 0, 2);
  std::thread{[&] {
    work->init();
    EXPECT_TRUE(work->save() == states[0]);
    const auto before = work->evaluate();
    EXPECT_EQ(work->evaluate(), before);
    for (step_t step = 0; step < 3; ++step) {
      train_changing(*work, GetParam(), step, step + 1);
      const auto measured = work->evaluate();
      EXPECT_TRUE(work->save() == states[step + 1]) << step;
      const auto other = make_built_in(small_spec(GetParam()));
      other->load(states[step + 1]);
      EXPECT_EQ(other->evaluate(), measured) << step;
    }
  }}.join();
}

TEST_P(Resume, StepsDifferThoughValuesDoNot) {
  // Order, augmentation and dropout must depend on the step: the same step
  // trained twice is not two steps.
  const auto config = changing_configuration(GetParam(), 1);
  const auto work = make_built_in(small_spec(GetParam()));
  work->train(config, 0, 1);
  const auto first = work->save();
  work->train(config, 1, 2);
  const auto second = work->save();
  work->load(first);
  work->train(config, 0, 1);
  EXPECT_FALSE(work->save() == second);
}

TEST_P(Resume, TheSeedChangesTheResult) {
  auto spec = small_spec(GetParam());
  const auto one = make_built_in(spec);
  spec.options["seed"] = 2.0;
  const auto two = make_built_in(spec);
  EXPECT_FALSE(one->save() == two->save());
  // Not only by the initial weights.
  two->load(one->save());
  train_changing(*one, GetParam(), 0, 1);
  train_changing(*two, GetParam(), 0, 1);
  EXPECT_FALSE(one->save() == two->save());
}

TEST(ResumeThreads, AreAlikeFromTheirFirstProductOn) {
  // MKL would compute these small ones otherwise with more threads.
  auto config = default_configuration("fashion-mlp");
  config["batch_size"] = form::constant(6);
  const auto here = make_built_in(small_spec("fashion-mlp"));
  const auto there = make_built_in(small_spec("fashion-mlp"));
  for (auto* x : {here.get(), there.get()})
    x->train(config, 0, 1); // which makes the moments
  here->train(config, 1, 2);
  std::thread{[&] { there->train(config, 1, 2); }}.join();
  EXPECT_TRUE(here->save() == there->save());
  std::optional<metrics> measured;
  std::thread{[&] { measured = there->evaluate(); }}.join();
  EXPECT_EQ(measured, here->evaluate());
}

class ResumeLarge : public testing::TestWithParam<std::string> {};

TEST_P(ResumeLarge, InAnotherProcessGivesTheSameBits) {
  // Across the change from sgd to adamw.
  const temporary_folder folder;
  const auto work = make_built_in(small_spec(GetParam()));
  train_changing(*work, GetParam(), 0, 1);
  write_file(folder.path + "/1", work->save());
  train_changing(*work, GetParam(), 1, 3);
  ASSERT_TRUE(run_again({"--go-on", GetParam(), folder.path, "2", "1"}));
  EXPECT_TRUE(read_file(folder.path + "/after1") == work->save());
}

INSTANTIATE_TEST_SUITE_P(
  Workloads, ResumeLarge,
  testing::Values("cifar-resnet20", "cifar-wrn16-4", "cifar-mobilenetv2",
                  "fashion-mlp-wide", "fashion-linear", "fashion-cyclic",
                  "clicks-dlrm", "graph-sage-full", "fashion-resnet/elastic",
                  "cifar-mobilenetv2/average", "squad-bert-tiny/bmuf"),
  [](const auto& x) {
    auto name = x.param.substr(x.param.find('-') + 1);
    for (const char mark : {'-', '/'})
      std::erase(name, mark);
    return name;
  });

INSTANTIATE_TEST_SUITE_P(Workloads, Resume,
                         testing::Values("fashion-mlp", "fashion-cnn",
                                         "fashion-cnn/average",
                                         "fashion-mlp/elastic",
                                         "fashion-cnn/bmuf", "fashion-resnet",
                                         "squad-bert-tiny", "graph-sage"),
                         [](const auto& x) { return test_name_of(x.param); });

} // namespace hippo
