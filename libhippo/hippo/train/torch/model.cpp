#include "hippo/train/torch/model.hpp"

#include <cmath>
#include <optional>

#include "hippo/train/torch/kernels.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

namespace {

/// The two sides of what is not a batch: `x` as batch x features.
at::Tensor flat(const at::Tensor& x) {
  return x.flatten(1);
}

/// Two hidden layers of 128.
class mlp final : public model {
public:
  explicit mlp(at::Device device)
    : model(device), fc1_(add_linear("fc1", 784, 128)),
      fc2_(add_linear("fc2", 128, 128)), fc3_(add_linear("fc3", 128, 10)) {}

  at::Tensor forward(const at::Tensor& images,
                     const dropout_source* drop) override {
    auto x = dropped(fc1_(flat(images)).relu_(), drop, 0);
    x = dropped(fc2_(x).relu_(), drop, 1);
    return fc3_(x);
  }

private:
  linear_layer fc1_, fc2_, fc3_;
};

/// Two convolutions of 3 x 3, each pooled and normalised, and a linear layer.
class cnn final : public model {
public:
  explicit cnn(at::Device device)
    : model(device), conv1_(add_convolution("conv1", 1, 16, 3, 1)),
      bn1_(add_batch_norm("bn1", 16)),
      conv2_(add_convolution("conv2", 16, 32, 3, 1)),
      bn2_(add_batch_norm("bn2", 32)), fc_(add_linear("fc", 32 * 7 * 7, 10)) {}

  at::Tensor forward(const at::Tensor& images,
                     const dropout_source* drop) override {
    const bool training = drop != nullptr;
    // Pooling first makes normalisation and ReLU four times cheaper.
    auto x = normalise(conv1_(images), bn1_, {.pool = true}, training);
    x = normalise(conv2_(x), bn2_, {.pool = true}, training);
    return fc_(dropped(flat(x), drop, 0));
  }

private:
  convolution conv1_;
  batch_norm bn1_;
  convolution conv2_;
  batch_norm bn2_;
  linear_layer fc_;
};

/// ResNet-20 of He et al. (2016), for one channel, with projections where the
/// shape changes.
class resnet final : public model {
public:
  explicit resnet(at::Device device)
    : model(device), conv1_(add_convolution("conv1", 1, 16, 3, 1)),
      bn1_(add_batch_norm("bn1", 16)) {
    std::int64_t in = 16;
    for (int layer = 1; layer <= 3; ++layer) {
      const auto out = std::int64_t{8} << layer;
      for (int i = 0; i < 3; ++i) {
        blocks_.push_back(add_block(
          "layer" + std::to_string(layer) + '.' + std::to_string(i), in, out));
        in = out;
      }
    }
    fc_ = add_linear("fc", 64, 10);
  }

  at::Tensor forward(const at::Tensor& images,
                     const dropout_source* drop) override {
    const bool training = drop != nullptr;
    auto x = normalise(conv1_(images), bn1_, {}, training);
    for (const auto& b : blocks_) {
      const auto shortcut
        = b.shortcut ? normalise(b.shortcut.value()(x), b.shortcut_bn,
                                 {.relu = false}, training)
                     : x;
      x = normalise(b.conv1(x), b.bn1, {}, training);
      x = normalise(b.conv2(x), b.bn2, {.residual = shortcut}, training);
    }
    return fc_(dropped(x.mean({2, 3}), drop, 0));
  }

private:
  struct block {
    convolution conv1;
    batch_norm bn1;
    convolution conv2;
    batch_norm bn2;
    std::optional<convolution> shortcut; ///< where the shape changes
    batch_norm shortcut_bn;
  };

  block add_block(const std::string& name, std::int64_t in, std::int64_t out) {
    const std::int64_t stride = in == out ? 1 : 2;
    block b{add_convolution(name + ".conv1", in, out, 3, stride),
            add_batch_norm(name + ".bn1", out),
            add_convolution(name + ".conv2", out, out, 3, 1),
            add_batch_norm(name + ".bn2", out),
            std::nullopt,
            {}};
    if (in != out) {
      b.shortcut = add_convolution(name + ".downsample.0", in, out, 1, stride);
      b.shortcut_bn = add_batch_norm(name + ".downsample.1", out);
    }
    return b;
  }

