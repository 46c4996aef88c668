// The promise for each lane: its state is a function of the spec and of its own
// values, bit for bit, whichever lane it is and whatever the others hold.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/training.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

constexpr std::size_t lanes = 4;

/// As few images as make three iterations of 24, the last one not full.
std::unique_ptr<laned_workload> make(const std::string& name,
                                     double count = lanes) {
  EXPECT_TRUE(prepare_device(test_device()));
  auto spec = small_spec(name, 65);
  if (name.starts_with("fashion-"))
    spec.options["data.validation"] = 60.0;
  else
    spec.options["data.train"] = 5.0;
  spec.options["lanes"] = count;
  return make_lanes(spec, test_device());
}

/// Values that no other `kind` of trial has at any step, the batch size aside.
configuration values(const std::string& name, std::size_t kind) {
  auto x = changing_configuration(name, kind);
  x["batch_size"] = form::constant(name.starts_with("fashion-") ? 24 : 3);
  return x;
}

/// A state in which every number is NaN that may be.
std::string diverged(const std::string& state) {
  auto tensors = tensors_from_bytes(state);
  for (auto& [name, x] : tensors)
    if (x.is_floating_point())
      x.fill_(std::numeric_limits<double>::quiet_NaN());
  return to_bytes(tensors);
}

/// What is known of a lane: its state and what it measures.
struct outcome {
  std::string state;
  std::map<std::string, std::string> measured; ///< as bits: NaN equals NaN
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome outcome_of(laned_workload& work, std::size_t lane) {
  outcome x{work.save(lane), {}};
  const auto measured = work.evaluate({lane});
  for (const auto& [name, value] : measured.front())
    x.measured[name] =
      std::string(reinterpret_cast<const char*>(&value), sizeof value);
  return x;
}

/// A step of a lane, with the values of a kind of trial.
struct lane_step {
  std::size_t lane;
  std::size_t kind;
  step_t step;
};

void train(laned_workload& work, const std::string& name,
           const std::vector<lane_step>& xs) {
  std::vector<configuration> configs;
  for (const auto& x : xs)
    configs.push_back(values(name, x.kind));
  std::vector<laned_workload::part> parts;
  for (std::size_t i = 0; i < xs.size(); ++i)
    parts.push_back({xs[i].lane, &configs[i], xs[i].step});
  work.train(parts);
}

/// What a trial of `kind` gives after two steps, alone in a lane.
outcome alone(const std::string& name, std::size_t kind, std::size_t lane) {
  const auto work = make(name);
  for (step_t step = 0; step < 2; ++step)
    train(*work, name, {{lane, kind, step}});
  return outcome_of(*work, lane);
}

} // namespace

class ImageLanes : public testing::TestWithParam<std::string> {
protected:
  const std::string name = GetParam();
};

TEST_P(ImageLanes, GiveTheSameWhereverTheyAreAndWhateverTheOthersDo) {
  // sgd, sgd with Nesterov, adamw and another adamw, each with other values.
  std::vector<outcome> expected;
  for (std::size_t kind = 0; kind < lanes; ++kind)
    expected.push_back(alone(name, kind, 1));
  for (std::size_t kind = 0; kind < lanes; ++kind)
    for (std::size_t other = 0; other < kind; ++other)
      EXPECT_FALSE(expected[kind] == expected[other]);
  // All together, in each order of the lanes that moves them on by some.
  for (std::size_t by = 0; by < lanes; ++by) {
    const auto work = make(name);
    for (step_t step = 0; step < 2; ++step) {
      std::vector<lane_step> xs;
      for (std::size_t kind = 0; kind < lanes; ++kind)
        xs.push_back({(kind + by) % lanes, kind, step});
      train(*work, name, xs);
    }
    for (std::size_t kind = 0; kind < lanes; ++kind)
      EXPECT_TRUE(outcome_of(*work, (kind + by) % lanes) == expected[kind])
        << "kind " << kind << " moved by " << by;
  }
}

TEST_P(ImageLanes, BesideOthersThatDivergeOrRestGiveTheSame) {
  const auto expected = alone(name, 2, 3);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const auto work = make(name);
    // One of the others trains NaN, one rests with it, one is as it was made.
    const auto busy = (lane + 1) % lanes, idle = (lane + 2) % lanes;
    train(*work, name, {{busy, 0, 0}, {idle, 3, 0}});
    work->load(busy, diverged(work->save(busy)));
    work->load(idle, diverged(work->save(idle)));
    train(*work, name, {{busy, 0, 1}, {lane, 2, 0}});
    train(*work, name, {{lane, 2, 1}});
    EXPECT_TRUE(outcome_of(*work, lane) == expected) << "lane " << lane;
  }
}

