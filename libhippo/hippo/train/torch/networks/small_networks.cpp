#include "hippo/train/torch/networks/network_families.hpp"

namespace hippo {

namespace {

/// Two hidden layers of 128.
class mlp final : public model {
public:
  mlp(const image_form& form, const network_place& place)
    : model(place),
      fc1_(add_linear("fc1", static_cast<std::int64_t>(form.size()), 128)),
      fc2_(add_linear("fc2", 128, 128)),
      fc3_(add_linear("fc3", 128, static_cast<std::int64_t>(form.classes))) {}

  at::Tensor forward(const at::Tensor& images,
                     const step_values* values) override {
    auto x = dropped(fc1_(features(images)).relu(), values, 0);
    x = dropped(fc2_(x).relu(), values, 1);
    return fc3_(x);
  }

private:
  linear_layer fc1_, fc2_, fc3_;
};

/// Two convolutions of 3 x 3, each pooled and normalised, and a linear layer.
class cnn final : public model {
public:
  cnn(const image_form& form, const network_place& place)
    : model(place),
      conv1_(add_convolution("conv1", sides_of(form),
                             static_cast<std::int64_t>(form.channels), 16, 3,
                             1)),
      bn1_(add_batch_norm("bn1", 16)),
      conv2_(add_convolution("conv2", sides_of(form).after(2), 16, 32, 3, 1)),
      bn2_(add_batch_norm("bn2", 32)),
      fc_(add_linear(
        "fc",
        static_cast<std::int64_t>(32 * (form.height / 4) * (form.width / 4)),
        static_cast<std::int64_t>(form.classes))) {}

  at::Tensor forward(const at::Tensor& images,
                     const step_values* values) override {
    const bool training = values != nullptr;
    // Pooling first makes normalisation and ReLU four times cheaper.
    auto x = normalise(conv1_(images), bn1_, {.pool = true}, training);
    x = normalise(conv2_(x), bn2_, {.pool = true}, training);
    return fc_(dropped(features(x), values, 0));
  }

private:
  convolution conv1_;
  batch_norm bn1_;
  convolution conv2_;
  batch_norm bn2_;
  linear_layer fc_;
};

} // namespace

std::unique_ptr<model> make_mlp(const image_form& form,
                                const network_place& place) {
  return std::make_unique<mlp>(form, place);
}

std::unique_ptr<model> make_cnn(const image_form& form,
                                const network_place& place) {
  return std::make_unique<cnn>(form, place);
}

} // namespace hippo
