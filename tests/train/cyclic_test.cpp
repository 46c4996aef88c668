// Linear models whose clients have data that come in cycles of blocks.

#include "hippo/train/torch/linear/cyclic_updates.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "hippo/train/torch/linear/cyclic_data.hpp"
#include "hippo/train/torch/weights_file.hpp"
#include "train/linear_problem.hpp"
#include "train/message_of.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

using predictor = block_predictor;

/// Two blocks of one size, with models of these slopes.
struct two_blocks {
  std::vector<linear_problem> problems;
  std::vector<cyclic_block> blocks;

  two_blocks(std::int64_t count, std::int64_t width, std::int64_t outputs,
             linear_loss loss, double first, double second)
    : problems{{count, width, outputs, loss, 3, first},
               {count, width, outputs, loss, 4, second},
               {9, width, outputs, loss, 5, first},
               {9, width, outputs, loss, 6, second}},
      blocks{{problems[0].examples, problems[2].examples},
             {problems[1].examples, problems[3].examples}} {}
};

// -- the updates in plain words ----------------------------------------------

/// Everything that brute force keeps.
struct expected_models {
  at::Tensor weights;
  std::vector<at::Tensor> chains;
  /// Of each block the shared weights after each round, and the better chain's.
  std::vector<std::vector<at::Tensor>> shared, better;
};

at::Tensor gradient(const linear_problem& of, linear_loss loss,
                    const at::Tensor& weights, std::int64_t example) {
  const auto inputs = of.all_features()[example].unsqueeze(0);
  const auto scores = inputs.mm(weights);
  const auto outputs =
    loss == linear_loss::logistic ? scores.softmax(1) : scores;
  return inputs.t().mm(outputs - of.targets()[example]);
}

double mean_loss(const linear_problem& of, linear_loss loss,
                 const at::Tensor& weights) {
  const auto scores = of.all_features().mm(weights);
  const auto each = loss == linear_loss::logistic
                      ? -(scores.log_softmax(1) * of.targets()).sum(1)
                      : (scores - of.targets()).square().sum(1) / 2;
  return each.mean().item<double>();
}

/// A round of clients (local updates of the paper).
at::Tensor round_of(const linear_problem& of, linear_loss loss,
                    const at::Tensor& weights, const cyclic_rule& rule,
                    std::int64_t clients, step_t step, std::uint64_t block,
                    std::int64_t begin, std::int64_t end) {
  auto decay = at::full({weights.size(0), 1}, rule.weight_decay, at::kDouble);
  decay[-1] = 0;
  auto sum = at::zeros_like(weights);
  for (std::int64_t client = 0; client < clients; ++client) {
    auto local = weights;
    const auto first = of.examples.count * client / clients,
               last = of.examples.count * (client + 1) / clients;
    for (auto update = begin; update < end; ++update) {
      random_numbers numbers{1,
                             purpose::answer,
                             {step, block, static_cast<std::uint64_t>(client),
                              static_cast<std::uint64_t>(update)}};
      const auto example = first
                           + static_cast<std::int64_t>(numbers.below(
                             static_cast<std::uint64_t>(last - first)));
      local =
        local - rule.lr * (gradient(of, loss, local, example) + decay * local);
    }
    sum += local;
  }
  return sum / static_cast<double>(clients);
}

expected_models brute_force(const two_blocks& of, linear_loss loss,
                            std::int64_t clients,
                            const std::vector<cyclic_rule>& rules) {
  const auto& examples = of.blocks[0].training;
  const auto zeros =
    at::zeros({examples.features + 1, examples.outputs}, at::kDouble);
  expected_models result{zeros, {zeros, zeros}, {{}, {}}, {{}, {}}};
  for (step_t step = 0; step < rules.size(); ++step)
    for (std::size_t block = 0; block < 2; ++block) {
      const auto& rule = rules[step];
      const auto updates = (examples.count + clients - 1) / clients;
      for (std::int64_t t = 0; t < updates; t += rule.sync_every) {
        const auto trained = [&](const at::Tensor& weights) {
          return round_of(of.problems[block], loss, weights, rule, clients,
                          step, block, t,
                          std::min(t + rule.sync_every, updates));
        };
        auto& chain = result.chains[block];
        result.weights = trained(result.weights);
        auto better = result.weights;
        if (rule.predictor == predictor::mc) {
          chain = trained(chain);
          const auto& held_out = of.problems[block + 2];
          if (mean_loss(held_out, loss, chain)
              < mean_loss(held_out, loss, result.weights))
            better = chain;
        }
        result.shared[block].push_back(result.weights);
        result.better[block].push_back(better);
      }
    }
  return result;
}

