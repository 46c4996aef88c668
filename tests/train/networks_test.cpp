// Networks against their reference implementations in Python, as
// reference/record_networks.py has recorded them.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/networks/convolution.hpp"
#include "hippo/train/torch/networks/networks.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "train/training_steps.hpp"
#include "hippo/train/torch/training.hpp"

namespace hippo {

namespace {

using nlohmann::json;

constexpr double tolerance = 1e-5;

const json& recording() {
  static const auto result =
    json::parse(std::ifstream{REFERENCE_FOLDER "/networks.json"});
  return result;
}

std::unique_ptr<model> network(const std::string& name, std::size_t classes) {
  if (!prepare_device("cpu"))
    throw std::runtime_error("no CPU");
  return make_network(name, {3, 32, 32, classes}, at::kCPU);
}

/// The formula of the recording: numbers of [-1, 1), and what `change` makes of
/// them.
at::Tensor numbers(const std::string& name, at::IntArrayRef shape,
                   const std::function<double(double)>& change) {
  std::uint64_t key = 0xcbf29ce484222325;
  for (const auto c : name)
    key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  auto result = at::empty(shape, at::kFloat);
  auto* out = result.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const auto x =
      scramble(key + static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15);
    out[i] =
      static_cast<float>(change(static_cast<double>(x >> 40) * 0x1p-23 - 1));
  }
  return result;
}

void fill(model& net) {
  const at::NoGradGuard no_grad;
  auto tensors = net.parameters();
  tensors.insert(tensors.end(), net.buffers().begin(), net.buffers().end());
  for (const auto& [name, x] : tensors) {
    const auto set = [&](const std::function<double(double)>& change) {
      x.copy_(numbers(name, x.sizes(), change));
    };
    if (x.dim() > 1)
      set([root = std::sqrt(6.0 / static_cast<double>(x[0].numel()))](
            double v) { return v * root; });
    else if (name.ends_with("running_var"))
      set([](double v) { return 1 + v / 2; });
    else if (name.ends_with("running_mean") || name == "fc.bias"
             || name == "classifier.1.bias")
      set([](double v) { return v / 4; });
    else if (name.ends_with("weight"))
      set([](double v) { return 0.3 * (1 + v / 2); });
    else
      set([](double v) {
        return std::abs(v) < 0.97 ? 1.5 + v / 4 : v < 0 ? -2.0 : 8.0;
      });
  }
}

at::Tensor images() {
  return numbers("images",
                 {recording().at("batch").get<std::int64_t>(), 3, 32, 32},
                 [](double v) { return 2 * v; });
}

at::Tensor tensor_of(const json& rows) {
  std::vector<at::Tensor> result;
  for (const auto& row : rows)
    result.push_back(at::tensor(row.get<std::vector<float>>()));
  return at::stack(result);
}

void expect_near(const at::Tensor& x, const at::Tensor& expected) {
  ASSERT_EQ(x.sizes(), expected.sizes());
  EXPECT_LE((x - expected).abs().max().item<double>(),
            tolerance * expected.abs().max().item<double>());
}

/// Compares tensors with what is recorded of them.
/// @param floor the least that counts as the scale of a tensor: some gradients
///              are nothing but rounding
void expect_summaries(const named_tensors& tensors, const json& expected,
                      double floor) {
  ASSERT_EQ(tensors.size(), expected.size());
  for (const auto& [name, x] : tensors) {
    ASSERT_TRUE(expected.contains(name)) << name;
    const auto& summary = expected.at(name);
    const auto flat = x.contiguous().flatten().to(at::kDouble);
    const auto size = flat.numel();
    const auto scale = std::max(summary.at("max").get<double>(), floor);
    const auto sums = tolerance
                      * std::max(summary.at("abs_sum").get<double>(),
                                 floor * static_cast<double>(size));
    EXPECT_NEAR(flat.sum().item<double>(), summary.at("sum").get<double>(),
                sums)
      << name;
    EXPECT_NEAR(flat.abs().sum().item<double>(),
                summary.at("abs_sum").get<double>(), sums)
      << name;
    EXPECT_NEAR(flat.abs().max().item<double>(),
                summary.at("max").get<double>(), tolerance * scale)
      << name;
    std::size_t i = 0;
    for (const auto at :
         {std::int64_t{0}, size / 4, size / 2, size * 3 / 4, size - 1})
      EXPECT_NEAR(flat[at].item<double>(),
                  summary.at("elements").at(i++).get<double>(),
                  tolerance * scale)
        << name << ' ' << at;
  }
}

} // namespace

class Networks : public testing::TestWithParam<std::string> {};

TEST_P(Networks, EvaluateAsTheReference) {
  const auto net = network(GetParam(), 10);
  fill(*net);
  const at::NoGradGuard no_grad;
  expect_near(
    net->forward(images(), nullptr),
    tensor_of(
      recording().at("runs").at(GetParam()).at("evaluation").at("scores")));
}

