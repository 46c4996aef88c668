// Gyro dropout: which subnetworks a batch trains, what they drop, and products
// that leave out the blocks that they drop.

#include "hippo/train/torch/subnetworks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "hippo/train/torch/networks/block_linear.hpp"
#include "hippo/train/torch/networks/dropout.hpp"
#include "hippo/train/torch/networks/networks.hpp"
#include "hippo/train/torch/random.hpp"
#include "train/message_of.hpp"
#include "train/training_process.hpp"
#include "train/training_steps.hpp"

namespace hippo {

namespace {

constexpr std::uint64_t seed = 5;

subnetwork_settings settings(std::uint32_t count, std::uint32_t at_once,
                             double period = 1) {
  subnetwork_settings result;
  result.count = count;
  result.at_once = at_once;
  result.period = period;
  return result;
}

/// A step whose activations subnetworks drop.
step_values dropping_by(const subnetwork_settings& how, double share,
                        std::uint64_t period = 0, step_t step = 0,
                        std::uint64_t iteration = 0) {
  auto result = dropping({seed, step, iteration, share});
  put_subnetworks(how,
                  how.count == 0 ? std::vector<std::uint32_t>{}
                                 : subnetworks_of(how, seed, period),
                  0, 1, result);
  return result;
}

/// A tensor of ones after dropout.
at::Tensor mask(const step_values& values, std::int64_t examples,
                std::int64_t features, std::uint64_t layer = 0) {
  return dropped(at::ones({examples, features}), &values, layer);
}

/// The different rows of a matrix.
std::set<std::vector<float>> rows_of(const at::Tensor& x) {
  std::set<std::vector<float>> result;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const auto row = x[i].contiguous();
    const auto* begin = row.const_data_ptr<float>();
    result.emplace(begin, begin + row.numel());
  }
  return result;
}

at::Tensor numbers(at::IntArrayRef shape, std::uint64_t address) {
  random_numbers from{1, purpose::weights, {address}};
  auto result = at::empty(shape, at::kFloat);
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data_ptr<float>()[i] =
      static_cast<float>(2 * from.uniform() - 1);
  return result;
}

} // namespace

TEST(Subnetworks, PeriodsOfThePaper) {
  // 256 subnetworks, 16 at once, 100 epochs of 196 iterations: 16 periods of
  // 1225 iterations.
  const auto how = settings(256, 16, 6.25);
  std::map<std::uint64_t, int> iterations;
  for (step_t epoch = 0; epoch < 100; ++epoch)
    for (int i = 0; i < 196; ++i)
      ++iterations[subnetwork_period_of(how, epoch, i / 196.0)];
  ASSERT_EQ(iterations.size(), 16u);
  for (const auto& [period, count] : iterations)
    EXPECT_EQ(count, 1225) << period;
}

TEST(Subnetworks, PeriodsMayBeAFractionOrWithoutEnd) {
  EXPECT_EQ(subnetwork_period_of(settings(8, 4, 0.5), 3, 0.25), 6u);
  EXPECT_EQ(subnetwork_period_of(settings(8, 4, 0.5), 3, 0.5), 7u);
  EXPECT_EQ(subnetwork_period_of(settings(8, 4, 1e300), 1'000'000, 0.9), 0u);
  EXPECT_EQ(subnetwork_period_of(settings(8, 4, 1e-300), 7, 0.5),
            std::uint64_t{1} << 53);
}