bool is_near(const std::vector<double>& values, const at::Tensor& expected) {
  return as_matrix(values, expected.size(1)).allclose(expected, 0, 1e-12);
}

TEST(Cyclic, PredictorsAreTheExactMeans) {
  for (const auto loss : {linear_loss::least_squares, linear_loss::logistic})
    for (const std::int64_t clients : {1, 3, 5}) {
      const two_blocks of{22, 4, 3, loss, 1, -1};
      const std::vector<cyclic_rule> rules{{0.02, 0.1, 2, predictor::mm},
                                           {0.05, 0, 3, predictor::mc},
                                           {0.01, 0.01, 1, predictor::last},
                                           {0.02, 0, 1000, predictor::mc}};
      cyclic_training training{of.blocks, loss, clients, 1};
      auto state = training.initial();
      for (step_t step = 0; step < rules.size(); ++step)
        training.train(state, rules[step], step);
      const auto expected = brute_force(of, loss, clients, rules);
      EXPECT_TRUE(is_near(state.weights, expected.weights)) << clients;
      for (std::size_t block = 0; block < 2; ++block) {
        const auto& models = state.blocks[block];
        const auto& shared = expected.shared[block];
        EXPECT_EQ(models.rounds, shared.size());
        EXPECT_TRUE(is_near(models.chain, expected.chains[block])) << clients;
        EXPECT_TRUE(is_near(models.mean, at::stack(shared).mean(0))) << clients;
        EXPECT_TRUE(
          is_near(models.better, at::stack(expected.better[block]).mean(0)))
          << clients;
        EXPECT_FALSE(models.better == models.mean);
      }
    }
}

TEST(Cyclic, PredictorsLeaveTheSharedModelAsItIs) {
  const two_blocks of{30, 4, 2, linear_loss::logistic, 1, 1};
  cyclic_training training{of.blocks, linear_loss::logistic, 3, 1};
  const auto trained = [&](std::vector<predictor> predictors) {
    auto state = training.initial();
    for (step_t step = 0; step < predictors.size(); ++step)
      training.train(state, {0.05, 0.01, 4, predictors[step]}, step);
    return state;
  };
  const auto plain = trained({predictor::last, predictor::last});
  for (const auto& other : {trained({predictor::mc, predictor::mm}),
                            trained({predictor::last, predictor::mc})}) {
    EXPECT_EQ(other.weights, plain.weights);
    for (std::size_t block = 0; block < 2; ++block)
      EXPECT_EQ(other.blocks[block].mean, plain.blocks[block].mean);
  }
  // Without second chains the shared one is the better one.
  EXPECT_EQ(plain.blocks[1].better, plain.blocks[1].mean);
  EXPECT_EQ(plain.model_of(1), plain.weights);
  EXPECT_EQ(trained({predictor::mm}).model_of(1),
            trained({predictor::mc}).blocks[1].mean);
}

// -- the gates ----------------------------------------------------------------

/// The loss above the least one, mean over the blocks' own training examples.
double excess_loss(const two_blocks& of, const cyclic_state& state) {
  double result = 0;
  for (std::size_t block = 0; block < 2; ++block) {
    const auto& problem = of.problems[block];
    const auto inputs = problem.all_features(), targets = problem.targets();
    const auto best =
      at::linalg_solve(inputs.t().mm(inputs), inputs.t().mm(targets));
    const auto loss_of = [&](const at::Tensor& weights) {
      return mean_loss(problem, linear_loss::least_squares, weights);
    };
    result +=
      (loss_of(as_matrix(state.model_of(block), 1)) - loss_of(best)) / 2;
  }
  return result;
}

/// The excess loss under each predictor after 40 cycles of 60 rounds.
std::map<predictor, double> excess_losses(const two_blocks& of) {
  cyclic_training training{of.blocks, linear_loss::least_squares, 4, 1};
  auto state = training.initial();
  for (step_t step = 0; step < 40; ++step)
    training.train(state, {0.02, 0, 2, predictor::mc}, step);
  std::map<predictor, double> result;
  for (const auto each : {predictor::last, predictor::mm, predictor::mc}) {
    state.predictor = each;
    result[each] = excess_loss(of, state);
    testing::Test::RecordProperty("predictor_" + std::to_string(int(each)),
                                  std::to_string(result[each]));
  }
  return result;
}

