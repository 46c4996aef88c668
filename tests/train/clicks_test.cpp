// Click models.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/train/torch/clicks/click_batch.hpp"
#include "hippo/train/torch/clicks/click_log.hpp"
#include "hippo/train/torch/clicks/click_scores.hpp"
#include "hippo/train/torch/clicks/dlrm.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/weights_file.hpp"
#include "hippo/train/workload.hpp"
#include "train/message_of.hpp"
#include "train/random_tensor.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

// -- logs ---------------------------------------------------------------------

TEST(ClickLog, MadeImpressionsAreAFunctionOfTheirNumber) {
  const auto all = make_clicks({300, 100, 64}),
             others = make_clicks({200, 200, 64});
  EXPECT_TRUE(same(all.training.part(200, 100).numbers,
                   others.validation.part(0, 100).numbers));
  EXPECT_TRUE(same(all.training.part(200, 100).rows,
                   others.validation.part(0, 100).rows));
  EXPECT_TRUE(
    same(all.validation.labels, others.validation.part(100, 100).labels));
}

TEST(ClickLog, MadeImpressionsAreLikeThoseOfALog) {
  constexpr std::int64_t rows = 5000;
  const auto log = make_clicks({20000, 1, rows}).training;
  const auto rate = log.labels.mean().item<double>();
  EXPECT_GT(rate, 0.15);
  EXPECT_LT(rate, 0.4);
  EXPECT_NEAR(log.numbers.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(log.numbers.std().item<double>(), 1, 0.01);
  for (std::int64_t c = 0; c < click_log::category_count; ++c) {
    const auto counts = log.rows.select(1, c).bincount({}, rows);
    EXPECT_EQ(counts.numel(), rows);
    // The share of token t is log((t + 2) / (t + 1)) / log(1000).
    EXPECT_NEAR(counts.max().item<double>() / 20000,
                std::log(2) / std::log(1000), 0.02);
    EXPECT_GT(counts.gt(0).sum().item<std::int64_t>(), 700);
  }
}

/// A line as Criteo's.
std::string line_of(const std::string& label, const std::string& number,
                    const std::string& category) {
  auto result = label;
  for (std::int64_t i = 0; i < click_log::number_count; ++i)
    result += '\t' + number;
  for (std::int64_t i = 0; i < click_log::category_count; ++i)
    result += '\t' + category;
  return result + '\n';
}

TEST(ClickLog, ReadsCriteosFiles) {
  const temporary_folder folder;
  const auto path = folder.path + "/train.txt";
  auto odd = line_of("0", "", "");
  odd.insert(odd.size() - 1, "\r"); // a line that ends as on Windows
  std::ofstream{path} << line_of("1", "3", "68fd1e64")
                      << line_of("0", "-2", "68fd1e64") << odd
                      << line_of("1", "0", "80e26c9b") << "not read";
  const auto data = read_criteo(path, {3, 1, 1000});
  EXPECT_TRUE(same(data.training.labels, at::tensor({1, 0, 0}, at::kFloat)));
  EXPECT_TRUE(same(data.validation.labels, at::tensor({1}, at::kFloat)));
  const auto& numbers = data.training.numbers;
  EXPECT_FLOAT_EQ(numbers[0][0].item<float>(), std::log(4.F));
  EXPECT_EQ(numbers[0][12].item<float>(), numbers[0][0].item<float>());
  EXPECT_EQ(numbers[1].abs().sum().item<float>(), 0);
  EXPECT_EQ(numbers[2].abs().sum().item<float>(), 0);
  const auto& rows = data.training.rows;
  EXPECT_TRUE(same(rows[0], rows[1]));
  EXPECT_FALSE(same(rows[0], rows[2]));
  EXPECT_FALSE(same(rows[0], data.validation.rows[0]));
  // Each category has rows of its own for one token.
  EXPECT_GT(std::get<0>(at::_unique(rows[0])).numel(), 20);
}

TEST(ClickLog, WrongFilesSayWhereTheyAreWrong) {
  const temporary_folder folder;
  const auto path = folder.path + "/train.txt";
  const auto good = line_of("1", "3", "a");
  const auto refusal = [&](const std::string& text) {
    std::ofstream{path} << text;
    return message_of<std::runtime_error>([&] {
      read_criteo(path, {1, 1, 10});
    });
  };
  EXPECT_EQ(message_of<missing_data_error>([&] {
              read_criteo(path, {1, 1, 10});
            }),
            "Criteo's log is not at " + path
              + ": data.file names its train.txt, or take data.set: synthetic");
  EXPECT_EQ(refusal(good), path
                             + " has 1 lines: data.train 1 and "
                               "data.validation 1 need 2");
  EXPECT_EQ(refusal(good + "1\t2\n"),
            path
              + ":2: 2 fields, not 40: a label, 13 numbers and 26 categories, "
                "separated by tabs");
  EXPECT_EQ(refusal(good + line_of("1", "3", "a\tb")).substr(path.size()),
            ":2: 66 fields, not 40: a label, 13 numbers and 26 categories, "
            "separated by tabs");
  EXPECT_EQ(refusal(good + line_of("2", "3", "a")).substr(path.size()),
            ":2: the label is 0 or 1, not '2'");
  EXPECT_EQ(refusal(line_of("1", "3.5", "a")).substr(path.size()),
            ":1: field 2 is a whole number or empty, not '3.5'");
  EXPECT_EQ(
    refusal(line_of("1", "99999999999999999999", "a")).substr(path.size()),
    ":1: field 2 is a whole number or empty, not "
    "'99999999999999999999'");
}

// -- scores -------------------------------------------------------------------

TEST(ClickScores, AreThoseOfAllPairs) {
  random_numbers numbers{1, purpose::example, {}};
  for (int round = 0; round < 50; ++round) {
    const auto size = 1 + numbers.below(30);
    std::vector<float> logits(size), labels(size);
    for (std::size_t i = 0; i < size; ++i) {
      logits[i] = static_cast<float>(numbers.below(8)) - 4; // with ties
      labels[i] = numbers.below(3) == 0 ? 1 : 0;
    }
    double right = 0, pairs = 0, loss = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto chance = 1 / (1 + std::exp(-double{logits[i]}));
      loss -= std::log(labels[i] > 0 ? chance : 1 - chance);
      for (std::size_t j = 0; j < size; ++j)
        if (labels[i] > labels[j]) {
          ++pairs;
          right += logits[i] > logits[j] ? 1 : logits[i] == logits[j] ? 0.5 : 0;
        }
    }
    const auto found = click_scores_of(logits, labels);
    EXPECT_NEAR(found.auc, pairs == 0 ? 0.5 : right / pairs, 1e-12);
    EXPECT_NEAR(found.log_loss, loss / static_cast<double>(size), 1e-9);
  }
}