  convolution conv1_;
  batch_norm bn1_;
  std::vector<block> blocks_;
  linear_layer fc_;
};

} // namespace

at::Tensor model::linear_layer::operator()(const at::Tensor& x) const {
  return at::linear(x, weight, bias);
}

at::Tensor model::convolution::operator()(const at::Tensor& x) const {
  return at::conv2d(x, weight, {}, stride, weight.size(2) / 2);
}

at::Tensor model::add_parameter(const std::string& name, at::IntArrayRef shape,
                                at::MemoryFormat format) {
  auto x =
    at::empty(shape, at::TensorOptions(device_).dtype(at::kFloat), format);
  x.set_requires_grad(true);
  parameters_.emplace_back(name, x);
  return x;
}

model::linear_layer model::add_linear(const std::string& name, std::int64_t in,
                                      std::int64_t out) {
  return {add_parameter(name + ".weight", {out, in}),
          add_parameter(name + ".bias", {out})};
}

model::convolution model::add_convolution(const std::string& name,
                                          std::int64_t in, std::int64_t out,
                                          std::int64_t size,
                                          std::int64_t stride) {
  return {add_parameter(name + ".weight", {out, in, size, size},
                        at::MemoryFormat::ChannelsLast),
          stride};
}

batch_norm model::add_batch_norm(const std::string& name,
                                        std::int64_t channels) {
  batch_norm x{add_parameter(name + ".weight", {channels}),
               add_parameter(name + ".bias", {channels}),
               at::empty({channels}, device_), at::empty({channels}, device_)};
  buffers_.emplace_back(name + ".running_mean", x.mean);
  buffers_.emplace_back(name + ".running_var", x.variance);
  return x;
}

at::Tensor model::dropped(const at::Tensor& x, const dropout_source* drop,
                          std::uint64_t layer) {
  if (drop == nullptr || drop->share == 0)
    return x;
  // Made on the CPU by arithmetic of our own, so that it is the same for every
  // device and library.
  const random_numbers numbers{
    drop->seed, purpose::dropout, {drop->step, drop->iteration, layer}};
  auto mask = at::empty(x.sizes(), at::kFloat);
  kernels::best().dropout_mask(numbers.key(), 0, mask.numel(),
                        static_cast<std::uint32_t>(drop->share * 0x1p32),
                        static_cast<float>(1 / (1 - drop->share)),
                        mask.mutable_data_ptr<float>());
  return x * mask.to(x.device());
}

void model::init(std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::uint64_t index = 0;
  for (const auto& [name, x] : parameters_) {
    ++index;
    if (x.dim() == 1) {
      // A one-dimensional weight is the scale of a normalisation.
      x.fill_(name.ends_with(".weight") ? 1 : 0);
      continue;
    }
    // As PyTorch begins with its Linear and Conv2d.
    const auto inputs = x[0].numel();
    const auto bound = 1 / std::sqrt(static_cast<double>(inputs));
    random_numbers numbers{seed, purpose::weights, {index}};
    auto values = at::empty(x.sizes(), at::kFloat);
    auto* out = values.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < values.numel(); ++i)
      out[i] = static_cast<float>((2 * numbers.uniform() - 1) * bound);
    x.copy_(values);
  }
  for (const auto& [name, x] : buffers_)
    x.fill_(name.ends_with(".running_var") ? 1 : 0);
}

std::unique_ptr<model> make_model(const std::string& name, at::Device device) {
  if (name == "fashion-mlp")
    return std::make_unique<mlp>(device);
  if (name == "fashion-cnn")
    return std::make_unique<cnn>(device);
  return std::make_unique<resnet>(device);
}

} // namespace hippo