TEST_P(ImageLanes, MayBeAtDifferentSteps) {
  const auto work = make(name);
  train(*work, name, {{0, 1, 0}});
  train(*work, name, {{2, 3, 0}, {0, 1, 1}});
  train(*work, name, {{2, 3, 1}});
  EXPECT_TRUE(outcome_of(*work, 0) == alone(name, 1, 0));
  EXPECT_TRUE(outcome_of(*work, 2) == alone(name, 3, 0));
}

TEST_P(ImageLanes, ThatRestKeepTheirBits) {
  const auto work = make(name);
  train(*work, name, {{0, 0, 0}, {1, 3, 0}, {2, 2, 0}});
  work->load(2, diverged(work->save(2)));
  std::vector<outcome> before;
  for (std::size_t i = 0; i < lanes; ++i)
    before.push_back(outcome_of(*work, i));
  train(*work, name, {{0, 2, 1}});
  for (std::size_t i = 1; i < lanes; ++i)
    EXPECT_TRUE(outcome_of(*work, i) == before[i]) << "lane " << i;
  EXPECT_FALSE(outcome_of(*work, 0) == before[0]);
}

TEST_P(ImageLanes, GoOnInOtherLanesAfterASave) {
  const auto one = make(name);
  train(*one, name, {{0, 0, 0}, {3, 2, 0}});
  const auto other = make(name);
  train(*other, name, {{0, 3, 0}, {1, 1, 0}, {2, 0, 0}});
  other->load(2, one->save(3));
  other->load(1, one->save(0));
  train(*other, name, {{0, 3, 1}, {1, 0, 1}, {2, 2, 1}});
  EXPECT_TRUE(outcome_of(*other, 2) == alone(name, 2, 0));
  EXPECT_TRUE(outcome_of(*other, 1) == alone(name, 0, 0));
}

TEST_P(ImageLanes, GoOnInOtherLanesFromWhatIsKept) {
  const auto work = make(name);
  train(*work, name, {{0, 0, 0}, {1, 3, 0}, {3, 2, 0}});
  const auto first = work->snapshot(0), last = work->snapshot(3);
  const auto bytes = work->save(3);
  train(*work, name, {{0, 3, 1}, {1, 1, 1}, {2, 0, 0}, {3, 3, 1}});
  const auto other = outcome_of(*work, 1);
  work->restore(2, *last);
  work->restore(3, *first);
  EXPECT_TRUE(work->save(2) == bytes);
  EXPECT_TRUE(last->bytes() == bytes);
  EXPECT_TRUE(outcome_of(*work, 1) == other);
  train(*work, name, {{2, 2, 1}, {3, 0, 1}});
  EXPECT_TRUE(outcome_of(*work, 2) == alone(name, 2, 0));
  EXPECT_TRUE(outcome_of(*work, 3) == alone(name, 0, 0));
  EXPECT_TRUE(outcome_of(*work, 1) == other);
}

TEST_P(ImageLanes, MeasureAsAskedFor) {
  const auto work = make(name);
  train(*work, name, {{0, 0, 0}, {2, 2, 0}});
  const auto together = work->evaluate({2, 0});
  ASSERT_EQ(together.size(), 2);
  EXPECT_EQ(together[0], work->evaluate({2}).front());
  EXPECT_EQ(together[1], work->evaluate({0}).front());
  EXPECT_NE(together[0], together[1]);
}

TEST_P(ImageLanes, AreCloseToOneAlone) {
  const auto work = make(name), single = make(name, 1);
  train(*work, name, {{1, 0, 0}, {3, 2, 0}});
  for (const auto& [lane, kind] : {std::pair{1, 0}, std::pair{3, 2}}) {
    single->init(0);
    train(*single, name, {{0, static_cast<std::size_t>(kind), 0}});
    const auto ours =
      tensors_from_bytes(work->save(static_cast<std::size_t>(lane)));
    const auto theirs = tensors_from_bytes(single->save(0));
    ASSERT_EQ(ours.size(), theirs.size());
    // Lanes are other products of matrices, so rounding differs, and with it
    // now and then which pixel of a pool is the largest. That moves single
    // numbers of a tensor by any amount, the whole of it hardly.
    constexpr double share_max = 0.05;
    for (const auto& [key, x] : theirs)
      EXPECT_LE((ours.at(key) - x).to(at::kDouble).norm().item<double>(),
                share_max * x.to(at::kDouble).norm().item<double>())
        << key;
  }
}

