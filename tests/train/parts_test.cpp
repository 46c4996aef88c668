// Batches in parts: what they add up to, and that it makes no difference how
// many members compute them.

#include <gtest/gtest.h>

#include <torch/types.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "hippo/model/averaging.hpp"
#include "hippo/train/thread_gang.hpp"
#include "hippo/train/torch/part_sum.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "train/message_of.hpp"
#include "train/test_name.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

workload_spec spec_of(const std::string& name, double parts,
                      double images = 0) {
  auto spec = small_spec(name, images);
  spec.options["parts"] = parts;
  return spec;
}

/// Without anything random but the order.
configuration plain_configuration(const std::string& name, double batch_size) {
  auto result = default_configuration(name);
  result["batch_size"] = form::constant(batch_size);
  for (const auto* off : {"dropout", "crop", "flip", "weight_decay"})
    if (result.contains(off))
      result[off] = form::constant(0);
  return result;
}

tensor_map trained(const workload_spec& spec, const configuration& config,
                   std::size_t members = 1) {
  const auto work = make_built_in(spec, members);
  work->train(config, 0, 1);
  return tensors_from_bytes(work->save());
}

/// The largest difference of elements.
double distance(const at::Tensor& x, const at::Tensor& y) {
  return (x - y).abs().max().item<double>();
}

// -- the parts of an epoch ----------------------------------------------------

TEST(EpochParts, AreEvenRangesOfBatches) {
  for (const std::int64_t parts : {1, 2, 8})
    for (const std::int64_t members : {1, 2, 8}) {
      if (members > parts)
        continue;
      std::set<std::int64_t> seen;
      std::set<std::uint64_t> addresses;
      for (std::int64_t rank = 0; rank < members; ++rank) {
        const auto count = parts / members;
        const epoch_parts mine{61, 20, {parts, rank * count, count}};
        EXPECT_EQ(mine.iterations(), 4);
        ASSERT_EQ(mine.size(), 4 * count);
        for (std::int64_t i = 0; i < mine.size(); ++i) {
          const auto x = mine.at(i);
          EXPECT_EQ(x.iteration, i / count);
          EXPECT_EQ(x.number, rank * count + i % count);
          EXPECT_EQ(x.batch, x.iteration == 3 ? 1 : 20);
          EXPECT_GE(x.size, x.batch / parts);
          EXPECT_LE(x.size, (x.batch + parts - 1) / parts);
          EXPECT_TRUE(addresses.insert(x.address).second);
          for (auto k = x.first; k < x.first + x.size; ++k) {
            EXPECT_TRUE(seen.insert(k).second);
            EXPECT_EQ(k / 20, x.iteration);
          }
        }
      }
      EXPECT_EQ(seen.size(), 61);
      EXPECT_EQ(*seen.rbegin(), 60);
    }
  // Numbers of before there were parts.
  EXPECT_EQ((epoch_parts{100, 10, {}}.at(7).address), 7);
}

// -- their sum ----------------------------------------------------------------

/// Gradients, statistics and a loss of each part, summed up by members.
struct summing {
  explicit summing(const own_parts& own)
    : weight(at::zeros({5}).set_requires_grad(true)),
      statistic(at::full({3}, 4.0)), values({weight, statistic}),
      sum(values, 1, own) {}

  at::Tensor weight, statistic;
  tensor_piece values;
  part_sum sum;
};

at::Tensor gradient_of(std::int64_t part) {
  return at::full({5}, 1.0 / static_cast<double>(part + 3));
}