TEST(Subnetworks, ACycleTrainsEachOnce) {
  // The second one ends cycles within periods.
  for (const auto& how : {settings(12, 4), settings(10, 4), settings(7, 7)}) {
    std::vector<std::uint32_t> all;
    for (std::uint64_t period = 0; period < 10; ++period)
      for (const auto x : subnetworks_of(how, seed, period))
        all.push_back(x);
    std::set<std::vector<std::uint32_t>> orders;
    for (std::size_t i = 0; i + how.count <= all.size(); i += how.count) {
      const std::vector order(all.begin() + static_cast<std::ptrdiff_t>(i),
                              all.begin()
                                + static_cast<std::ptrdiff_t>(i + how.count));
      EXPECT_EQ(std::set(order.begin(), order.end()).size(), how.count);
      EXPECT_LT(*std::ranges::max_element(order), how.count);
      orders.insert(order);
    }
    EXPECT_EQ(orders.size(), all.size() / how.count) << "cycles are alike";
  }
}

TEST(Subnetworks, PartsOfABatchHaveSharesOfThem) {
  struct expectation {
    std::uint32_t at_once;
    std::int64_t parts;
    std::vector<std::vector<std::uint32_t>> shares;
  };
  for (const auto& [at_once, parts, shares] :
       std::vector<expectation>{{4, 1, {{0, 1, 2, 3}}},
                                {4, 2, {{0, 1}, {2, 3}}},
                                {2, 4, {{0}, {0}, {1}, {1}}},
                                {6, 4, {{0, 1}, {1, 2}, {3, 4}, {4, 5}}}}) {
    const auto how = settings(8, at_once);
    const auto all = subnetworks_of(how, seed, 1);
    for (std::int64_t part = 0; part < parts; ++part) {
      auto values = dropping({seed, 0, 0, 0.5});
      put_subnetworks(how, all, part, parts, values);
      std::vector<std::uint32_t> expected;
      for (const auto i : shares[static_cast<std::size_t>(part)])
        expected.push_back(all[i]);
      EXPECT_EQ(std::vector(values->subnetworks,
                            values->subnetworks + values->dropout_slots),
                expected)
        << at_once << " in part " << part << " of " << parts;
    }
  }
}

TEST(Subnetworks, DrawsWithReplacementMissSome) {
  auto how = settings(256, 16);
  how.replaces = true;
  std::map<std::uint32_t, int> drawn;
  for (std::uint64_t period = 0; period < 16; ++period)
    for (const auto x : subnetworks_of(how, seed, period))
      ++drawn[x];
  EXPECT_LT(drawn.rbegin()->first, 256u);
  // Of 256 draws among 256, 1 - 1/e are expected to be different ones: 162.
  EXPECT_NEAR(static_cast<double>(drawn.size()), 256 * (1 - std::exp(-1)),
              3 * 5);
  EXPECT_NE(subnetworks_of(how, seed, 0), subnetworks_of(how, seed, 1));
  EXPECT_NE(subnetworks_of(how, seed, 0), subnetworks_of(how, seed + 1, 0));
}

TEST(Subnetworks, EachTrainsItsShareOfABatch) {
  const auto how = settings(64, 16);
  // The last batch of an epoch may have any size.
  for (const std::int64_t examples : {256, 250, 17, 16, 5, 1}) {
    const auto values = dropping_by(how, 0.5);
    const auto masks = mask(values, examples, 40);
    EXPECT_LE(rows_of(masks).size(), 16u);
    EXPECT_EQ(rows_of(masks).size(),
              static_cast<std::size_t>(std::min<std::int64_t>(examples, 16)));
    for (std::int64_t i = 0; i < examples; ++i) {
      const auto slot = static_cast<std::size_t>(i * 16 / examples);
      const random_numbers expected{
        seed, purpose::subnetwork, {0, values->subnetworks[slot]}};
      for (std::int64_t d = 0; d < 40; ++d)
        ASSERT_EQ(
          masks[i][d].item<float>(),
          static_cast<std::uint32_t>(expected.at(static_cast<std::uint64_t>(d)))
              < 0x80000000
            ? 0
            : 2)
          << examples << ' ' << i << ' ' << d;
    }
  }
}