TEST(ClickScores, OfDivergedLogitsAreNoNumbers) {
  const auto found =
    click_scores_of(std::vector<float>{1, NAN}, std::vector<float>{1, 0});
  EXPECT_TRUE(std::isnan(found.auc));
  EXPECT_TRUE(std::isnan(found.log_loss));
}

// -- the model ----------------------------------------------------------------

constexpr dlrm_sizes small_sizes{2, 7, 3, 5};

/// Impressions of two parts; rows of 7 are there many times.
click_batch batch_of(std::int64_t count) {
  const auto tables =
    at::arange(click_log::category_count, at::kLong) * small_sizes.rows;
  const auto rows = random_tensor({2, count, click_log::category_count}, 1)
                      .add(1)
                      .mul(static_cast<double>(small_sizes.rows) / 2)
                      .to(at::kLong);
  return {random_tensor({2, count, click_log::number_count}, 2), rows + tables,
          random_tensor({2, count}, 3).gt(0).to(at::kFloat),
          at::full({2, count}, 1 / static_cast<float>(count))};
}

/// Makes copies that differ, as after some training.
void move_apart(const dlrm& network) {
  const at::NoGradGuard no_grad;
  std::uint64_t address = 10;
  for (const auto& [name, weight] : network.parameters())
    weight.add_(random_tensor(weight.sizes(), ++address));
}