TEST(PartSum, IsATreeForEveryNumberOfMembers) {
  constexpr std::int64_t parts = 8;
  const auto pair = [](std::int64_t i) {
    return gradient_of(i) + gradient_of(i + 1);
  };
  const auto expected = (pair(0) + pair(2)) + (pair(4) + pair(6));
  auto one_by_one = gradient_of(0);
  for (std::int64_t i = 1; i < parts; ++i)
    one_by_one = one_by_one + gradient_of(i);
  ASSERT_FALSE(expected.equal(one_by_one)) << "the order makes no difference";
  for (const std::size_t members : {1, 2, 4, 8}) {
    thread_gang gang{members};
    std::vector<double> losses(members);
    gang.run([&](std::size_t rank) {
      const auto count = parts / static_cast<std::int64_t>(members);
      const auto first = static_cast<std::int64_t>(rank) * count;
      summing x{{parts, first, count}};
      for (int iteration = 0; iteration < 2; ++iteration) {
        x.statistic.fill_(4.0);
        x.sum.begin();
        for (auto i = first; i < first + count; ++i) {
          x.sum.reset();
          // Each part is to find the statistics of before the iteration.
          const at::NoGradGuard no_grad;
          x.statistic.add_(static_cast<double>(i));
          x.weight.mutable_grad() = gradient_of(i);
          x.sum.take(at::scalar_tensor(static_cast<double>(10 * i)));
          EXPECT_FALSE(x.weight.grad().defined());
          x.sum.add(i);
        }
        if (members > 1) {
          x.sum.read();
          x.sum.share(gang.member(rank));
          x.sum.write();
        }
        losses[rank] = x.sum.put().item<double>();
        EXPECT_TRUE(x.weight.grad().equal(expected)) << members;
        EXPECT_TRUE(x.statistic.equal(at::full({3}, 4 + 3.5))) << x.statistic;
      }
    });
    EXPECT_EQ(losses, std::vector(members, 280.0));
  }
}

TEST(PartSum, APartWithoutExamplesChangesNothing) {
  summing x{{2, 0, 2}};
  x.sum.begin();
  x.sum.reset();
  const at::NoGradGuard no_grad;
  x.statistic.fill_(6.0);
  x.weight.mutable_grad() = gradient_of(1);
  x.sum.take(at::scalar_tensor(5.0));
  x.sum.add(0);
  x.sum.take_nothing();
  x.sum.add(1);
  EXPECT_EQ(x.sum.put().item<double>(), 5);
  EXPECT_TRUE(x.weight.grad().equal(gradient_of(1)));
  EXPECT_TRUE(x.statistic.equal(at::full({3}, 5.0)));
}

// -- what they train ----------------------------------------------------------

TEST(Parts, OneIsTheWholeBatchAsItEverWas) {
  const auto* name = "fashion-cnn";
  const auto whole = make_built_in(small_spec(name));
  auto spec = small_spec(name);
  spec.options.erase("parts");
  const auto without = make_built_in(spec);
  for (auto* x : {whole.get(), without.get()})
    train_changing(*x, name, 0, 2);
  EXPECT_TRUE(whole->save() == without->save());
}

TEST(Parts, GradientsAddUpToThoseOfTheBatch) {
  // Without normalisation parts are the same but for rounding, also those of
  // different sizes, and empty ones: the last batch has 2 images.
  const auto config = plain_configuration("fashion-mlp", 30);
  for (const double images : {60, 62}) {
    const auto whole = trained(spec_of("fashion-mlp", 1, images), config);
    const auto before = make_built_in(spec_of("fashion-mlp", 1, images));
    const auto initial = tensors_from_bytes(before->save());
    for (const double parts : {2, 8, 16}) {
      const auto x = trained(spec_of("fashion-mlp", parts, images), config);
      EXPECT_NEAR(x.at("train_loss").item<double>(),
                  whole.at("train_loss").item<double>(), 1e-5);
      for (const auto& [tensor, values] : whole) {
        if (!tensor.starts_with("model."))
          continue;
        const auto change = distance(values, initial.at(tensor));
        EXPECT_GT(change, 1e-6) << tensor;
        EXPECT_LT(distance(values, x.at(tensor)), 1e-4 * change)
          << tensor << " of " << parts << " parts";
      }
    }
  }
}