TEST(Subnetworks, MasksAreConstantForAPeriod) {
  const auto how = settings(64, 16);
  const auto first = mask(dropping_by(how, 0.5, 3, 0, 0), 64, 32);
  EXPECT_TRUE(mask(dropping_by(how, 0.5, 3, 9, 7), 64, 32).equal(first));
  EXPECT_FALSE(mask(dropping_by(how, 0.5, 4, 0, 0), 64, 32).equal(first));
  EXPECT_FALSE(mask(dropping_by(how, 0.5, 3), 64, 32, 1).equal(first))
    << "layers drop the same";
  // A subnetwork stays what it is: the cycle trains just those.
  std::set<std::vector<float>> all, again;
  for (std::uint64_t period = 0; period < 4; ++period) {
    all.merge(rows_of(mask(dropping_by(how, 0.5, period), 64, 32)));
    again.merge(rows_of(mask(dropping_by(how, 0.5, period + 4), 64, 32)));
  }
  EXPECT_EQ(all.size(), 64u);
  EXPECT_EQ(all, again);
}

TEST(Subnetworks, MasksAreThoseOfPython) {
  // python/tests/torch_test.py expects the same.
  const std::vector<std::string> expected{
    "xxxx..x...xxxxx.", "xx.x....x.x..x.x", "...x...xxx.x.xxx",
    ".xxx.x..xx..x..."};
  const auto masks = mask(dropping_by(settings(16, 4), 0.5), 4, 16, 3);
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t d = 0; d < 16; ++d)
      EXPECT_EQ(
        masks[i][d].item<float>() == 0,
        expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(d)]
          == '.')
        << i << ' ' << d;
}

TEST(Subnetworks, BlocksDropTogether) {
  auto how = settings(32, 8);
  how.block = 8;
  const auto blocks = mask(dropping_by(how, 0.5), 32, 64).view({32, 8, 8});
  EXPECT_TRUE(blocks.amin(2).equal(blocks.amax(2)));
  EXPECT_GT(rows_of(blocks.amin(2)).size(), 1u);
  how.block = 1;
  const auto alone = mask(dropping_by(how, 0.5), 32, 8);
  EXPECT_TRUE(alone.equal(blocks.amin(2))) << "block i has not number i";
}

TEST(Subnetworks, BlocksHaveToFillALayer) {
  auto how = settings(32, 8);
  how.block = 3;
  const auto values = dropping_by(how, 0.5);
  EXPECT_EQ(message_of<std::invalid_argument>([&] { mask(values, 8, 64); }),
            "dropout_block 3 does not divide the 64 features of a layer");
}

TEST(Subnetworks, TheMeanStays) {
  for (const double share : {0.1, 0.5, 0.8}) {
    // All subnetworks, with activations that differ.
    const std::int64_t count = 4096, at_once = 64, features = 128;
    const auto x = at::arange(1, features + 1, at::kFloat) / features;
    auto sum = at::zeros({features}, at::kDouble);
    const auto how = settings(count, at_once);
    for (std::uint64_t period = 0; period < count / at_once; ++period)
      sum += (mask(dropping_by(how, share, period), at_once, features) * x)
               .sum(0, false, at::kDouble);
    const auto mean = (sum / x / count).mean().item<double>();
    const auto error =
      std::sqrt(share / (1 - share) / static_cast<double>(count * features));
    EXPECT_NEAR(mean, 1, 3 * error) << share;
  }
}

TEST(Subnetworks, ValuesThatDoNotGoTogetherAreRefused) {
  const auto read = [](const std::map<std::string, double>& values) {
    configuration config;
    for (const auto& [name, value] : values)
      config[name] = form::constant(value);
    return [config] { subnetworks_at(config, 7); };
  };
  const auto said = [](const auto& f) {
    return message_of<std::invalid_argument>(f);
  };
  EXPECT_EQ(said(read({{"subnetworks", 8}})),
            "subnetworks_at_once 16 is above subnetworks 8 at epoch 7: it must "
            "be at most that");
  EXPECT_EQ(said(read({{"subnetworks_at_once", 65}})),
            "subnetworks_at_once is 65 at epoch 7: it must be from 1 to 64");
  EXPECT_EQ(said(read({{"subnetworks", -1}})),
            "subnetworks is -1 at epoch 7: it must be from 0 to 65536");
  EXPECT_NE(said(read({{"subnetwork_period", 0}})).find("subnetwork_period"),
            std::string::npos);
  EXPECT_NO_THROW(read({{"subnetworks", 0}, {"subnetworks_at_once", 9}})());
  EXPECT_EQ(subnetworks_at({}, 7), subnetwork_settings{});
}

