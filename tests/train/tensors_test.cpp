#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "hippo/train/torch/networks/networks.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/tensor_piece.hpp"
#include "hippo/train/torch/training_state.hpp"
#include "hippo/train/torch/weights_file.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"
#include "train/training_steps.hpp"

namespace hippo {

std::string describe_model(const std::string& state) {
  const std::string part = "model.";
  std::ostringstream out;
  for (const auto& [name, x] : tensors_from_bytes(state)) {
    if (!name.starts_with(part))
      continue;
    out << name.substr(part.size()) << ' ';
    for (std::int64_t i = 0; i < x.dim(); ++i)
      out << (i > 0 ? "x" : "") << x.size(i);
    out << ' '
        << crc32(0, static_cast<const Bytef*>(x.const_data_ptr()),
                 static_cast<uInt>(x.nbytes()))
        << '\n';
  }
  return out.str();
}

namespace {

/// One weight with a gradient.
at::Tensor weight_of(double value, double gradient) {
  auto x = at::full({1}, value, at::kFloat);
  x.set_requires_grad(true);
  x.mutable_grad() = at::full({1}, gradient, at::kFloat);
  return x;
}

void set_gradient(const at::Tensor& x, double gradient) {
  const at::NoGradGuard no_grad;
  x.grad().fill_(gradient);
}

} // namespace

TEST(Optimizer, SgdByHand) {
  update_rule rule;
  rule.lr = 0.1;
  rule.momentum = 0.5;
  rule.weight_decay = 0.2;
  const auto x = weight_of(1, 2);
  optimizer o{{x}};
  update(o, rule);
  // Gradient 2 + 0.2 * 1, which is also the first buffer.
  EXPECT_NEAR(x.item<double>(), 1 - 0.1 * 2.2, 1e-6);
  EXPECT_NEAR(o.first().tensors()[0].item<double>(), 2.2, 1e-6);
  set_gradient(x, 1);
  update(o, rule);
  const auto buffer = 0.5 * 2.2 + 1 + 0.2 * 0.78;
  EXPECT_NEAR(o.first().tensors()[0].item<double>(), buffer, 1e-6);
  EXPECT_NEAR(x.item<double>(), 0.78 - 0.1 * buffer, 1e-6);
  EXPECT_EQ(o.present().count, 2);
}

TEST(Optimizer, NesterovByHand) {
  update_rule rule;
  rule.lr = 0.1;
  rule.momentum = 0.5;
  rule.nesterov = true;
  const auto x = weight_of(1, 2);
  optimizer o{{x}};
  update(o, rule);
  EXPECT_NEAR(x.item<double>(), 1 - 0.1 * (2 + 0.5 * 2), 1e-6);
  EXPECT_NEAR(o.first().tensors()[0].item<double>(), 2, 1e-6);
}

TEST(Optimizer, AdamwByHand) {
  update_rule rule;
  rule.kind = optimizer_kind::adamw;
  rule.lr = 0.1;
  rule.momentum = 0.8;
  rule.beta2 = 0.9;
  rule.weight_decay = 0.2;
  const auto x = weight_of(1, 2);
  optimizer o{{x}};
  update(o, rule);
  // The corrections make the first update the gradient's sign.
  auto expected = 1 * (1 - 0.1 * 0.2) - 0.1 * 2 / (2 + 1e-8);
  EXPECT_NEAR(x.item<double>(), expected, 1e-6);
  set_gradient(x, -1);
  update(o, rule);
  const auto m = (0.8 * 0.2 * 2 + 0.2 * -1) / (1 - 0.8 * 0.8);
  const auto v = (0.9 * 0.1 * 4 + 0.1 * 1) / (1 - 0.9 * 0.9);
  expected = expected * (1 - 0.1 * 0.2) - 0.1 * m / (std::sqrt(v) + 1e-8);
  EXPECT_NEAR(x.item<double>(), expected, 1e-6);
}

TEST(Optimizer, AnotherKindBeginsAfresh) {
  update_rule sgd;
  sgd.lr = 0.1;
  sgd.momentum = 0.9;
  auto adamw = sgd;
  adamw.kind = optimizer_kind::adamw;
  adamw.beta2 = 0.999;
  const auto x = weight_of(1, 2);
  optimizer o{{x}};
  update(o, sgd);
  EXPECT_TRUE(o.second().empty());
  update(o, adamw);
  EXPECT_EQ(o.present().count, 1);
  EXPECT_NEAR(o.first().tensors()[0].item<double>(), 0.1 * 2, 1e-6);
  update(o, sgd);
  EXPECT_EQ(o.present().count, 1);
  EXPECT_NEAR(o.first().tensors()[0].item<double>(), 2, 1e-6);
}

TEST(Optimizer, WeightsThatDoNotDecay) {
  for (const auto kind : {optimizer_kind::sgd, optimizer_kind::adamw}) {
    update_rule rule;
    rule.kind = kind;
    rule.lr = 0.1;
    rule.beta2 = 0.9;
    rule.weight_decay = 0.2;
    const auto x = weight_of(1, 0), y = weight_of(2, 0);
    optimizer o{{x, y}, [](const at::Tensor& weight) {
                  return weight.item<double>() == 2;
                }};
    update(o, rule);
    EXPECT_EQ(x.item<double>(), 1);
    EXPECT_NEAR(y.item<double>(), 2 * (1 - 0.1 * 0.2), 1e-6);
  }
}

TEST(TrainingState, AStepThatFailedLeavesNoGradients) {
  for (const double scale : {1, 1024}) {
    const auto x = weight_of(3, 7);
    const training_state state{"some", {{"x", x}}, {}};
    state.go_back((x * x).sum(), scale);
    EXPECT_EQ(x.grad().item<double>(), 6);
  }
}

TEST(TrainingState, GradientsAreClipped) {
  const auto weight = [](double gradient) {
    auto x = at::zeros({1}, at::kFloat);
    x.set_requires_grad(true);
    x.mutable_grad() = at::full({1}, gradient, at::kFloat);
    return x;
  };
  // The gradients, the largest norm, and the gradients afterwards.
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [before, clip, after] :
       {std::tuple{std::pair{3.0, -4.0}, 1.0, std::pair{0.6, -0.8}},
        std::tuple{std::pair{0.3, 0.4}, 1.0, std::pair{0.3, 0.4}},
        std::tuple{std::pair{3.0, -4.0}, infinity, std::pair{3.0, -4.0}}}) {
    const auto x = weight(before.first), y = weight(before.second);
    const training_state state{"some", {{"x", x}, {"y", y}}, {}};
    step_values values{at::kCPU};
    values->clip = static_cast<float>(clip);
    state.clip_gradients(values);
    EXPECT_NEAR(x.grad().item<double>(), after.first, 1e-6);
    EXPECT_NEAR(y.grad().item<double>(), after.second, 1e-6);
  }
}