/// The logit of one impression by its definition.
double logit_of(const dlrm& network, const click_batch& batch,
                std::int64_t part, std::int64_t i) {
  const auto weight = [&](std::size_t index) {
    return network.parameters()[index].second[part].to(at::kDouble);
  };
  const auto layer = [&](std::size_t index, const at::Tensor& in) {
    return weight(2 * index).mv(in) + weight(2 * index + 1);
  };
  const auto first =
    layer(1, layer(0, batch.numbers[part][i].to(at::kDouble)).relu()).relu();
  std::vector<at::Tensor> vectors{first};
  for (std::int64_t c = 0; c < click_log::category_count; ++c)
    vectors.push_back(
      network.tables()[batch.rows[part][i][c].item<std::int64_t>()].to(
        at::kDouble));
  std::vector<at::Tensor> top{first};
  for (std::size_t a = 0; a < vectors.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      top.push_back(vectors[a].dot(vectors[b]).unsqueeze(0));
  return layer(4, layer(3, layer(2, at::cat(top)).relu()).relu())
    .item<double>();
}

TEST(Dlrm, LogitsAreThoseOfTheDefinition) {
  dlrm network{small_sizes, at::kCPU};
  network.init(1);
  network.tables().mul_(3);
  move_apart(network);
  const auto batch = batch_of(4);
  const at::NoGradGuard no_grad;
  const auto logits =
    network.logits(network.parameters(), batch.numbers, network.rows_of(batch));
  for (std::int64_t part = 0; part < 2; ++part)
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_NEAR(logits[part][i].item<double>(),
                  logit_of(network, batch, part, i), 1e-4);
}

TEST(Dlrm, BeginsWithEqualCopies) {
  dlrm network{small_sizes, at::kCPU};
  network.init(1);
  for (const auto& [name, weight] : network.parameters()) {
    EXPECT_TRUE(same(weight[0], weight[1])) << name;
    EXPECT_GT(weight.abs().max().item<double>(), 0) << name;
  }
  dlrm other{small_sizes, at::kCPU};
  other.init(2);
  EXPECT_FALSE(same(network.tables(), other.tables()));
}

TEST(Dlrm, RowsThatAreThereOftenGoAgainstTheSumOfTheirGradients) {
  dlrm network{small_sizes, at::kCPU};
  network.init(1);
  const auto batch = batch_of(6);
  const auto before = network.tables().clone();
  const auto gradients = random_tensor({2, 6, 26, 3}, 4);
  network.step_rows(batch, gradients, 0.25);
  auto expected = before.to(at::kDouble);
  const auto rows = batch.rows.flatten();
  const auto each = gradients.view({-1, 3}).to(at::kDouble);
  for (std::int64_t i = 0; i < rows.numel(); ++i)
    expected[rows[i].item<std::int64_t>()].sub_(each[i] * 0.25);
  EXPECT_TRUE(network.tables().to(at::kDouble).allclose(expected, 0, 1e-6));
}

TEST(ClickBatch, SharesAreEvenAndCountAsMuchAsTheyHave) {
  const auto log = make_clicks({40, 1, 9}).training;
  for (const std::int64_t size : {1, 3, 4, 9, 40})
    for (const std::int64_t parts : {1, 4, 8}) {
      const auto batch = deal_out(log.part(0, size), parts, 9, false);
      std::int64_t next = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const auto counts = batch.shares[part].gt(0);
        const auto count = counts.sum().item<std::int64_t>();
        EXPECT_LE(std::abs(count * parts - size), parts);
        EXPECT_NEAR(batch.shares[part].sum().item<double>(), count > 0 ? 1 : 0,
                    1e-6);
        for (std::int64_t i = 0; i < count; ++i, ++next) {
          EXPECT_TRUE(same(batch.numbers[part][i], log.numbers[next]));
          EXPECT_TRUE(same(batch.labels[part][i], log.labels[next]));
          EXPECT_TRUE(same(batch.rows[part][i] - at::arange(26, at::kLong) * 9,
                           log.rows[next].to(at::kLong)));
        }
      }
      EXPECT_EQ(next, size);
    }
}