TEST(Cyclic, BlocksWithOptimaOfTheirOwnNeedPredictorsOfTheirOwn) {
  auto of = excess_losses({480, 5, 1, linear_loss::least_squares, 1, -1});
  EXPECT_LE(of[predictor::mm], 0.5 * of[predictor::last]);
  EXPECT_LE(of[predictor::mc], 0.05 * of[predictor::mm]);
}

TEST(Cyclic, EqualBlocksArePredictedEquallyWell) {
  auto of = excess_losses({480, 5, 1, linear_loss::least_squares, 1, 1});
  EXPECT_LE(of[predictor::mm], 1.5 * of[predictor::mc]);
  EXPECT_LE(of[predictor::mc], 1.5 * of[predictor::mm]);
  EXPECT_LE(of[predictor::mm], of[predictor::last]);
  EXPECT_LE(of[predictor::mc], of[predictor::last]);
}

// -- the data -----------------------------------------------------------------

/// Classes in an order that mixes them.
std::vector<std::int64_t> mixed_classes(std::size_t count) {
  std::vector<std::int64_t> result;
  random_numbers numbers{1, purpose::example, {}};
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(static_cast<std::int64_t>(numbers.below(10)));
  return result;
}

TEST(CyclicData, EachImageIsInItsBlockOnce) {
  const auto classes = mixed_classes(500), others = mixed_classes(200);
  for (const std::size_t blocks : {1, 2, 3, 10})
    for (const double skew : {0., 0.3, 1.}) {
      std::set<std::uint32_t> seen, measured;
      const auto dealt =
        deal_blocks({10, blocks, 7, skew, 0.1}, classes, others);
      ASSERT_EQ(dealt.size(), blocks);
      std::int64_t most = -1; // class of the blocks before
      for (const auto& block : dealt) {
        std::set<std::int64_t> own;
        for (const auto* images : {&block.training, &block.held_out})
          for (const auto image : *images) {
            EXPECT_TRUE(seen.insert(image).second);
            own.insert(classes[image]);
          }
        for (const auto image : block.validation) {
          EXPECT_TRUE(measured.insert(image).second);
          EXPECT_TRUE(own.contains(others[image]));
        }
        EXPECT_EQ(*own.begin(), most + 1);
        EXPECT_EQ(*own.rbegin(), most + static_cast<std::int64_t>(own.size()));
        most = *own.rbegin();
        const auto all = block.training.size() + block.held_out.size();
        EXPECT_EQ(block.held_out.size(), (all + 9) / 10);
      }
      EXPECT_EQ(most, 9);
      EXPECT_EQ(seen.size(), classes.size());
      EXPECT_EQ(measured.size(), others.size());
    }
}

/// The share of each client's images that are of its most frequent class.
double uniformity(double skew) {
  constexpr std::size_t clients = 10;
  const auto classes = mixed_classes(2000);
  const auto images =
    deal_blocks({10, 1, clients, skew, 0.1}, classes, classes)[0].training;
  double result = 0;
  for (std::size_t client = 0; client < clients; ++client) {
    std::map<std::int64_t, std::size_t> counts;
    const auto begin = images.size() * client / clients,
               end = images.size() * (client + 1) / clients;
    std::size_t most = 0;
    for (auto i = begin; i < end; ++i)
      most = std::max(most, ++counts[classes[images[i]]]);
    result +=
      static_cast<double>(most) / static_cast<double>(end - begin) / clients;
  }
  return result;
}

TEST(CyclicData, SkewGivesClientsClassesOfTheirOwn) {
  EXPECT_LT(uniformity(0), 0.2);
  EXPECT_NEAR(uniformity(0.5), (uniformity(0) + uniformity(1)) / 2, 0.1);
  EXPECT_GT(uniformity(1), 0.8);
}

TEST(CyclicData, BlocksWithoutEnoughImagesAreRefused) {
  const std::vector<std::int64_t> classes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0};
  const auto why = [&](const cyclic_deal& deal,
                       const std::vector<std::int64_t>& validation) {
    return message_of<std::invalid_argument>(
      [&] { deal_blocks(deal, classes, validation); });
  };
  EXPECT_EQ(why({10, 2, 5, 0, 0.1}, classes),
            "parts: 5 of 4 images of block 1 of data.blocks 2 that are not "
            "held out: each part needs one; data.train is 11");
  EXPECT_EQ(why({10, 2, 4, 0, 0.1}, {0, 1}),
            "data.validation: none of 2 images is of block 1 of data.blocks 2: "
            "each block needs one to be measured on");
}