TEST(TensorPiece, TensorsStayWhatTheyAreForWhoeverHasThem) {
  auto x = at::arange(6, at::kFloat).view({2, 3}).set_requires_grad(true);
  const auto held = x; // as a network has it
  auto y = at::arange(24, at::kFloat)
             .view({1, 2, 3, 4})
             .contiguous(at::MemoryFormat::ChannelsLast);
  const auto before = y.clone();
  const auto strides = y.strides().vec();
  const tensor_piece piece{{x, y}};
  EXPECT_TRUE(held.detach().equal(at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_TRUE(held.requires_grad());
  EXPECT_TRUE(y.equal(before));
  EXPECT_EQ(y.strides().vec(), strides);
  // A change by any way is one of all.
  piece.all().mul_(2);
  EXPECT_TRUE(y.equal(before * 2));
  {
    const at::NoGradGuard no_grad;
    held.fill_(7);
  }
  EXPECT_TRUE(piece.places()[0].of(piece.all()).equal(at::full({2, 3}, 7.0F)));
  (held * held).sum().backward();
  EXPECT_TRUE(x.grad().equal(at::full({2, 3}, 14.0F)));
  // Each begins where vectors of any width may.
  for (const auto& place : piece.places())
    EXPECT_EQ(place.offset % 128, 0);
  EXPECT_LT(piece.places()[0].offset + 6, piece.places()[1].offset + 1);
}

TEST(TensorPiece, ZerosAreLikeTheTensors) {
  const auto x = at::ones({2, 3}), y = at::ones({5}).mul_(2);
  const auto zeros = tensor_piece::zeros_like({x, y});
  ASSERT_EQ(zeros.tensors().size(), 2);
  EXPECT_TRUE(zeros.tensors()[0].equal(at::zeros({2, 3})));
  EXPECT_TRUE(zeros.tensors()[1].equal(at::zeros({5})));
  EXPECT_TRUE(x.equal(at::ones({2, 3})));
  EXPECT_TRUE(tensor_piece{}.empty());
  EXPECT_TRUE(tensor_piece::zeros_like({}).empty());
}

TEST(TensorPiece, OtherNumbersAreRefused) {
  EXPECT_THROW((tensor_piece{{at::ones({2}), at::ones({2}, at::kDouble)}}),
               std::invalid_argument);
}

TEST(TensorFile, RoundTrip) {
  const tensor_map x{{"b", at::arange(6, at::kFloat).reshape({2, 3}).t()},
                     {"a", at::scalar_tensor(-1.5, at::kDouble)},
                     {"", at::empty({0, 3}, at::kLong)},
                     {"c", at::full({2}, std::nan(""), at::kFloat)}};
  const auto bytes = to_bytes(x);
  const auto y = tensors_from_bytes(bytes);
  ASSERT_EQ(y.size(), x.size());
  EXPECT_TRUE(y.at("b").equal(x.at("b")));
  EXPECT_TRUE(y.at("a").equal(x.at("a")));
  EXPECT_EQ(y.at("").sizes(), (at::IntArrayRef{0, 3}));
  EXPECT_EQ(to_bytes(y), bytes);
}

TEST(TensorFile, LayoutInMemoryDoesNotShow) {
  const auto x = at::arange(2 * 3 * 4 * 5, at::kFloat).reshape({2, 3, 4, 5});
  EXPECT_EQ(to_bytes({{"x", x}}),
            to_bytes({{"x", x.contiguous(at::MemoryFormat::ChannelsLast)}}));
}

TEST(TensorFile, EveryCutAndManyDamagesAreNoticedOrHarmless) {
  const auto bytes = to_bytes(
    {{"a", at::ones({2, 2}, at::kFloat)}, {"b", at::ones({1}, at::kLong)}});
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(tensors_from_bytes(bytes.substr(0, n)), std::runtime_error)
      << n;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (int flip : {1, 0x80, 0xff}) {
      auto damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      try {
        tensors_from_bytes(damaged);
      } catch (const std::runtime_error&) {
        continue; // noticed; values and names cannot be
      }
    }
}

TEST(TensorFile, CopiesOnlyWhatFits) {
  const auto x = at::zeros({2});
  const tensor_map to{{"x", x}};
  EXPECT_THROW(copy_into(to, {}), std::runtime_error);
  EXPECT_THROW(copy_into(to, {{"y", at::ones({2})}}), std::runtime_error);
  EXPECT_THROW(copy_into(to, {{"x", at::ones({3})}}), std::runtime_error);
  EXPECT_THROW(copy_into(to, {{"x", at::ones({2}, at::kDouble)}}),
               std::runtime_error);
  EXPECT_TRUE(x.equal(at::zeros({2})));
  copy_into(to, {{"x", at::ones({2})}});
  EXPECT_TRUE(x.equal(at::ones({2})));
}

constexpr image_form fashion{1, 28, 28, 10};

TEST(Model, DropsTheShareAndKeepsTheMean) {
  // Through the network's own interface: with all weights but the last
  // layer's bias at work, a share of 0 must equal no dropout at all.
  const auto x = make_network("mlp", fashion, at::kCPU);
  x->init(1);
  const at::NoGradGuard no_grad;
  const auto images = at::ones({4, 1, 28, 28});
  const auto plain = x->forward(images, nullptr);
  const auto none = dropping({1, 0, 0, 0});
  EXPECT_TRUE(x->forward(images, &none).equal(plain));
  const auto some = dropping({1, 0, 0, 0.25});
  const auto dropped = x->forward(images, &some);
  EXPECT_FALSE(dropped.equal(plain));
  EXPECT_TRUE(x->forward(images, &some).equal(dropped));
  const auto next = dropping({1, 0, 1, 0.25});
  EXPECT_FALSE(x->forward(images, &next).equal(dropped));
  // Averaged over many masks it comes near what evaluation computes.
  auto sum = at::zeros_like(plain);
  constexpr int masks = 500;
  for (int i = 0; i < masks; ++i) {
    const auto source = dropping({1, 1, static_cast<std::uint64_t>(i), 0.25});
    sum += x->forward(images, &source);
  }
  const auto distance = (sum / masks - plain).abs().mean().item<double>();
  EXPECT_LT(distance, 0.2 * plain.abs().mean().item<double>());
}

TEST(Model, ShapesOfScores) {
  for (const auto* name :
       {"mlp", "cnn", "resnet20", "wrn16-4", "mobilenetv2"}) {
    const auto x = make_network(name, fashion, at::kCPU);
    x->init(1);
    const at::NoGradGuard no_grad;
    EXPECT_EQ(x->forward(at::ones({5, 1, 28, 28}), nullptr).sizes(),
              (at::IntArrayRef{5, 10}))
      << name;
  }
}

TEST(Model, ResnetHasTwentyLayers) {
  // Weights of convolutions on the main path and of the linear layer.
  int layers = 0;
  const auto x = make_network("resnet20", fashion, at::kCPU);
  for (const auto& [name, tensor] : x->parameters())
    layers += tensor.dim() > 1 && name.find("downsample") == std::string::npos;
  EXPECT_EQ(layers, 20);
}

TEST(WeightsFile, ViewsAreWrittenWithoutTheRest) {
  const temporary_folder folder;
  const auto path = folder.path + "/w.pt";
  const auto all = at::arange(6, at::kFloat).view({1, 6});
  write_weights(path,
                {{"head", all.narrow(1, 0, 4)}, {"tail", all.select(1, 5)}});
  const auto read = read_weights(path);
  EXPECT_TRUE(read.at("head").equal(all.narrow(1, 0, 4)));
  EXPECT_TRUE(read.at("tail").equal(at::tensor({5.F})));
}

} // namespace hippo