// -- the workload -------------------------------------------------------------

constexpr auto name = "clicks-dlrm";

TEST(ClickWorkload, CutAnywhereItGivesTheSameBytes) {
  const auto uncut = make_built_in(small_spec(name)),
             cut = make_built_in(small_spec(name));
  std::vector<std::string> states;
  uncut->init();
  states.push_back(uncut->save());
  constexpr step_t last = 6;
  for (step_t step = 0; step < last; ++step) {
    train_changing(*uncut, name, step, step + 1);
    states.push_back(uncut->save());
  }
  for (step_t from = 0; from < last; ++from) {
    cut->load(states[from]);
    const auto before = cut->evaluate();
    EXPECT_EQ(cut->evaluate(), before);
    train_changing(*cut, name, from, last);
    EXPECT_TRUE(cut->save() == states[last]) << from;
  }
  uncut->init();
  EXPECT_TRUE(uncut->save() == states[0]);
}

/// Returns the metrics of parts after three passes.
metrics trained(double parts, const std::string& sync) {
  auto spec = small_spec(name);
  const std::map<std::string, double> options{
    {"data.train", 10000}, {"data.step", 10000}, {"data.validation", 2000},
    {"data.rows", 1000},   {"dimension", 16},    {"hidden", 64},
    {"parts", parts}};
  for (const auto& [option, value] : options)
    spec.options[option] = value;
  auto config = default_configuration(name);
  config["batch_size"] = form::constant(64 / parts);
  config["sync"] = form::text(sync);
  config["sync_every"] = form::constant(5);
  config["sync_lag"] = form::constant(3);
  const auto work = make_built_in(spec);
  work->init();
  work->train(config, 0, 3);
  return work->evaluate();
}

TEST(ClickWorkload, OneModelStaysOneAfterPartsThatDiffered) {
  // Moments that differed would move equal copies apart.
  for (const auto* optimizer : {"sgd", "adamw"}) {
    const auto work = make_built_in(small_spec(name));
    auto config = default_configuration(name);
    config["batch_size"] = form::constant(5); // ends with a batch of 4 for 4
    config["optimizer"] = form::text(optimizer);
    config["momentum"] = form::constant(0.9);
    config["sync"] = form::text("elastic");
    config["lr"] = form::constant(0.01);
    work->init();
    work->train(config, 0, 1);
    const auto apart =
      tensors_from_bytes(work->save()).at("model.top_l.0.weight");
    EXPECT_FALSE(same(apart[0], apart[1])) << optimizer;
    config["sync"] = form::text("step");
    work->train(config, 1, 2);
    for (const auto& [tensor, value] : tensors_from_bytes(work->save())) {
      if (!tensor.starts_with("model.top_l.")
          && !tensor.starts_with("optimizer.first.")
          && !tensor.starts_with("optimizer.second."))
        continue;
      for (std::int64_t part = 1; part < 4; ++part)
        EXPECT_TRUE(same(value[0], value[part])) << optimizer << tensor;
    }
  }
}

TEST(ClickWorkload, ThreadsThatDealOutChangeNothing) {
  std::optional<std::string> first;
  for (const unsigned threads : {0, 1, 4}) {
    workload_registry registry;
    make_built_in(small_spec(name)); // prepares the device
    add_built_in_workloads(registry, test_device(), {threads});
    const auto work = std::move(*registry.make(small_spec(name)));
    work->init();
    train_changing(*work, name, 0, 3);
    const auto state = work->save();
    if (!first)
      first = state;
    EXPECT_TRUE(state == *first) << threads;
  }
}

TEST(ClickWorkload, LearnsWithEachExchange) {
  EXPECT_GT(trained(1, "step").at("val_auc"), 0.6);
  for (const auto* sync : {"step", "average", "elastic", "bmuf"}) {
    const auto found = trained(4, sync);
    EXPECT_GT(found.at("val_auc"), 0.6) << sync;
    EXPECT_LT(found.at("val_loss"), 0.65) << sync;
  }
}

