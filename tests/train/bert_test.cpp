// BERT against transformers' BertForQuestionAnswering, which reference/bert.py
// has recorded.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "hippo/train/torch/networks/bert.hpp"
#include "train/training_steps.hpp"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/training.hpp"

namespace hippo {

namespace {

using nlohmann::json;

const json& reference() {
  static const auto result = [] {
    std::ifstream file{REFERENCE_FOLDER "/bert.json"};
    return json::parse(file);
  }();
  return result;
}

bert_sizes sizes_of(const json& x) {
  return {x.at("vocab_size"),        x.at("hidden_size"),
          x.at("num_hidden_layers"), x.at("num_attention_heads"),
          x.at("intermediate_size"), x.at("max_position_embeddings")};
}

std::int64_t count(const bert_sizes& sizes) {
  // Without memory: the shapes alone.
  const bert x{sizes, at::kMeta};
  std::int64_t result = 0;
  for (const auto& [name, weights] : x.parameters())
    result += weights.numel();
  return result;
}

/// The numbers that bert.py makes for a parameter, of [-1, 1).
std::vector<double> numbers(std::uint64_t parameter, std::int64_t size) {
  random_numbers source{7, purpose::weights, {parameter}};
  std::vector<double> result;
  for (std::int64_t i = 0; i < size; ++i)
    result.push_back(2 * source.uniform() - 1);
  return result;
}

/// Fills the weights as bert.py does.
void fill(const bert& network) {
  const at::NoGradGuard no_grad;
  std::uint64_t index = 0;
  for (const auto& [name, x] : network.parameters()) {
    const bool scale = name.ends_with("LayerNorm.weight");
    auto* out = x.mutable_data_ptr<float>();
    for (const auto number : numbers(index, x.numel()))
      *out++ = static_cast<float>(scale ? 1 + 0.3 * number : 0.2 * number);
    ++index;
  }
}

/// A tensor of a list of numbers, or of a list of lists of them.
at::Tensor tensor_of(const json& xs) {
  if (!xs.front().is_array())
    return at::tensor(xs.get<std::vector<double>>(), at::kDouble);
  std::vector<at::Tensor> rows;
  for (const auto& x : xs)
    rows.push_back(tensor_of(x));
  return at::stack(rows);
}

bert_inputs inputs_of(const json& x) {
  bert_inputs result;
  result.tokens = tensor_of(x.at("tokens")).to(at::kLong);
  result.segments = tensor_of(x.at("segments")).to(at::kLong);
  const auto present = tensor_of(x.at("present")).unsqueeze(1);
  result.present = at::arange(result.tokens.size(1)).unsqueeze(0).lt(present);
  return result;
}

double largest_difference(const at::Tensor& x, const json& expected) {
  return (x.to(at::kDouble) - tensor_of(expected)).abs().max().item<double>();
}

/// A network of a few weights.
bert small_network() {
  bert x{{40, 8, 2, 2, 12, 16}, at::kCPU};
  x.init(1);
  return x;
}

bert_inputs small_inputs() {
  bert_inputs x;
  x.tokens = at::arange(1, 13, at::kLong).reshape({2, 6});
  x.segments = at::zeros({2, 6}, at::kLong);
  x.present = at::ones({2, 6}, at::kBool);
  return x;
}

} // namespace

class BertReference : public testing::TestWithParam<const char*> {};

TEST_P(BertReference, ResultsAndGradientsAreEqual) {
  ASSERT_TRUE(prepare_device("cpu"));
  constexpr double tolerance = 1e-5;
  const auto& expected = reference().at("networks").at(GetParam());
  const bert network{sizes_of(expected.at("sizes")), at::kCPU};
  fill(network);

  const auto scores = network.forward(inputs_of(expected), nullptr);
  EXPECT_LT(largest_difference(scores.start, expected.at("start_logits")),
            tolerance);
  EXPECT_LT(largest_difference(scores.end, expected.at("end_logits")),
            tolerance);
  const auto loss =
    span_loss(scores, tensor_of(expected.at("starts")).to(at::kLong),
              tensor_of(expected.at("ends")).to(at::kLong),
              at::Reduction::Mean);
  EXPECT_NEAR(loss.item<double>(), expected.at("loss").get<double>(),
              tolerance);

  loss.backward();
  const auto& gradients = expected.at("gradients");
  ASSERT_EQ(network.parameters().size(), gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& right = gradients[i];
    const auto& [name, weights] = network.parameters()[i];
    ASSERT_EQ(name, right.at("name"));
    ASSERT_EQ(weights.sizes().vec(), right.at("shape"));
    const auto x = weights.grad().to(at::kDouble).flatten();
    const auto projected =
      x.dot(at::tensor(numbers(1000 + i, x.numel()), at::kDouble));
    const auto sums =
      tolerance * std::max(1., right.at("abs_sum").get<double>());
    EXPECT_NEAR(x.sum().item<double>(), right.at("sum"), sums) << name;
    EXPECT_NEAR(x.abs().sum().item<double>(), right.at("abs_sum"), sums)
      << name;
    EXPECT_NEAR(projected.item<double>(), right.at("projection"), sums) << name;
    // Gradients below a hundredth are sums of larger ones that cancel out.
    const auto each = tolerance * std::max(0.01, right.at("max").get<double>());
    for (std::size_t j = 0; j < right.at("at").size(); ++j) {
      const auto at = right.at("at")[j].get<std::int64_t>();
      EXPECT_NEAR(x[at].item<double>(), right.at("values")[j], each)
        << name << ' ' << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BertReference, testing::Values("tiny", "odd"),
                         [](const auto& x) { return std::string{x.param}; });

TEST(Bert, ParameterCountsAreThoseOfTheReference) {
  const auto& counts = reference().at("parameters");
  EXPECT_EQ(count({1024, 128, 2, 2, 512}), counts.at("tiny"));
  EXPECT_EQ(count({30522, 768, 12, 12, 3072}), counts.at("base"));
}

TEST(Bert, BeginsAsBertDoes) {
  bert network{{500, 64, 1, 2, 256}, at::kCPU};
  network.init(3);
  for (const auto& [name, x] : network.parameters())
    if (x.dim() == 1) {
      EXPECT_TRUE(x.eq(name.ends_with(".weight") ? 1 : 0).all().item<bool>())
        << name;
    } else if (x.numel() > 10000) {
      // Words have a row of zeros.
      EXPECT_NEAR(x.mean().item<double>(), 0, 0.001) << name;
      EXPECT_NEAR(x.std().item<double>(), 0.02, 0.001) << name;
      // A normal distribution has 4.55 % beyond two deviations.
      EXPECT_NEAR(x.abs().gt(0.04).to(at::kFloat).mean().item<double>(), 0.0455,
                  0.005)
        << name;
    }
}

TEST(Bert, PaddingDoesNotShow) {
  const auto network = small_network();
  const at::NoGradGuard no_grad;
  auto inputs = small_inputs();
  const auto plain = network.forward(inputs, nullptr);
  const auto zeros = at::zeros({2, 3}, at::kLong);
  inputs.tokens = at::cat({inputs.tokens, zeros + 7}, 1);
  inputs.segments = at::cat({inputs.segments, zeros + 1}, 1);
  inputs.present = at::cat({inputs.present, zeros.to(at::kBool)}, 1);
  const auto padded = network.forward(inputs, nullptr);
  EXPECT_TRUE(padded.start.narrow(1, 0, 6).allclose(plain.start, 1e-5, 1e-6));
  EXPECT_TRUE(padded.end.narrow(1, 0, 6).allclose(plain.end, 1e-5, 1e-6));
}

TEST(Bert, MasksAreThoseOfTheirAddress) {
  const auto network = small_network();
  const at::NoGradGuard no_grad;
  const auto inputs = small_inputs();
  const auto start = [&](const dropout_source& source) {
    const auto rows = dropping(source);
    return network.forward(inputs, &rows).start;
  };
  const auto plain = network.forward(inputs, nullptr).start;
  EXPECT_TRUE(start({1, 2, 3, 0}).equal(plain));
  const auto dropped = start({1, 2, 3, 0.3});
  EXPECT_FALSE(dropped.equal(plain));
  EXPECT_TRUE(start({1, 2, 3, 0.3}).equal(dropped));
  EXPECT_FALSE(start({2, 2, 3, 0.3}).equal(dropped));
  EXPECT_FALSE(start({1, 3, 3, 0.3}).equal(dropped));
  EXPECT_FALSE(start({1, 2, 4, 0.3}).equal(dropped));
}

TEST(Bert, AttentionInOneIsTheSame) {
  const auto heads = [](std::int64_t first) {
    return at::arange(first, first + 2 * 3 * 5 * 4, at::kFloat)
      .sin()
      .view({2, 3, 5, 4});
  };
  auto present = at::ones({2, 1, 1, 5}, at::kBool);
  present[1][0][0][3] = present[1][0][0][4] = false;
  const attention_inputs x{heads(1), heads(400), heads(90), present};
  const auto none = [](const at::Tensor& y) { return y; };
  EXPECT_TRUE(
    attend_in_one(x, 0).allclose(attend(x, none), 1e-5, 1e-6));
  EXPECT_FALSE(attend_in_one(x, 0.5).allclose(attend_in_one(x, 0)));
}

} // namespace hippo