// -- in training --------------------------------------------------------------

namespace {

/// A configuration of the MLP with gyro dropout.
configuration gyro_configuration() {
  auto result = default_configuration("fashion-mlp");
  result["subnetworks"] = form::constant(16);
  result["subnetworks_at_once"] = form::constant(4);
  result["dropout"] = form::constant(0.5);
  result["batch_size"] = form::constant(32);
  return result;
}

/// The state after an epoch.
std::string trained(const configuration& config) {
  const auto work = make_built_in(small_spec("fashion-mlp"));
  work->init();
  work->train(config, 0, 1);
  return work->save();
}

} // namespace

TEST(Subnetworks, APeriodMayEndWithinAnEpoch) {
  // Four batches: a period of a quarter begins with each of them.
  auto config = gyro_configuration();
  const auto whole = trained(config);
  config["subnetwork_period"] = form::constant(0.25);
  const auto quarter = trained(config);
  EXPECT_FALSE(quarter == whole);
  // Batches begin at 0, 0.25, 0.5 and 0.75.
  config["subnetwork_period"] = form::constant(0.24);
  EXPECT_TRUE(trained(config) == quarter);
  config["subnetwork_period"] = form::constant(0.26);
  EXPECT_FALSE(trained(config) == quarter);
  config["subnetwork_period"] = form::constant(7);
  EXPECT_TRUE(trained(config) == whole) << "both are in their first period";
}

TEST(Subnetworks, WithoutThemAConfigurationTrainsAsBefore) {
  auto config = default_configuration("fashion-mlp");
  const auto with = trained(config);
  for (const auto* name :
       {"subnetworks", "subnetworks_at_once", "subnetwork_period",
        "dropout_block", "subnetwork_draw"})
    EXPECT_EQ(config.erase(name), 1u) << name;
  EXPECT_TRUE(trained(config) == with);
}

TEST(Subnetworks, WithoutDropoutTheyMakeNoDifference) {
  auto config = gyro_configuration();
  config["dropout"] = form::constant(0);
  const auto with = trained(config);
  config["subnetworks"] = form::constant(0);
  EXPECT_TRUE(trained(config) == with);
}

// -- products by blocks -------------------------------------------------------

TEST(BlockLinear, GivesTheProductsAndGradientsOfAll) {
  struct sizes {
    std::int64_t examples, features, out, block;
    std::uint32_t slots;
    double share;
  };
  for (const auto& x :
       {sizes{256, 512, 300, 128, 16, 0.5}, sizes{70, 256, 40, 64, 16, 0.9},
        sizes{5, 64, 8, 32, 16, 0.5}, sizes{33, 64, 1, 64, 1, 0.99},
        sizes{64, 128, 16, 1, 4, 0.3}}) {
    auto how = settings(64, x.slots);
    how.block = static_cast<std::uint32_t>(x.block);
    const auto values = dropping_by(how, x.share);
    const auto weight = numbers({x.out, x.features}, 1);
    const auto bias = numbers({x.out}, 2);
    const auto into = numbers({x.examples, x.out}, 3);
    const auto input = numbers({x.examples, x.features}, 4);
    const auto run = [&](bool by_blocks) {
      std::vector<at::Tensor> all{input.clone(), weight.clone(), bias.clone()};
      for (const auto& each : all)
        each.set_requires_grad(true);
      const auto some = dropped(all[0], &values, 3);
      const auto y = by_blocks
                       ? linear_by_blocks(some, values, 3, all[1], all[2])
                       : at::linear(some, all[1], all[2]);
      (y * into).sum().backward();
      return std::vector{y.detach(), all[0].grad(), all[1].grad(),
                         all[2].grad()};
    };
    const auto ours = run(true), expected = run(false);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_LE((ours[i] - expected[i]).abs().max().item<double>(),
                1e-5 * std::max(1.0, expected[i].abs().max().item<double>()))
        << x.examples << " examples, result " << i;
    EXPECT_TRUE(
      (ours[1] == 0).equal(mask(values, x.examples, x.features, 3) == 0));
    EXPECT_TRUE(run(true)[2].equal(ours[2])) << "twice is not the same";
  }
}

