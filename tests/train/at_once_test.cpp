// The promise for workloads that train at once on one device: the state of each
// is a function of its spec and values, bit for bit, whatever the others hold,
// are, and do.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "hippo/train/torch/tensor_file.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

constexpr step_t last = 3;

/// As few images as make three iterations of 24, or of 3 for what is larger,
/// the last one not full.
workload_spec spec_of(const std::string& name,
                      const std::string& precision = "float32") {
  auto spec = small_spec(name, 65);
  if (name.starts_with("fashion-"))
    spec.options["data.validation"] = 60.0;
  else
    spec.options["data.train"] = name.starts_with("squad-") ? 8.0 : 5.0;
  spec.options["precision"] = precision;
  return spec;
}

/// Values that no other one of six kinds of trial has at any step.
configuration values(const std::string& name, std::size_t kind,
                     double batch_size) {
  auto x = changing_configuration(name, kind % 6);
  x["batch_size"] = form::constant(batch_size);
  return x;
}

/// A trial, and what is known of it in the end.
struct trial {
  std::string name;
  std::size_t kind = 0;
  double batch_size = 3;
  std::string precision = "float32";
};

struct outcome {
  std::string state;
  std::map<std::string, std::string> measured; ///< as bits: NaN equals NaN
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome outcome_of(workload& work) {
  outcome x{work.save(), {}};
  for (const auto& [name, value] : work.evaluate())
    x.measured[name] =
      std::string(reinterpret_cast<const char*>(&value), sizeof value);
  return x;
}

std::unique_ptr<workload> make(const trial& x) {
  return make_built_in(spec_of(x.name, x.precision));
}

/// Trains it, with a state kept, left and taken up again on the way.
outcome train(const trial& x, workload& work) {
  const auto config = values(x.name, x.kind, x.batch_size);
  work.init();
  work.train(config, 0, last - 1);
  const auto kept = work.snapshot();
  work.train(config, last - 1, last);
  work.evaluate();
  work.restore(*kept);
  work.train(config, last - 1, last);
  return outcome_of(work);
}

outcome alone(const trial& x) {
  return train(x, *make(x));
}

/// Trains all at once, each on a thread of its own.
std::vector<outcome> at_once(const std::vector<trial>& xs) {
  std::vector<outcome> result(xs.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < xs.size(); ++i)
    threads.emplace_back([&, i] { result[i] = alone(xs[i]); });
  for (auto& x : threads)
    x.join();
  return result;
}

/// A state in which every number is NaN that may be.
std::string diverged(const std::string& state) {
  auto tensors = tensors_from_bytes(state);
  for (auto& [name, x] : tensors)
    if (x.is_floating_point())
      x.fill_(std::numeric_limits<double>::quiet_NaN());
  return to_bytes(tensors);
}

bool is_gpu() { return test_device() != "cpu"; }

} // namespace

class AtOnce : public testing::TestWithParam<std::string> {
protected:
  const std::string name = GetParam();
};

TEST_P(AtOnce, EachGivesWhatItGivesAlone) {
  std::vector<trial> all;
  const auto batch = name.starts_with("fashion-") ? 24.0 : 3.0;
  for (std::size_t kind = 0; kind < (is_gpu() ? 8 : 4); ++kind)
    all.push_back({name, kind, kind % 3 == 2 ? batch - 1 : batch});
  std::vector<outcome> expected;
  for (const auto& x : all)
    expected.push_back(alone(x));
  EXPECT_FALSE(expected[0] == expected[1]);
  const auto found = at_once(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(found[i] == expected[i]) << i;
}

TEST_P(AtOnce, BesideOthersThatDivergeEachGivesTheSame) {
  const trial x{name, 2, 3};
  const auto expected = alone(x);
  const auto wild = make({name, 0, 3});
  wild->init();
  wild->load(diverged(wild->save()));
  std::atomic<bool> ends = false;
  std::thread other{[&] {
    const auto config = values(name, 0, 3);
    for (step_t step = 0; !ends; ++step)
      wild->train(config, step, step + 1);
    EXPECT_TRUE(std::isnan(wild->evaluate().at("val_loss")));
  }};
  const auto found = alone(x);
  ends = true;
  other.join();
  EXPECT_TRUE(found == expected);
}

TEST_P(AtOnce, AStateOfOneIsGoneOnFromByAnother) {
  const auto one = make({name, 0, 3}), other = make({name, 1, 3});
  const auto config = values(name, 1, 3);
  one->init();
  one->train(config, 0, 1);
  const auto bytes = one->save();
  std::shared_ptr<const workload_state> kept = one->snapshot();
  other->init();
  other->train(values(name, 3, 3), 0, 2);
  std::thread ahead{[&] { one->train(config, 1, last); }};
  other->restore(*kept);
  kept.reset(); // what is restored is read from then on
  EXPECT_TRUE(other->save() == bytes);
  other->train(config, 1, last);
  ahead.join();
  EXPECT_TRUE(outcome_of(*other) == outcome_of(*one));
}

INSTANTIATE_TEST_SUITE_P(Workloads, AtOnce,
                         testing::Values("fashion-mlp", "fashion-cnn",
                                         "cifar-resnet20", "squad-bert-tiny"),
                         [](const auto& x) {
                           auto name = x.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(AtOnceOf, OtherWorkloadsAndPrecisionsGiveTheSame) {
  std::vector<trial> all{{"fashion-mlp", 1, 24},
                         {"fashion-cnn", 0, 20, "bfloat16"},
                         {"cifar-resnet20", 2, 3},
                         {"squad-bert-tiny", 3, 3},
                         {"squad-bert-tiny", 1, 2, "bfloat16"},
                         {"cifar-wrn16-4", 1, 3}};
  if (is_gpu())
    all.insert(all.end(), {{"cifar-resnet20", 2, 3, "tf32"},
                           {"cifar-resnet20", 2, 4, "float16"},
                           {"cifar-mobilenetv2", 0, 3},
                           {"cifar-resnet56", 1, 5, "bfloat16"}});
  std::vector<outcome> expected;
  for (const auto& x : all)
    expected.push_back(alone(x));
  for (int round = 0; round < (is_gpu() ? 3 : 1); ++round) {
    const auto found = at_once(all);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(found[i] == expected[i]) << all[i].name << ' ' << round;
  }
}

TEST(AtOnceOf, DataAreReadOnce) {
  const auto one = make({"cifar-resnet20", 0, 3});
  auto spec = spec_of("cifar-resnet20");
  spec.options["data.train"] = 7.0;
  EXPECT_EQ(make_built_in(spec)->size().samples, 7);
  EXPECT_EQ(make({"cifar-resnet20", 0, 3})->size().samples, 5);
}

} // namespace hippo