TEST(Parts, EachHasStatisticsOfItsOwn) {
  // An iteration that leaves the weights: statistics of the first
  // normalisation are those of equal activations.
  auto config = plain_configuration("fashion-cnn", 64);
  config["lr"] = form::constant(0);
  const auto whole = trained(spec_of("fashion-cnn", 1, 64), config);
  const auto halves = trained(spec_of("fashion-cnn", 2, 64), config);
  const auto parts = trained(spec_of("fashion-cnn", 8, 64), config);
  std::size_t count = 0;
  for (const auto& [name, x] : whole)
    if (name.ends_with(".running_mean") && count++ == 0) {
      // A mean of means; after one iteration each is a tenth of the batch's.
      EXPECT_LT(distance(x, parts.at(name)), 1e-6);
      EXPECT_GT(x.abs().max().item<double>(), 1e-3);
      // Variances lack those between the parts.
      const auto variance =
        name.substr(0, name.size() - std::string{"mean"}.size()) + "var";
      const auto sum = [&](const tensor_map& of) {
        return of.at(variance).sum().item<double>();
      };
      EXPECT_NE(sum(whole), sum(halves));
      EXPECT_NE(sum(halves), sum(parts));
      EXPECT_LT(distance(whole.at(variance), parts.at(variance)), 0.05);
    }
  EXPECT_GT(count, 0);
}

TEST(Parts, EachHasMasksOfItsOwn) {
  // Of one image each. If all had one mask, half of the features would have no
  // gradient in the last layer.
  auto config = plain_configuration("fashion-mlp", 64);
  config["dropout"] = form::constant(0.5);
  config["subnetworks_at_once"] = form::constant(64);
  const auto spec = spec_of("fashion-mlp", 64, 64);
  const auto before = tensors_from_bytes(make_built_in(spec)->save());
  for (const double subnetworks : {0, 64}) {
    config["subnetworks"] = form::constant(subnetworks);
    int same = 0;
    for (const auto& [name, x] : trained(spec, config))
      if (name.starts_with("model.") && x.dim() == 2 && x.size(0) == 10)
        for (std::int64_t i = 0; i < x.size(1); ++i)
          same += x.select(1, i).equal(before.at(name).select(1, i)) ? 1 : 0;
    EXPECT_LT(same, 32) << subnetworks << " subnetworks";
  }
}

TEST(Parts, AreRefusedWhereABatchIsSmaller) {
  const auto spec = spec_of("fashion-mlp", 8);
  for (const std::size_t members : {1, 2}) {
    const auto work = make_built_in(spec, members);
    const auto state = work->save();
    EXPECT_EQ(message_of<std::invalid_argument>([&] {
                work->train(plain_configuration("fashion-mlp", 7), 3, 4);
              }),
              "batch_size 7 at epoch 3 is below parts 8: it must be at least "
              "that, as each part has examples of its own");
    EXPECT_TRUE(work->save() == state);
    work->train(plain_configuration("fashion-mlp", 8), 3, 4);
  }
}

// -- by several members -------------------------------------------------------

class PartsOfMembers : public testing::TestWithParam<std::string> {
protected:
  const std::string name = GetParam();
  static constexpr step_t last = 4; // sgd, sgd, adamw, adamw

  [[nodiscard]] std::unique_ptr<workload> make(std::size_t members) const {
    return make_built_in(spec_of(name, 4), members);
  }

  void train(workload& work, step_t step) const {
    train_changing(work, name, step, step + 1);
  }
};

TEST_P(PartsOfMembers, AnyNumberGivesTheSameBits) {
  std::vector<std::string> states;
  std::vector<metrics> measured;
  const auto alone = make(1);
  for (step_t step = 0; step < last; ++step) {
    train(*alone, step);
    states.push_back(alone->save());
    measured.push_back(alone->evaluate());
  }
  for (const std::size_t members : {2, 8}) { // 8 of 4 parts are 4
    const auto work = make(members);
    for (step_t step = 0; step < last; ++step) {
      train(*work, step);
      EXPECT_TRUE(work->save() == states[step])
        << members << " members after step " << step;
    }
    EXPECT_EQ(work->evaluate(), measured.back());
  }
}