TEST(ClickWorkload, EveryHyperParameterMatters) {
  const auto work = make_built_in(small_spec(name));
  const auto result = [&](const configuration& config) {
    work->init();
    work->train(config, 0, 2);
    return work->save();
  };
  auto plain = default_configuration(name);
  plain["batch_size"] = form::constant(4);
  plain["sync"] = form::text("bmuf");
  plain["sync_every"] = form::constant(2);
  auto adamw = plain;
  adamw["optimizer"] = form::text("adamw");
  const std::map<std::string, form> others{
    {"lr", form::constant(0.03)},
    {"embedding_lr", form::constant(0.5)},
    {"batch_size", form::constant(5)},
    {"optimizer", form::text("adamw")},
    {"momentum", form::constant(0.5)},
    {"beta2", form::constant(0.9)},
    {"weight_decay", form::constant(0.1)},
    {"sync", form::text("elastic")},
    {"sync_every", form::constant(1)},
    {"sync_lag", form::constant(1)},
    {"sync_alpha", form::constant(1)},
    {"sync_momentum", form::constant(0.5)},
    {"sync_lr", form::constant(0.5)},
  };
  std::set<std::string> names;
  for (const auto& [parameter, form] : plain)
    names.insert(parameter);
  for (const auto& parameter : names) {
    auto config = parameter == "beta2" ? adamw : plain;
    const auto before = result(config);
    config[parameter] = others.at(parameter);
    EXPECT_FALSE(result(config) == before) << parameter;
  }
}

TEST(ClickWorkload, ImpressionsComeInTheirOrderAndBeginAnew) {
  // Two steps are one pass: the third sees the impressions of the first.
  const auto work = make_built_in(small_spec(name));
  auto still = default_configuration(name);
  still["batch_size"] = form::constant(4);
  for (const auto* rate : {"lr", "embedding_lr"})
    still[rate] = form::constant(0);
  const auto loss_of = [&](step_t step) {
    work->init();
    work->train(still, step, step + 1);
    return work->evaluate().at("train_loss");
  };
  EXPECT_NE(loss_of(0), loss_of(1));
  EXPECT_EQ(loss_of(0), loss_of(2));
  EXPECT_EQ(loss_of(1), loss_of(3));
}

TEST(ClickWorkload, ExportsTheMeanOfItsParts) {
  const temporary_folder folder;
  const auto work = make_built_in(small_spec(name));
  work->init();
  train_changing(*work, name, 0, 2); // ends with parts that differ
  work->export_weights(folder.path + "/w.pt");
  const auto weights = read_weights(folder.path + "/w.pt");
  EXPECT_EQ(weights.size(), 10U + 26U);
  EXPECT_EQ(weights.at("bot_l.0.weight").sizes(), (at::IntArrayRef{16, 13}));
  EXPECT_EQ(weights.at("top_l.0.weight").sizes(), (at::IntArrayRef{16, 355}));
  EXPECT_EQ(weights.at("top_l.4.bias").sizes(), (at::IntArrayRef{1}));
  EXPECT_EQ(weights.at("emb_l.25.weight").sizes(), (at::IntArrayRef{50, 4}));
}

TEST(ClickWorkload, WrongInputSaysWhatIsWrong) {
  auto spec = small_spec(name);
  spec.options["data.step"] = 1000.;
  EXPECT_NE(message_of<std::exception>([&] {
              make_built_in(spec);
            }).find("data.step 1000 is above data.train 128"),
            std::string::npos);
  const auto work = make_built_in(small_spec(name));
  auto config = default_configuration(name);
  config["batch_size"] = form::constant(4);
  config["sync_lag"] = form::constant(30);
  EXPECT_NE(message_of<std::exception>([&] { work->train(config, 0, 1); })
              .find("sync_lag is 30 at step 0: it must be below sync_every, "
                    "which is 30"),
            std::string::npos);
  config["sync_lag"] = form::constant(0);
  config["batch_size"] = form::constant(17);
  EXPECT_NE(message_of<std::exception>([&] {
              work->train(config, 0, 1);
            }).find("batch_size 17 times parts 4 is 68, above data.step 64"),
            std::string::npos);
}

} // namespace
} // namespace hippo