TEST_P(Networks, TrainAsTheReference) {
  const auto& expected = recording().at("runs").at(GetParam()).at("training");
  const auto net = network(GetParam(), 10);
  fill(*net);
  const auto none = dropping({});
  const auto scores = net->forward(images(), &none);
  expect_near(scores.detach(), tensor_of(expected.at("scores")));
  const auto labels =
    at::arange(recording().at("batch").get<std::int64_t>(), at::kLong) * 3 % 10;
  const auto loss = at::cross_entropy_loss(scores, labels);
  EXPECT_NEAR(loss.item<double>(), expected.at("loss").get<double>(),
              tolerance * expected.at("loss").get<double>());
  loss.backward();
  named_tensors gradients;
  for (const auto& [name, x] : net->parameters())
    gradients.emplace_back(name, x.grad());
  double largest = 0;
  for (const auto& x : expected.at("gradients"))
    largest = std::max(largest, x.at("max").get<double>());
  expect_summaries(gradients, expected.at("gradients"), largest / 100);
  expect_summaries(net->buffers(), expected.at("buffers"), 0);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Networks,
                         testing::Values("resnet20", "wrn16-4", "mobilenetv2"),
                         [](const auto& x) {
                           auto name = x.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Convolution, WeightGradientsByAProductAreThoseOfAutograd) {
  for (const std::int64_t side : {1, 3, 5})
    for (const std::int64_t stride : {1, 2})
      for (const std::int64_t channels : {1, 3, 8})
        for (const std::int64_t size : {5, 8})
          for (const auto layout :
               {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
            const auto options = at::TensorOptions().dtype(at::kDouble);
            const auto numbers = [&](at::IntArrayRef shape) {
              const auto n = c10::multiply_integers(shape);
              return at::arange(n, options).mul(0.7).sin().view(shape)
                .contiguous(layout);
            };
            const auto x = numbers({4, channels, size, size + 1});
            auto weight = numbers({6, channels, side, side});
            weight.set_requires_grad(true);
            const auto y = convolved(x, weight, stride, 1);
            const auto gradient = numbers(y.sizes());
            y.backward(gradient);
            EXPECT_TRUE(
              weight_gradient_by_product(x, gradient, weight, stride)
                .allclose(weight.grad()))
              << side << ' ' << stride << ' ' << channels << ' ' << size;
          }
}

TEST(MakeNetwork, AsManyParametersAsTheReferences) {
  const auto& counts = recording().at("parameters");
  EXPECT_EQ(counts.size(), 7);
  for (const auto& [name, by_classes] : counts.items())
    for (const auto& [classes, count] : by_classes.items()) {
      const auto net = network(name, std::stoul(classes));
      ASSERT_NE(net, nullptr) << name;
      std::int64_t sum = 0;
      for (const auto& [tensor, x] : net->parameters())
        sum += x.numel();
      EXPECT_EQ(sum, count.get<std::int64_t>()) << name << ' ' << classes;
    }
}

TEST(MakeImages, AreLearnedButNotAtOnce) {
  const image_form form{3, 32, 32, 10};
  constexpr std::int64_t count = 1000, batch = 25;
  const auto data = make_images(form, 1, {count, count});
  const auto tensors = [&](const image_set& set) {
    auto pixels = at::empty({count, 32, 32, 3}, at::kFloat);
    const resident_images source{data, set, at::kCPU};
    for (std::int64_t i = 0; i < count; ++i)
      put_image(source.arrays(), static_cast<std::size_t>(i), {},
                pixels.mutable_data_ptr<float>() + i * pixels.stride(0), 3);
    return std::pair{pixels.permute({0, 3, 1, 2}), at::tensor(set.labels)};
  };
  const auto net = make_network("cnn", form, at::kCPU);
  net->init(1);
  std::vector<at::Tensor> weights;
  for (const auto& [name, x] : net->parameters())
    weights.push_back(x);
  optimizer updates{weights};
  const update_rule rule{optimizer_kind::sgd, 0.02, 0.9, 0, 0, false};
  const auto none = dropping({});
  const auto [images, labels] = tensors(data.training);
  const auto [others, their_labels] = tensors(data.validation);
  std::vector<double> accuracies;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::int64_t first = 0; first < count; first += batch) {
      at::cross_entropy_loss(
        net->forward(images.narrow(0, first, batch), &none),
        labels.narrow(0, first, batch))
        .backward();
      update(updates, rule);
      for (auto& x : weights)
        x.mutable_grad().reset();
    }
    const at::NoGradGuard no_grad;
    accuracies.push_back(net->forward(others, nullptr)
                           .argmax(1)
                           .eq(their_labels)
                           .to(at::kDouble)
                           .mean()
                           .item<double>());
  }
  EXPECT_GT(accuracies[1], 0.3);
  EXPECT_LT(accuracies[0], 0.9);
  RecordProperty("accuracy", std::to_string(accuracies[1]));
}

TEST(MakeNetwork, KnowsNoOthers) {
  for (const auto* name : {"", "resnet", "resnet21", "wrn28-10"})
    EXPECT_EQ(make_network(name, {3, 32, 32, 10}, at::kCPU), nullptr)
      << name;
}

} // namespace hippo
