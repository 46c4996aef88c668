#include "hippo/train/torch/kernels/step_kernels.hpp"

#include <algorithm>

#include "hippo/train/torch/augmentation.hpp"
#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/kernels/kernels.hpp"
#include "hippo/train/torch/kernels/launch.hpp"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/subnetworks.hpp"

namespace hippo {

namespace {

float* floats_of(const at::Tensor& x) {
  return x.mutable_data_ptr<float>();
}

/// Drops the activations of each slot by the mask of its subnetwork.
/// @param from,to examples x features
void drop_by_subnetworks(const hippo_cuda_step& values, std::uint64_t layer,
                         const at::Tensor& from, const at::Tensor& to) {
  const auto examples = from.size(0);
  const auto features = from.numel() / examples;
  const auto block = std::int64_t{values.dropout_block};
  const bool are_floats = from.scalar_type() == at::kFloat;
  const auto mask = at::empty({features}, at::kFloat);
  auto* out = floats_of(mask);
  const auto drop = [&](std::int64_t first, std::int64_t count,
                        const random_numbers& numbers) {
    kernels::best().subnetwork_mask(numbers.key(), features, block,
                                    values.dropout_limit, values.dropout_scale,
                                    out);
    if (are_floats) {
      const auto at = first * features;
      kernels::best().mask_rows(from.const_data_ptr<float>() + at, count,
                                features, out, floats_of(to) + at);
      return;
    }
    const auto rows = [&](const at::Tensor& all) {
      return all.view({examples, features}).narrow(0, first, count);
    };
    // A product of floats, which is rounded once.
    rows(to).copy_(rows(from).to(at::kFloat).mul_(mask));
  };
  each_slot(values, layer, examples, drop);
}

class cpu_step_kernels final : public step_kernels {
public:
  void put_batch(const hippo_cuda_images& set, const step_values& values,
                 const at::Tensor& images,
                 const at::Tensor& targets) const override {
    const augmentation_strength strength{values->crop, values->flip,
                                         values->cutout};
    auto* target = floats_of(targets);
    const auto* order = set.order + values->first;
    for (std::int64_t i = 0; i < targets.size(0); ++i) {
      const auto image = order[i];
      put_image(set, set.of_batch != 0 ? static_cast<std::size_t>(i) : image,
                draw_augmentation(values->seed, values->step, image, strength,
                                  set.height, set.width),
                floats_of(images) + i * images.stride(0), set.channels);
      for (std::int32_t c = 0; c < set.classes; ++c)
        *target++ =
          target_share(set.labels[image] == c, values->smoothing, set.classes);
    }
  }

  void drop(const step_values& values, std::uint64_t layer,
            const at::Tensor& from, const at::Tensor& to) const override {
    if (values->dropout_slots != 0) {
      drop_by_subnetworks(*values, layer, from, to);
      return;
    }
    auto mask = at::empty({from.numel()}, at::kFloat);
    const random_numbers numbers{
      values->seed,
      purpose::dropout,
      {values->step, values->iteration, layer}};
    kernels::best().dropout_mask(numbers.key(), 0, from.numel(),
                                 values->dropout_limit, values->dropout_scale,
                                 floats_of(mask));
    to.copy_(mask.view(from.sizes()).mul_(from));
  }

  void update(const weight_update& update,
              const step_values& values) const override {
    const auto& rule = values->rule;
    for (std::size_t k = 0; k < update.weights.size(); ++k) {
      const auto size = update.weights[k].numel();
      const bool decays = update.decays[k];
      auto* weight = floats_of(update.weights[k]);
      const auto* gradient = update.gradients[k].const_data_ptr<float>();
      auto* first = floats_of(update.first[k]);
      if (rule.kind == hippo_cuda_sgd)
        kernels::best().sgd(weight, gradient, first, size, rule.lr,
                            rule.momentum, decays ? rule.weight_decay : 0,
                            rule.nesterov != 0);
      else
        kernels::best().adamw(weight, gradient, first,
                              floats_of(update.second[k]), size,
                              {decays ? rule.decay : 1, rule.beta1, rule.beta2,
                               rule.step_size, rule.root, rule.epsilon});
    }
  }
};

class gpu_step_kernels final : public step_kernels {
public:
  explicit gpu_step_kernels(const cuda_kernels& table) : table_(table) {}

  void put_batch(const hippo_cuda_images& set, const step_values& values,
                 const at::Tensor& images,
                 const at::Tensor& targets) const override {
    check(table_.image_batch(&set, values.published(), targets.size(0),
                             floats_of(images), floats_of(targets),
                             stream_of(images)));
  }

  void drop(const step_values& values, std::uint64_t layer,
            const at::Tensor& from, const at::Tensor& to) const override {
    check(table_.dropout(values.published(), layer, from.size(0), from.numel(),
                         type_of(from), from.const_data_ptr(),
                         to.mutable_data_ptr(), stream_of(from)));
  }

  void update(const weight_update& update,
              const step_values& values) const override {
    constexpr std::size_t most = HIPPO_CUDA_WEIGHTS_MAX;
    for (std::size_t from = 0; from < update.weights.size(); from += most) {
      const auto to = std::min(from + most, update.weights.size());
      hippo_cuda_weights some{};
      for (auto k = from; k < to; ++k) {
        const auto i = k - from;
        some.weight[i] = floats_of(update.weights[k]);
        some.gradient[i] = update.gradients[k].const_data_ptr<float>();
        some.first[i] = floats_of(update.first[k]);
        some.second[i] =
          update.second.empty() ? nullptr : floats_of(update.second[k]);
        some.size[i] = update.weights[k].numel();
        some.decays[i] = update.decays[k] ? 1 : 0;
      }
      some.count = static_cast<std::int32_t>(to - from);
      check(table_.update(&some, values.published(),
                          stream_of(update.weights.front())));
    }
  }

private:
  void check(int result) const { check_launch(table_, result); }

  cuda_kernels table_;
};

} // namespace

const step_kernels& step_kernels::of(at::Device device) {
  if (device.is_cpu()) {
    static const cpu_step_kernels result;
    return result;
  }
  static const auto result = make_step_kernels(needed_cuda_kernels());
  return *result;
}

std::unique_ptr<step_kernels> make_step_kernels(const cuda_kernels& table) {
  return std::make_unique<gpu_step_kernels>(table);
}

} // namespace hippo
