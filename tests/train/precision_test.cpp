#include "hippo/train/torch/precision.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "hippo/train/torch/training.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

std::unique_ptr<laned_workload> make(const std::string& name,
                                     const std::string& precision,
                                     double lanes = 1) {
  EXPECT_TRUE(prepare_device(test_device()));
  auto spec = small_spec(name);
  spec.options["precision"] = precision;
  if (!name.starts_with("squad-"))
    spec.options["lanes"] = lanes;
  return make_lanes(spec, test_device());
}

/// Trains lane 0 for the given epochs.
void train(laned_workload& work, const std::string& name, step_t from,
           step_t to) {
  const auto config = default_configuration(name);
  for (auto step = from; step < to; ++step)
    work.train({{0, &config, step}});
}

double loss_of(laned_workload& work) {
  return work.evaluate({0}).front().at("val_loss");
}

} // namespace

class Precision : public testing::TestWithParam<const char*> {};

TEST_P(Precision, Bfloat16IsNearFloat32ButNotTheSame) {
  const auto exact = make(GetParam(), "float32"),
             coarse = make(GetParam(), "bfloat16");
  EXPECT_EQ(exact->save(0), coarse->save(0)) << "weights are float32";
  const auto before = loss_of(*exact);
  EXPECT_NEAR(loss_of(*coarse), before, 0.02 * before);
  EXPECT_NE(loss_of(*coarse), before);
  train(*exact, GetParam(), 0, 1);
  train(*coarse, GetParam(), 0, 1);
  EXPECT_NE(exact->save(0), coarse->save(0));
  EXPECT_NEAR(loss_of(*coarse), loss_of(*exact), 0.1 * before);
}

TEST_P(Precision, Bfloat16GoesOnExactly) {
  const auto straight = make(GetParam(), "bfloat16");
  train(*straight, GetParam(), 0, 2);
  std::string state;
  {
    const auto first = make(GetParam(), "bfloat16");
    train(*first, GetParam(), 0, 1);
    state = first->save(0);
  }
  const auto second = make(GetParam(), "bfloat16");
  second->load(0, state);
  train(*second, GetParam(), 1, 2);
  EXPECT_EQ(second->save(0), straight->save(0));
  EXPECT_EQ(second->evaluate({0}), straight->evaluate({0}));
}

TEST_P(Precision, OfGpusGoesOnExactly) {
  if (test_device() == "cpu")
    GTEST_SKIP() << "needs a GPU: HIPPO_TEST_DEVICE=cuda:0";
  for (const auto* name : {"tf32", "float16"}) {
    const auto straight = make(GetParam(), name);
    const auto before = loss_of(*straight);
    train(*straight, GetParam(), 0, 2);
    EXPECT_LT(loss_of(*straight), before) << name;
    const auto first = make(GetParam(), name), second = make(GetParam(), name);
    train(*first, GetParam(), 0, 1);
    second->load(0, first->save(0));
    train(*second, GetParam(), 1, 2);
    EXPECT_EQ(second->save(0), straight->save(0)) << name;
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

/// A lane in which all is NaN may reach no other, whatever kernels a device has
/// for networks side by side: those of tensor cores may compute zeros for parts
/// of which there are too few, and zero times NaN is NaN.
TEST(Precision, LanesDoNotCareForOthersThatDiverge) {
  std::vector<const char*> names{"float32", "bfloat16"};
  if (test_device() != "cpu")
    names.insert(names.end(), {"tf32", "float16"});
  constexpr auto* network = "fashion-cnn";
  const auto config = default_configuration(network);
  auto wild = config;
  wild["lr"] = form::constant(1e30);
  for (const auto* name : names) {
    const auto alone = make(network, name, 3),
               together = make(network, name, 3);
    train(*alone, network, 0, 2);
    together->train({{0, &wild, 5}, {1, &wild, 7}, {2, &config, 0}});
    EXPECT_FALSE(std::isfinite(together->evaluate({0}).front().at("val_loss")))
      << name;
    together->train({{0, &wild, 6}, {2, &config, 1}});
    EXPECT_EQ(together->save(2), alone->save(0)) << name;
    EXPECT_EQ(together->evaluate({2}), alone->evaluate({0})) << name;
  }
}

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