TEST(BlockLinear, SizesAloneDecide) {
  const auto skips = [](std::uint32_t block, double share,
                        std::int64_t examples, std::int64_t out) {
    auto how = settings(64, 16);
    how.block = block;
    return skips_blocks(dropping_by(how, share), examples, out);
  };
  EXPECT_TRUE(skips(64, 0.4, 256, 512));
  EXPECT_TRUE(skips(128, 0.4, 128, 512));
  EXPECT_FALSE(skips(32, 0.4, 512, 512));
  EXPECT_FALSE(skips(64, 0.4, 255, 512));
  EXPECT_FALSE(skips(128, 0.4, 127, 512));
  EXPECT_FALSE(skips(64, 0.4, 256, 511));
  EXPECT_FALSE(skips(64, 0.39, 256, 512));
  EXPECT_FALSE(skips_blocks(dropping({seed, 0, 0, 0.5}), 256, 1024))
    << "ordinary dropout";
}

TEST(BlockLinear, LayersUseItWhereSizesAllowIt) {
  auto how = settings(64, 16);
  how.block = 64;
  const auto values = dropping_by(how, 0.5);
  const auto weight = numbers({512, 128}, 1), bias = numbers({512}, 2);
  const auto input = numbers({256, 128}, 3);
  const auto some = dropped(input, &values, 0);
  EXPECT_TRUE(linear_after_dropout(input, &values, 0, weight, bias)
                .equal(linear_by_blocks(some, values, 0, weight, bias)));
  const auto few = weight.narrow(0, 0, 511).contiguous();
  const auto less = bias.narrow(0, 0, 511).contiguous();
  EXPECT_TRUE(linear_after_dropout(input, &values, 0, few, less)
                .equal(at::linear(some, few, less)));
  EXPECT_TRUE(linear_after_dropout(input, nullptr, 0, weight, bias)
                .equal(at::linear(input, weight, bias)));
}

TEST(BlockLinear, AWideNetworkComputesTheSame) {
  const auto net = make_network("mlp-wide", {1, 28, 28, 10}, at::kCPU);
  net->init(1);
  EXPECT_EQ(net->parameters().size(), 10u);
  EXPECT_EQ(net->parameter_count(),
            784 * 1024 + 3 * 1024 * 1024 + 1024 * 10 + 4 * 1024 + 10);
  auto how = settings(64, 16);
  how.block = 128;
  const auto values = dropping_by(how, 0.5);
  const auto images = numbers({128, 1, 28, 28}, 5);
  const auto scores = net->forward(images, &values);
  // The same by its weights, layer by layer.
  auto x = images.flatten(1);
  for (int i = 0; i < 5; ++i) {
    x = at::linear(x, net->parameters()[2 * i].second,
                   net->parameters()[2 * i + 1].second);
    if (i < 4)
      x = dropped(x.relu(), &values, static_cast<std::uint64_t>(i));
  }
  EXPECT_TRUE(scores.allclose(x, 1e-4, 1e-5));
}

} // namespace hippo
