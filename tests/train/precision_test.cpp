#include "hippo/train/torch/precision.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "hippo/train/torch/training.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

std::unique_ptr<workload> make(const std::string& name,
                               const std::string& precision) {
  auto spec = small_spec(name);
  spec.options["precision"] = precision;
  EXPECT_TRUE(prepare_device(test_device(), 1, test_numerics()));
  return make_built_in_workload(spec, test_device(), {});
}

/// Trains for the given epochs.
void train(workload& work, const std::string& name, step_t from, step_t to) {
  auto config = default_configuration(name);
  config["batch_size"] = form::constant(8);
  // With so few images a step, the usual rate throws the weights about, so that
  // the way to round decides the loss.
  config["lr"] = form::constant(0.1 * std::get<double>(config["lr"].at(0)));
  work.train(config, from, to);
}

double loss_of(workload& work) {
  return work.evaluate().at("val_loss");
}

} // namespace

class Precision : public testing::TestWithParam<const char*> {};

TEST_P(Precision, Bfloat16IsNearFloat32ButNotTheSame) {
  const auto exact = make(GetParam(), "float32"),
             coarse = make(GetParam(), "bfloat16");
  EXPECT_EQ(exact->save(), coarse->save()) << "weights are float32";
  const auto before = loss_of(*exact);
  EXPECT_NEAR(loss_of(*coarse), before, 0.02 * before);
  EXPECT_NE(loss_of(*coarse), before);
  train(*exact, GetParam(), 0, 1);
  train(*coarse, GetParam(), 0, 1);
  EXPECT_NE(exact->save(), coarse->save());
  EXPECT_NEAR(loss_of(*coarse), loss_of(*exact), 0.1 * before);
}

TEST_P(Precision, Bfloat16GoesOnExactly) {
  const auto straight = make(GetParam(), "bfloat16");
  train(*straight, GetParam(), 0, 2);
  std::string state;
  {
    const auto first = make(GetParam(), "bfloat16");
    train(*first, GetParam(), 0, 1);
    state = first->save();
  }
  const auto second = make(GetParam(), "bfloat16");
  second->load(state);
  train(*second, GetParam(), 1, 2);
  EXPECT_EQ(second->save(), straight->save());
  EXPECT_EQ(second->evaluate(), straight->evaluate());
}

TEST_P(Precision, OfGpusGoesOnExactly) {
  if (test_device() == "cpu")
    GTEST_SKIP() << "needs a GPU: HIPPO_TEST_DEVICE=cuda:0";
  for (const auto* name : {"tf32", "float16"}) {
    const auto straight = make(GetParam(), name);
    const auto before = straight->save();
    train(*straight, GetParam(), 0, 2);
    EXPECT_NE(straight->save(), before) << name;
    EXPECT_TRUE(std::isfinite(loss_of(*straight))) << name;
    const auto first = make(GetParam(), name), second = make(GetParam(), name);
    train(*first, GetParam(), 0, 1);
    second->load(first->save());
    train(*second, GetParam(), 1, 2);
    EXPECT_EQ(second->save(), straight->save()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, Precision,
                         testing::Values("fashion-mlp", "fashion-cnn",
                                         "cifar-resnet20", "squad-bert-tiny"),
                         [](const auto& x) {
                           std::string name = x.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Precision, OnACpu) {
  if (test_device() != "cpu")
    GTEST_SKIP() << "of the CPU";
  EXPECT_EQ(loss_of(*make("fashion-mlp", "tf32")),
            loss_of(*make("fashion-mlp", "float32")));
  try {
    make("fashion-mlp", "float16");
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(
      e.what(),
      "precision: float16 needs a GPU: give bfloat16 or float32");
  }
}

TEST(Tf32, OneSettingAtATimeAndEverybodyGetsATurn) {
  std::atomic<int> wrong{0}, turns{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, wanted = i % 3 == 0] {
      for (int turn = 0; turn < 200; ++turn) {
        const tf32_scope scope{wanted ? precision::tf32 : precision::float32};
        for (int look = 0; look < 10; ++look)
          wrong += at::globalContext().allowTF32CuBLAS() != wanted;
        ++turns;
      }
    });
  for (auto& x : threads)
    x.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(turns, 1200);
  const tf32_scope last{precision::float32};
  EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
}

} // namespace hippo
