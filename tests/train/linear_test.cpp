// Linear models whose examples lie on several machines.

#include "hippo/train/torch/linear/distributed_updates.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "hippo/train/torch/weights_file.hpp"
#include "train/linear_problem.hpp"
#include "train/message_of.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

constexpr double penalty = 0.01;

/// The objective of ridge regression less that of the best weights.
class ridge {
public:
  explicit ridge(const linear_problem& of)
    : inputs_(of.all_features()), targets_(of.targets()) {
    auto decay = at::eye(inputs_.size(1), at::kDouble) * penalty;
    decay[-1][-1] = 0;
    const auto count = static_cast<double>(inputs_.size(0));
    least_ = objective(at::linalg_solve(inputs_.t().mm(inputs_) / count + decay,
                                        inputs_.t().mm(targets_) / count));
  }

  [[nodiscard]] double distance(const distributed_state& state) const {
    return objective(as_matrix(state.weights, 1)) - least_;
  }

  /// About the largest useful learning rate of SAGA: 1 / (3 L).
  [[nodiscard]] double lr() const {
    const auto steepest = inputs_.square().sum(1).max().item<double>();
    return 1 / (3 * (steepest + penalty));
  }

private:
  [[nodiscard]] double objective(const at::Tensor& weights) const {
    const auto last = weights.size(0) - 1;
    return ((inputs_.mm(weights) - targets_).square().sum()
              / (2. * static_cast<double>(inputs_.size(0)))
            + penalty / 2 * weights.narrow(0, 0, last).square().sum())
      .item<double>();
  }

  at::Tensor inputs_, targets_;
  double least_ = 0;
};

/// The distance after 40 passes.
double left(const linear_problem& of, std::int64_t machines, bool saga,
            arrival_order order = arrival_order::round_robin) {
  const ridge goal{of};
  distributed_training training{of.examples, linear_loss::least_squares,
                                machines, order, 1};
  auto state = training.initial();
  for (step_t step = 0; step < 40; ++step)
    training.train(state, {goal.lr(), penalty, saga, false}, step);
  if (saga) {
    const auto mean = of.all_features().t().mm(as_matrix(state.table, 1))
                      / static_cast<double>(of.examples.count);
    EXPECT_TRUE(mean.allclose(as_matrix(state.mean, 1), 1e-9, 1e-9))
      << "the server's mean is that of the table";
  }
  return goal.distance(state);
}

TEST(Linear, SagaSolvesRidgeRegressionWithManyMachinesToo) {
  const linear_problem ridge_problem{400, 10, 1, linear_loss::least_squares};
  EXPECT_LT(left(ridge_problem, 1, true), 1e-10);
  const auto ten = left(ridge_problem, 10, true);
  EXPECT_LT(ten, 1e-9);
  EXPECT_LT(left(ridge_problem, 10, true, arrival_order::exponential), 1e-6);
  const auto plain = left(ridge_problem, 10, false);
  EXPECT_GT(plain, 1e3 * std::abs(ten));
}

/// The updates in plain words, with whole gradients in the table.
distributed_state brute_force(const linear_problem& of, linear_loss loss,
                              std::int64_t machines,
                              const distributed_rule& rule, step_t steps) {
  const auto outputs = of.examples.outputs, count = of.examples.count;
  const auto inputs = of.all_features(), targets = of.targets();
  auto x = at::zeros({inputs.size(1), outputs}, at::kDouble), u = x.clone();
  auto table = at::zeros({count, inputs.size(1), outputs}, at::kDouble);
  auto decay = at::full({inputs.size(1), 1}, rule.weight_decay, at::kDouble);
  decay[-1] = 0;
  const auto gradient = [&](const at::Tensor& weights, std::int64_t example) {
    const auto scores = inputs[example].unsqueeze(0).mm(weights);
    const auto residual =
      (loss == linear_loss::logistic ? scores.softmax(1) : scores)
      - targets[example];
    return inputs[example].unsqueeze(1).mm(residual);
  };
  for (step_t step = 0; step < steps; ++step) {
    std::vector<at::Tensor> last(static_cast<std::size_t>(machines), x.clone());
    auto sum = at::zeros_like(x);
    std::int64_t answers = 0;
    for (std::int64_t t = 0; t < count; ++t) {
      const auto machine = rule.synchronous ? answers : t % machines;
      const auto begin = count * machine / machines,
                 end = count * (machine + 1) / machines;
      random_numbers numbers{
        1, purpose::answer, {step, static_cast<std::uint64_t>(t)}};
      const auto j = begin
                     + static_cast<std::int64_t>(
                       numbers.below(static_cast<std::uint64_t>(end - begin)));
      auto& mine = last[static_cast<std::size_t>(machine)];
      const auto g = gradient(rule.synchronous ? x : mine, j);
      sum += rule.saga ? g - table[j] : g;
      if (rule.saga)
        table[j] = g;
      ++answers;
      if (rule.synchronous && answers < machines && t + 1 < count)
        continue;
      x = x
          - rule.lr
              * (sum / static_cast<double>(answers) + (rule.saga ? u : u * 0)
                 + decay * x);
      u = u + (rule.saga ? sum : sum * 0) / static_cast<double>(count);
      mine = x.clone();
      sum = at::zeros_like(x);
      answers = 0;
    }
  }
  const auto numbers_of = [](const at::Tensor& tensor) {
    const auto flat = tensor.contiguous();
    return std::vector<double>(flat.const_data_ptr<double>(),
                               flat.const_data_ptr<double>() + flat.numel());
  };
  return {numbers_of(x), {}, numbers_of(u)};
}