// -- the workload -------------------------------------------------------------

constexpr auto name = "fashion-cyclic";

TEST(CyclicWorkload, CutAnywhereItGivesTheSameBytes) {
  const auto uncut = make_built_in(small_spec(name)),
             cut = make_built_in(small_spec(name));
  std::vector<std::string> states;
  uncut->init();
  states.push_back(uncut->save());
  for (step_t step = 0; step < 6; ++step) {
    train_changing(*uncut, name, step, step + 1);
    states.push_back(uncut->save());
  }
  for (step_t from = 0; from < 6; ++from) {
    cut->load(states[from]);
    const auto before = cut->evaluate();
    EXPECT_EQ(cut->evaluate(), before);
    EXPECT_TRUE(cut->save() == states[from]) << from;
    train_changing(*cut, name, from, 6);
    EXPECT_TRUE(cut->save() == states[6]) << from;
  }
  uncut->init();
  EXPECT_TRUE(uncut->save() == states[0]);
}

TEST(CyclicWorkload, PredictorsOfBlocksAreBetterThanOneModel) {
  const temporary_folder folder;
  const auto work = make_built_in(small_spec(name, 2000));
  std::map<std::string, double> right;
  for (const auto* each : {"last", "mm", "mc"}) {
    auto config = default_configuration(name);
    config["predictor"] = form::text(each);
    work->init();
    work->train(config, 0, 4);
    auto measured = work->evaluate();
    EXPECT_EQ(measured.size(), 7);
    for (const auto* metric : {"val_accuracy", "val_loss"})
      EXPECT_NEAR(measured.at(metric),
                  (measured.at(std::string{metric} + "_block_0")
                   + measured.at(std::string{metric} + "_block_1"))
                    / 2,
                  1e-12);
    right[each] = measured.at("val_accuracy");
  }
  EXPECT_LT(right["last"], right["mm"]);
  EXPECT_LE(right["mm"], right["mc"]);
  work->export_weights(folder.path + "/w.pt");
  const auto weights = read_weights(folder.path + "/w.pt");
  ASSERT_EQ(weights.size(), 4);
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    EXPECT_EQ(weights.at(block + "weight").sizes(), (at::IntArrayRef{10, 784}));
    EXPECT_EQ(weights.at(block + "bias").sizes(), (at::IntArrayRef{10}));
  }
  EXPECT_FALSE(
    weights.at("blocks.0.weight").equal(weights.at("blocks.1.weight")));
}

TEST(CyclicWorkload, OptionsChangeTheResult) {
  const auto trained = [](const char* option, const scalar& value) {
    auto spec = small_spec(name);
    spec.options[option] = value;
    const auto work = make_built_in(spec);
    work->init();
    work->train(default_configuration(name), 0, 1);
    return work->save();
  };
  const auto plain = trained("seed", 1.);
  EXPECT_FALSE(plain == trained("seed", 2.));
  EXPECT_FALSE(plain == trained("parts", 3.));
  EXPECT_FALSE(plain == trained("loss", "least_squares"));
  EXPECT_FALSE(plain == trained("data.blocks", 3.));
  EXPECT_FALSE(plain == trained("data.skew", 1.));
  EXPECT_FALSE(plain == trained("data.held_out", 0.3));
}

TEST(CyclicWorkload, WrongInputSaysWhatIsWrong) {
  auto spec = small_spec(name);
  spec.options["parts"] = 100.;
  EXPECT_NE(message_of<std::exception>([&] { make_built_in(spec); })
              .find("images of block 0 of data.blocks 2 that are not held out: "
                    "each part needs one; data.train is 128"),
            std::string::npos);
  spec = small_spec(name);
  spec.options["data.blocks"] = 3.;
  const auto work = make_built_in(small_spec(name)),
             other = make_built_in(spec);
  other->load(other->save());
  EXPECT_NE(message_of<std::exception>([&] {
              other->load(work->save());
            }).find("a state of another model: 'blocks.2.rounds'"),
            std::string::npos);
}

} // namespace
} // namespace hippo
