#include "hippo/train/torch/networks/network_families.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hippo {

namespace {

/// Hidden layers of one width.
class mlp final : public model {
public:
  mlp(int hidden, std::int64_t width, const image_form& form,
      const network_place& place)
    : model(place) {
    auto in = static_cast<std::int64_t>(form.size());
    for (int i = 0; i < hidden; ++i)
      layers_.push_back(
        add_linear(name_of(i), std::exchange(in, width), width));
    layers_.push_back(
      add_linear(name_of(hidden), in, static_cast<std::int64_t>(form.classes)));
  }

  at::Tensor scores_of(const at::Tensor& images,
                       const step_values* values) override {
    auto x = layers_.front()(features(images));
    for (std::size_t i = 1; i < layers_.size(); ++i)
      x = layers_[i].after_dropout(x.relu(), values, i - 1);
    return x;
  }

private:
  static std::string name_of(int layer) {
    return "fc" + std::to_string(layer + 1);
  }

  std::vector<linear_layer> layers_;
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

  at::Tensor scores_of(const at::Tensor& images,
                       const step_values* values) override {
    const bool training = values != nullptr;
    // Pooling first makes normalisation and ReLU four times cheaper.
    auto x = normalise(conv1_(images), bn1_, {.pool = true}, training);
    x = normalise(conv2_(x), bn2_, {.pool = true}, training);
    return fc_.after_dropout(features(x), values, 0);
  }

private:
  convolution conv1_;
  batch_norm bn1_;
  convolution conv2_;
  batch_norm bn2_;
  linear_layer fc_;
};

} // namespace

std::unique_ptr<model> make_mlp(int hidden, std::int64_t width,
                                const image_form& form,
                                const network_place& place) {
  return std::make_unique<mlp>(hidden, width, form, place);
}

std::unique_ptr<model> make_cnn(const image_form& form,
                                const network_place& place) {
  return std::make_unique<cnn>(form, place);
}

} // namespace hippo