TEST(Linear, UpdatesAreThoseOfThePaper) {
  for (const auto loss : {linear_loss::least_squares, linear_loss::logistic})
    for (const std::int64_t machines : {1, 3, 7})
      for (const bool saga : {false, true})
        for (const bool synchronous : {false, true}) {
          const linear_problem of{22, 4, 3, loss};
          const distributed_rule rule{0.02, 0.1, saga, synchronous};
          distributed_training training{of.examples, loss, machines,
                                        arrival_order::round_robin, 1};
          auto state = training.initial();
          for (step_t step = 0; step < 3; ++step)
            training.train(state, rule, step);
          const auto expected = brute_force(of, loss, machines, rule, 3);
          EXPECT_TRUE(as_matrix(state.weights, 3)
                        .allclose(as_matrix(expected.weights, 3), 1e-9, 1e-12))
            << machines << ' ' << saga << ' ' << synchronous;
          EXPECT_TRUE(as_matrix(state.mean, 3)
                        .allclose(as_matrix(expected.mean, 3), 1e-9, 1e-12))
            << machines << ' ' << saga << ' ' << synchronous;
        }
}

TEST(Linear, OneMachineNeedsNobody) {
  const linear_problem of{30, 4, 2, linear_loss::logistic};
  const auto trained = [&](bool synchronous, arrival_order order) {
    distributed_training training{of.examples, linear_loss::logistic, 1, order,
                                  1};
    auto state = training.initial();
    for (step_t step = 0; step < 2; ++step)
      training.train(state, {0.05, 0.01, true, synchronous}, step);
    return state.weights;
  };
  const auto plain = trained(false, arrival_order::round_robin);
  EXPECT_EQ(plain, trained(true, arrival_order::round_robin));
  EXPECT_EQ(plain, trained(false, arrival_order::exponential));
}

TEST(Linear, DivergenceIsNoNumber) {
  const linear_problem of{30, 4, 2, linear_loss::least_squares};
  distributed_training training{of.examples, linear_loss::least_squares, 3,
                                arrival_order::round_robin, 1};
  auto state = training.initial();
  for (step_t step = 0; step < 40; ++step)
    training.train(state, {1e3, 0, true, false}, step);
  double outputs[2];
  float features[4];
  of.examples.features_of(0, features);
  put_outputs(state.weights, features, 4, outputs, 2);
  for (const auto loss : {linear_loss::least_squares, linear_loss::logistic}) {
    double derivatives[2]{outputs[0], outputs[1]};
    EXPECT_FALSE(std::isfinite(
      take_derivatives(loss, of.examples.targets.data(), derivatives, 2)));
    EXPECT_FALSE(std::isfinite(derivatives[0]));
  }
}

// -- the workload -------------------------------------------------------------

constexpr auto name = "fashion-linear";

TEST(LinearWorkload, CutAnywhereItGivesTheSameBytes) {
  const auto uncut = make_built_in(small_spec(name)),
             cut = make_built_in(small_spec(name));
  std::vector<std::string> states;
  uncut->init();
  states.push_back(uncut->save());
  for (step_t step = 0; step < 4; ++step) {
    train_changing(*uncut, name, step, step + 1);
    states.push_back(uncut->save());
  }
  for (step_t from = 0; from < 4; ++from) {
    cut->load(states[from]);
    const auto before = cut->evaluate();
    EXPECT_EQ(cut->evaluate(), before);
    train_changing(*cut, name, from, 4);
    EXPECT_TRUE(cut->save() == states[4]) << from;
  }
  uncut->init();
  EXPECT_TRUE(uncut->save() == states[0]);
}

TEST(LinearWorkload, LearnsAndExportsItsWeights) {
  const temporary_folder folder;
  const auto work = make_built_in(small_spec(name, 2000));
  work->init();
  EXPECT_NEAR(work->evaluate().at("val_loss"), std::log(10), 1e-9);
  work->train(default_configuration(name), 0, 5);
  EXPECT_GT(work->evaluate().at("val_accuracy"), 0.7);
  work->export_weights(folder.path + "/w.pt");
  const auto weights = read_weights(folder.path + "/w.pt");
  EXPECT_EQ(weights.at("weight").sizes(), (at::IntArrayRef{10, 784}));
  EXPECT_EQ(weights.at("bias").sizes(), (at::IntArrayRef{10}));
}

TEST(LinearWorkload, SeedArrivalsAndPartsChangeTheResult) {
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
  EXPECT_FALSE(plain == trained("arrivals", "exponential"));
  EXPECT_FALSE(plain == trained("parts", 3.));
  EXPECT_FALSE(plain == trained("loss", "least_squares"));
}

TEST(LinearWorkload, WrongInputSaysWhatIsWrong) {
  auto spec = small_spec(name);
  spec.options["data.train"] = 5.;
  EXPECT_NE(message_of<std::exception>([&] {
              make_built_in(spec);
            }).find("parts: 10 of 5 examples to train on: each part needs one"),
            std::string::npos);
  const auto work = make_built_in(small_spec(name)),
             other = make_built_in(small_spec(name, 100));
  EXPECT_NE(message_of<std::exception>([&] {
              work->load(other->save());
            }).find("a state of another model: 'table'"),
            std::string::npos);
}

} // namespace
} // namespace hippo
