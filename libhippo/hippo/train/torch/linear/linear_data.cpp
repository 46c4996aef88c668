#include "hippo/train/torch/linear/linear_data.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/epoch.hpp"

namespace hippo {

linear_loss loss_of(const workload_spec& spec) {
  return word_of(spec, "loss") == "logistic" ? linear_loss::logistic
                                             : linear_loss::least_squares;
}

std::shared_ptr<const image_data> fashion_images(const workload_spec& spec) {
  // Never destroyed: the last workload may outlive other static objects.
  static auto& all = *new shared_values<image_data>;
  return all.get(data_key(spec), [&] {
    return std::make_shared<const image_data>(
      read_fashion(word_of(spec, "data.folder"),
                   {whole(spec.options.at("data.train")),
                    whole(spec.options.at("data.validation"))}));
  });
}

linear_examples examples_of(std::shared_ptr<const image_data> images,
                            const image_set& set) {
  linear_examples result;
  const auto size = images->form.size(), channels = images->form.channels;
  result.count = static_cast<std::int64_t>(set.labels.size());
  result.features = static_cast<std::int64_t>(size);
  result.outputs = static_cast<std::int64_t>(images->form.classes);
  result.targets = class_targets(set.labels, images->form.classes);
  result.features_of = [images = std::move(images), &set, size,
                        channels](std::int64_t example, float* to) {
    const auto* pixels =
      set.pixels.data() + static_cast<std::size_t>(example) * size;
    for (std::size_t i = 0; i < size; ++i)
      to[i] = images->values[i % channels][pixels[i]];
  };
  return result;
}

void take(const tensor_map& from, const std::string& name,
          std::vector<double>& to) {
  const auto i = from.find(name);
  if (i == from.end() || i->second.scalar_type() != at::kDouble
      || i->second.numel() != static_cast<std::int64_t>(to.size()))
    throw std::runtime_error("a state of another model: '" + name + "'");
  const auto* values = i->second.const_data_ptr<double>();
  std::copy(values, values + to.size(), to.begin());
}

at::Tensor tensor_of(const std::vector<double>& values) {
  auto result =
    at::empty({static_cast<std::int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), result.mutable_data_ptr<double>());
  return result;
}

named_tensors module_of(const linear_examples& examples,
                        const std::vector<double>& weights,
                        const std::string& prefix) {
  const auto all = tensor_of(weights)
                     .view({examples.features + 1, examples.outputs})
                     .t()
                     .to(at::kFloat);
  return {{prefix + "weight", all.narrow(1, 0, examples.features)},
          {prefix + "bias", all.select(1, examples.features)}};
}

} // namespace hippo