TEST_P(PartsOfMembers, TheirNumberMayChange) {
  const auto alone = make(1);
  for (step_t step = 0; step < last; ++step)
    train(*alone, step);
  std::string state;
  for (step_t step = 0; step < last; ++step) {
    const auto work = make(std::size_t{1} << (last - 1 - step)); // 8, 4, 2, 1
    train(*work, 0); // of another trial
    if (state.empty())
      work->init();
    else
      work->load(state);
    train(*work, step);
    state = work->save();
  }
  EXPECT_TRUE(state == alone->save());
}

TEST_P(PartsOfMembers, GoBackToWhatOneHasKept) {
  const auto work = make(2);
  train(*work, 0);
  const auto kept = work->snapshot();
  train(*work, 1);
  const auto state = work->save();
  train(*work, 2);
  work->restore(*kept);
  train(*work, 1);
  EXPECT_TRUE(work->save() == state);
  const auto other = make(4);
  other->restore(*kept);
  train(*other, 1);
  EXPECT_TRUE(other->save() == state);
}

INSTANTIATE_TEST_SUITE_P(
  Workloads, PartsOfMembers,
  testing::Values("fashion-mlp", "fashion-cnn", "fashion-resnet",
                  "cifar-resnet20", "cifar-mobilenetv2", "fashion-mlp/average",
                  "fashion-cnn/average", "fashion-cnn/elastic",
                  "fashion-cnn/bmuf", "cifar-resnet20/bmuf", "squad-bert-tiny",
                  "squad-bert-tiny/elastic"),
  [](const auto& x) { return test_name_of(x.param); });

class PartsThatMeasure : public testing::TestWithParam<std::string> {};

