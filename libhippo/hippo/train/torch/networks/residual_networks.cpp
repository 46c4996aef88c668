#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/networks/network_families.hpp"

namespace hippo {

namespace {

std::string block_name(int layer, int index) {
  return "layer" + std::to_string(layer) + '.' + std::to_string(index);
}

/// He et al. (2016): after a convolution, three groups of blocks with 16, 32
/// and 64 channels; the names are those of torchvision's `ResNet`.
class residual_network final : public model {
public:
  residual_network(int depth, const image_form& form,
                   const network_place& place)
    : model(place),
      conv1_(add_convolution("conv1", sides_of(form),
                             static_cast<std::int64_t>(form.channels), 16, 3,
                             1)),
      bn1_(add_batch_norm("bn1", 16)) {
    auto images = sides_of(form);
    std::int64_t in = 16;
    for (int layer = 1; layer <= 3; ++layer) {
      const auto out = std::int64_t{8} << layer;
      for (int i = 0; i < (depth - 2) / 6; ++i) {
        blocks_.push_back(add_block(block_name(layer, i), images, in, out));
        in = out;
      }
    }
    fc_ = add_linear("fc", in, static_cast<std::int64_t>(form.classes));
  }

  at::Tensor scores_of(const at::Tensor& images,
                       const step_values* values) override {
    const bool training = values != nullptr;
    auto x = normalise(conv1_(images), bn1_, {}, training);
    for (const auto& b : blocks_) {
      const auto shortcut = b.shortcut
                              ? normalise(b.shortcut.value()(x), b.shortcut_bn,
                                          {.last = activation::none}, training)
                              : x;
      x = normalise(b.conv1(x), b.bn1, {}, training);
      x = normalise(b.conv2(x), b.bn2, {.residual = shortcut}, training);
    }
    return fc_.after_dropout(features(x.mean({2, 3})), values, 0);
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

  /// @param images that it gets; then those that it gives
  block add_block(const std::string& name, sides& images, std::int64_t in,
                  std::int64_t out) {
    const std::int64_t stride = in == out ? 1 : 2;
    const auto given = std::exchange(images, images.after(stride));
    block b{add_convolution(name + ".conv1", given, in, out, 3, stride),
            add_batch_norm(name + ".bn1", out),
            add_convolution(name + ".conv2", images, out, out, 3, 1),
            add_batch_norm(name + ".bn2", out),
            std::nullopt,
            {}};
    if (in != out) {
      b.shortcut
        = add_convolution(name + ".downsample.0", given, in, out, 1, stride);
      b.shortcut_bn = add_batch_norm(name + ".downsample.1", out);
    }
    return b;
  }

  convolution conv1_;
  batch_norm bn1_;
  std::vector<block> blocks_;
  linear_layer fc_;
};

/// Zagoruyko and Komodakis (2016): normalisation and ReLU before each
/// convolution, and where the shape changes also before the shortcut's.
class wide_residual_network final : public model {
public:
  wide_residual_network(int depth, int width, const image_form& form,
                        const network_place& place)
    : model(place),
      conv1_(add_convolution("conv1", sides_of(form),
                             static_cast<std::int64_t>(form.channels), 16, 3,
                             1)) {
    auto images = sides_of(form);
    std::int64_t in = 16;
    for (int layer = 1; layer <= 3; ++layer) {
      const auto out = (std::int64_t{8} << layer) * width;
      for (int i = 0; i < (depth - 4) / 6; ++i) {
        const std::int64_t stride = layer > 1 && i == 0 ? 2 : 1;
        blocks_.push_back(
          add_block(block_name(layer, i), images, in, out, stride));
        in = out;
      }
    }
    bn1_ = add_batch_norm("bn1", in);
    fc_ = add_linear("fc", in, static_cast<std::int64_t>(form.classes));
  }

  at::Tensor scores_of(const at::Tensor& images,
                       const step_values* values) override {
    const bool training = values != nullptr;
    auto x = conv1_(images);
    for (const auto& b : blocks_) {
      const auto active = normalise(x, b.bn1, {}, training);
      const auto middle = normalise(b.conv1(active), b.bn2, {}, training);
      x = b.conv2(middle) + (b.shortcut ? b.shortcut.value()(active) : x);
    }
    x = normalise(x, bn1_, {}, training);
    return fc_.after_dropout(features(x.mean({2, 3})), values, 0);
  }

private:
  struct block {
    batch_norm bn1;
    convolution conv1;
    batch_norm bn2;
    convolution conv2;
    std::optional<convolution> shortcut; ///< where the shape changes
  };

  /// @param images that it gets; then those that it gives
  block add_block(const std::string& name, sides& images, std::int64_t in,
                  std::int64_t out, std::int64_t stride) {
    const auto given = std::exchange(images, images.after(stride));
    block b{add_batch_norm(name + ".bn1", in),
            add_convolution(name + ".conv1", given, in, out, 3, stride),
            add_batch_norm(name + ".bn2", out),
            add_convolution(name + ".conv2", images, out, out, 3, 1),
            std::nullopt};
    if (in != out)
      b.shortcut
        = add_convolution(name + ".shortcut", given, in, out, 1, stride);
    return b;
  }

  convolution conv1_;
  std::vector<block> blocks_;
  batch_norm bn1_;
  linear_layer fc_;
};

} // namespace

std::unique_ptr<model> make_residual_network(int depth, const image_form& form,
                                             const network_place& place) {
  return std::make_unique<residual_network>(depth, form, place);
}

std::unique_ptr<model> make_wide_residual_network(int depth, int width,
                                                  const image_form& form,
                                                  const network_place& place) {
  return std::make_unique<wide_residual_network>(depth, width, form, place);
}

} // namespace hippo
