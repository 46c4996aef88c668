#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/networks/network_families.hpp"

namespace hippo {

namespace {

/// A stage of equal blocks, the first of which may have a stride.
struct stage {
  std::int64_t expansion, channels;
  int blocks;
  std::int64_t stride;
};

/// Table 2 of the paper. For small images the stage of 24 channels keeps the
/// size, as the first convolution does.
constexpr std::array<stage, 7> stages{{{1, 16, 1, 1},
                                       {6, 24, 2, 1},
                                       {6, 32, 3, 2},
                                       {6, 64, 4, 2},
                                       {6, 96, 3, 1},
                                       {6, 160, 3, 2},
                                       {6, 320, 1, 1}}};

/// Sandler et al. (2018); the names are those of torchvision's `MobileNetV2`.
class mobilenet final : public model {
public:
  mobilenet(const image_form& form, const network_place& place)
    : model(place), images_(sides_of(form)),
      first_(add_unit("features.0.0", "features.0.1",
                      static_cast<std::int64_t>(form.channels), 32, 3, 1, 1)) {
    std::int64_t in = 32;
    int index = 0;
    for (const auto& s : stages)
      for (int i = 0; i < s.blocks; ++i) {
        blocks_.push_back(
          add_block("features." + std::to_string(++index) + ".conv.", in, s,
                    i == 0 ? s.stride : 1));
        in = s.channels;
      }
    const auto name = "features." + std::to_string(++index);
    last_ = add_unit(name + ".0", name + ".1", in, 1280, 1, 1, 1);
    classifier_ =
      add_linear("classifier.1", 1280, static_cast<std::int64_t>(form.classes));
  }

  at::Tensor scores_of(const at::Tensor& images,
                       const step_values* values) override {
    const bool training = values != nullptr;
    auto x = active(first_, images, training);
    for (const auto& b : blocks_) {
      auto y = b.expansion ? active(*b.expansion, x, training) : x;
      y = active(b.depthwise, y, training);
      x = normalise(
        b.projection.conv(y), b.projection.bn,
        {.residual = b.shortcut ? x : at::Tensor{}, .last = activation::none},
        training);
    }
    x = active(last_, x, training);
    return classifier_.after_dropout(features(x.mean({2, 3})), values, 0);
  }

private:
  /// A convolution and what normalises it.
  struct unit {
    convolution conv;
    batch_norm bn;
  };

  struct block {
    std::optional<unit> expansion;
    unit depthwise;
    unit projection;
    bool shortcut;
  };

  unit add_unit(const std::string& conv, const std::string& bn, std::int64_t in,
                std::int64_t out, std::int64_t size, std::int64_t stride,
                std::int64_t groups) {
    const auto given = std::exchange(images_, images_.after(stride));
    return {add_convolution(conv, given, in, out, size, stride, groups),
            add_batch_norm(bn, out)};
  }

  block add_block(const std::string& name, std::int64_t in, const stage& s,
                  std::int64_t stride) {
    const auto inner = in * s.expansion;
    int index = 0;
    const auto next = [&] { return name + std::to_string(index++); };
    const auto add_active = [&](std::int64_t from, std::int64_t size,
                                std::int64_t by, std::int64_t groups) {
      const auto part = next();
      return add_unit(part + ".0", part + ".1", from, inner, size, by, groups);
    };
    block b;
    if (s.expansion != 1)
      b.expansion = add_active(in, 1, 1, 1);
    b.depthwise = add_active(inner, 3, stride, inner);
    const auto conv = next();
    b.projection = add_unit(conv, next(), inner, s.channels, 1, 1, 1);
    b.shortcut = stride == 1 && in == s.channels;
    return b;
  }

  /// Convolution, normalisation and ReLU6.
  static at::Tensor active(const unit& u, const at::Tensor& x, bool training) {
    return normalise(u.conv(x), u.bn, {.last = activation::relu6}, training);
  }

  sides images_; ///< that the next layer gets
  unit first_;
  std::vector<block> blocks_;
  unit last_;
  linear_layer classifier_;
};

} // namespace

std::unique_ptr<model> make_mobilenet(const image_form& form,
                                      const network_place& place) {
  return std::make_unique<mobilenet>(form, place);
}

} // namespace hippo