TEST_P(PartsThatMeasure, TogetherMeasureTheSameBits) {
  const auto name = GetParam();
  auto spec = spec_of(name, 8);
  std::string state;
  // Several batches of 250 images, or of 32 windows, or one.
  for (const double examples :
       {name.starts_with("fashion-") ? 1300.0 : 100.0, 9.0}) {
    spec.options["data.validation"] = examples;
    std::optional<metrics> expected;
    for (const std::size_t members : {1, 2, 4, 8}) {
      const auto work = make_built_in(spec, members);
      if (state.empty()) {
        train_changing(*work, name, 0, 1);
        state = work->save();
      } else {
        work->load(state);
      }
      if (!expected)
        expected = work->evaluate();
      EXPECT_EQ(work->evaluate(), *expected) << members << " members";
      EXPECT_TRUE(work->save() == state);
      EXPECT_EQ(work->evaluate(), *expected) << "once more";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, PartsThatMeasure,
                         testing::Values("fashion-mlp", "fashion-cnn",
                                         "fashion-cnn/average",
                                         "squad-bert-tiny",
                                         "squad-bert-tiny/elastic"),
                         [](const auto& x) { return test_name_of(x.param); });

TEST(Parts, MembersAverageWeights) {
  for (const auto* name :
       {"fashion-cnn", "fashion-cnn/elastic", "squad-bert-tiny"}) {
    std::optional<metrics> expected;
    for (const std::size_t members : {1, 4}) {
      auto spec = spec_of(name, 4);
      spec.options[averaged_option] = 2.0;
      spec.options[averaged_every_option] = 1.0;
      const auto work = make_built_in(spec, members);
      train_changing(*work, name, 0, 3);
      const auto measured = work->evaluate();
      train_changing(*work, name, 3, 4);
      if (!expected)
        expected = measured;
      EXPECT_EQ(measured, *expected);
    }
  }
}

// -- weights of their own -----------------------------------------------------

/// Returns a tensor of each part of a state.
std::vector<at::Tensor> of_parts(const tensor_map& state, std::int64_t parts,
                                 const std::string& name) {
  std::vector<at::Tensor> result;
  for (std::int64_t part = 0; part < parts; ++part)
    result.push_back(state.at("part" + std::to_string(part) + '.' + name));
  return result;
}

TEST(PartsOfTheirOwn, AreEqualBeforeTheFirstStep) {
  const auto whole =
    tensors_from_bytes(make_built_in(small_spec("fashion-cnn"))->save());
  const auto state = tensors_from_bytes(
    make_built_in(small_spec("fashion-cnn/elastic"))->save());
  for (const auto& [name, x] : whole) {
    EXPECT_TRUE(state.at(name).equal(x)) << name;
    if (!name.starts_with("model."))
      continue;
    for (const auto& own : of_parts(state, 4, name))
      EXPECT_TRUE(own.equal(x)) << name;
    const auto centre = "centre." + name.substr(std::string{"model."}.size());
    if (state.contains(centre)) {
      EXPECT_TRUE(state.at(centre).equal(x)) << name;
    }
  }
}

TEST(PartsOfTheirOwn, AreMeasuredByTheirMean) {
  for (const auto* name :
       {"fashion-cnn/average", "fashion-cnn/elastic", "fashion-cnn/bmuf"}) {
    const auto state =
      trained(small_spec(name), changing_configuration(name, 1));
    std::size_t statistics = 0;
    for (const auto& [tensor, x] : state) {
      if (!tensor.starts_with("model."))
        continue;
      const auto own = of_parts(state, 4, tensor);
      EXPECT_FALSE(own[0].equal(own[3])) << name << ' ' << tensor;
      EXPECT_TRUE(x.equal(((own[0] + own[1]) + (own[2] + own[3])) / 4))
        << name << ' ' << tensor;
      statistics += tensor.ends_with("running_var") ? 1 : 0;
    }
    EXPECT_GT(statistics, 0);
    const auto moments = of_parts(state, 4, "optimizer.first.conv1.weight");
    EXPECT_FALSE(moments[0].equal(moments[1]));
    EXPECT_EQ(state.contains("centre.conv1.weight"),
              name != std::string{"fashion-cnn/average"});
  }
}

TEST(PartsOfTheirOwn, AnIterationsMeanIsThatOfGradients) {
  // Of parts of equal sizes, whatever they exchange after it.
  auto config = plain_configuration("fashion-mlp", 64);
  const auto step = trained(spec_of("fashion-mlp", 4, 64), config);
  const auto before =
    tensors_from_bytes(make_built_in(spec_of("fashion-mlp", 4, 64))->save());
  for (const auto* sync : {"average", "bmuf", "elastic"}) {
    auto spec = spec_of("fashion-mlp", 4, 64);
    spec.options["sync"] = sync;
    if (sync == std::string{"elastic"}) // or the centre takes a share
      config["sync_alpha"] = form::constant(0);
    const auto own = trained(spec, config);
    EXPECT_NEAR(own.at("train_loss").item<double>(),
                step.at("train_loss").item<double>(), 1e-5);
    for (const auto& [name, x] : step) {
      if (!name.starts_with("model."))
        continue;
      const auto change = distance(x, before.at(name));
      EXPECT_GT(change, 1e-6) << name;
      EXPECT_LT(distance(x, own.at(name)), 1e-4 * change) << name;
    }
  }
}

TEST(PartsOfTheirOwn, AllTheWayToTheMeanTheyAreOne) {
  const auto* name = "fashion-cnn/average";
  auto config = changing_configuration(name, 1);
  config["sync_alpha"] = form::constant(1);
  const auto state = trained(small_spec(name), config);
  for (const auto& [tensor, x] : state) {
    if (!tensor.starts_with("model.") || !tensor.ends_with("weight"))
      continue;
    for (const auto& own : of_parts(state, 4, tensor))
      EXPECT_LT(distance(own, x), 1e-6) << tensor;
  }
  // None of the way they are alone.
  config["sync_alpha"] = form::constant(0);
  const auto alone = trained(small_spec(name), config);
  config["sync_every"] = form::constant(1);
  config["sync_lag"] = form::constant(0);
  const auto often = trained(small_spec(name), config);
  for (const auto& [tensor, x] : alone)
    EXPECT_TRUE(often.at(tensor).equal(x)) << tensor;
}

TEST(PartsOfTheirOwn, APartWithoutImagesDoesNothing) {
  // The last batch has two images, for parts 1 and 3.
  const auto* name = "fashion-cnn/average";
  auto config = default_configuration(name);
  config["batch_size"] = form::constant(64);
  const auto alone = trained(small_spec(name, 66), config);
  for (const auto& [tensor, x] : alone)
    EXPECT_TRUE(x.isfinite().all().item<bool>()) << tensor;
  const auto shared = trained(small_spec(name, 66), config, 4);
  for (const auto& [tensor, x] : alone)
    EXPECT_TRUE(shared.at(tensor).equal(x)) << tensor;
}

TEST(PartsOfTheirOwn, AnotherOptimiserBeginsAllMomentsAnew) {
  const auto* name = "fashion-mlp/average";
  auto still = plain_configuration("fashion-mlp", 32);
  still["lr"] = form::constant(0);
  auto adamw = plain_configuration("fashion-mlp", 32);
  adamw["optimizer"] = form::text("adamw");
  const auto after = make_built_in(small_spec(name)),
             first = make_built_in(small_spec(name));
  after->train(still, 0, 1); // which moves nothing but moments
  for (auto* work : {after.get(), first.get()})
    work->train(adamw, 1, 2);
  EXPECT_TRUE(after->save() == first->save());
}

TEST(PartsOfTheirOwn, BadExchangesLeaveTheStateAsItIs) {
  const auto* name = "fashion-mlp/elastic";
  for (const std::size_t members : {1, 2}) {
    const auto work = make_built_in(small_spec(name), members);
    const auto state = work->save();
    auto config = changing_configuration(name, 1);
    config["sync_every"] = form::constant(3);
    config["sync_lag"] = form::constant(3);
    EXPECT_EQ(
      message_of<std::invalid_argument>([&] { work->train(config, 1, 2); }),
      "sync_lag is 3 at step 1: it must be below sync_every, which is "
      "3");
    EXPECT_TRUE(work->save() == state);
  }
}

TEST(Parts, AreOfEveryPrecision) {
  for (const auto* name : {"fashion-cnn", "squad-bert-tiny"})
    for (const auto* precision : {"tf32", "bfloat16", "float16"}) {
      // A CPU has no other one.
      if (test_device() == "cpu" && precision != std::string{"bfloat16"})
        continue;
      std::optional<std::string> expected;
      for (const std::size_t members : {1, 2}) {
        auto spec = spec_of(name, 4);
        spec.options["precision"] = precision;
        const auto work = make_built_in(spec, members);
        train_changing(*work, name, 0, 3);
        if (!expected)
          expected = work->save();
        EXPECT_TRUE(work->save() == *expected) << name << ' ' << precision;
      }
    }
}

TEST(Parts, OthersTrainMeanwhile) {
  // Two trials of two members each, beside each other.
  const auto train = [](std::size_t members, step_t step) {
    const auto spec = spec_of("fashion-cnn", 2);
    const auto work = make_built_in(spec, members);
    for (int i = 0; i < 2; ++i)
      work->train(changing_configuration(spec.name, step), 0, 1);
    return work->save();
  };
  std::map<step_t, std::string> alone, beside;
  for (const step_t step : {1, 2})
    alone[step] = train(1, step);
  std::string one;
  std::thread other{[&] { one = train(2, 1); }};
  beside[2] = train(2, 2);
  other.join();
  beside[1] = one;
  EXPECT_TRUE(alone == beside);
}

} // namespace
} // namespace hippo