TEST_P(ImageLanes, AreSavedAndExportedAsIfAlone) {
  const temporary_folder folder;
  const auto work = make(name), single = make(name, 1);
  EXPECT_TRUE(work->save(3) == single->save(0));
  train(*work, name, {{1, 0, 0}, {3, 2, 0}});
  const auto state = work->save(3);
  single->load(0, state);
  EXPECT_TRUE(single->save(0) == state);
  work->export_weights(3, folder.path + "/lane.pt");
  single->export_weights(0, folder.path + "/alone.pt");
  EXPECT_TRUE(read_file(folder.path + "/lane.pt")
              == read_file(folder.path + "/alone.pt"));
}

INSTANTIATE_TEST_SUITE_P(Workloads, ImageLanes,
                         testing::Values("fashion-mlp", "fashion-cnn"),
                         [](const auto& x) { return x.param.substr(8); });

class LargeImageLanes : public testing::TestWithParam<std::string> {};

TEST_P(LargeImageLanes, GiveTheSameWhereverTheyAre) {
  // All that is tested above of the smaller ones, in few steps.
  const auto& name = GetParam();
  const auto one = make(name);
  train(*one, name, {{1, 2, 0}});
  const auto expected = outcome_of(*one, 1);
  const auto other = make(name);
  train(*other, name, {{0, 1, 0}, {3, 0, 0}});
  other->load(0, diverged(other->save(0)));
  const auto rested = outcome_of(*other, 3);
  train(*other, name, {{0, 1, 1}, {2, 2, 0}});
  EXPECT_TRUE(outcome_of(*other, 2) == expected);
  EXPECT_TRUE(outcome_of(*other, 3) == rested);
}

INSTANTIATE_TEST_SUITE_P(Workloads, LargeImageLanes,
                         testing::Values("fashion-resnet", "cifar-resnet20",
                                         "cifar-wrn16-4", "cifar-mobilenetv2"),
                         [](const auto& x) {
                           auto name = x.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ImageLanesOf, KnowHowMuchThereIsToComputeForOneOfThem) {
  const auto mlp = make("fashion-mlp")->size();
  const double weights = 784 * 128 + 128 * 128 + 128 * 10;
  EXPECT_EQ(mlp.operations, 3 * 2 * weights);
  EXPECT_EQ(mlp.parameters, weights + 128 + 128 + 10);
  EXPECT_EQ(mlp.samples, 65);
  const auto cnn = make("fashion-cnn", 1)->size();
  EXPECT_EQ(cnn.operations,
            3 * 2
              * (9. * 16 * 28 * 28 + 9. * 16 * 32 * 14 * 14 + 1568 * 10));
  // He et al. (2016) count 40.8 million multiplications for 32 x 32 pixels.
  const auto resnet = make("fashion-resnet", 1)->size();
  EXPECT_NEAR(resnet.operations / 6, 40.8e6 * 28 * 28 / (32 * 32), 1e6);
}

TEST(ImageLanesOf, EqualBatchSizesFit) {
  const auto work = make("fashion-mlp");
  auto one = values("fashion-mlp", 0), other = values("fashion-mlp", 2);
  EXPECT_TRUE(work->fit({0, &one, 0}, {1, &other, 4}));
  other["batch_size"] = form::constant(25);
  EXPECT_FALSE(work->fit({0, &one, 0}, {1, &other, 4}));
  EXPECT_NO_THROW(work->check({1, &other, 4}));
  other["batch_size"] = form::constant(66);
  EXPECT_THROW(work->check({1, &other, 4}), std::invalid_argument);
}

TEST(ImageLanesOf, SpecsWithoutTheOptionAreOne) {
  auto spec = small_spec("fashion-mlp");
  spec.options.erase("lanes");
  EXPECT_EQ(make_lanes(spec, test_device())->lanes(), 1);
}

TEST(ImageLanesOf, TheRegistryAreAllThere) {
  auto spec = small_spec("fashion-mlp");
  spec.options["lanes"] = 3.0;
  EXPECT_EQ(make_built_in(spec)->take_other_lanes().size(), 2);
}

} // namespace hippo
