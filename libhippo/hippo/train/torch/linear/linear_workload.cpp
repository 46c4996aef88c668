#include "hippo/train/torch/linear/linear_workload.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/linear/distributed_updates.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

constexpr auto linear_name = "fashion-linear";

std::string word(const workload_spec& spec, const std::string& option) {
  return std::get<std::string>(spec.options.at(option));
}

/// Returns images as examples, with a target of 1 for their class and 0 for
/// the others. @param images outlive it
linear_examples examples_of(const image_data& images, const image_set& set) {
  linear_examples result;
  const auto size = images.form.size(), channels = images.form.channels;
  result.count = static_cast<std::int64_t>(set.labels.size());
  result.features = static_cast<std::int64_t>(size);
  result.outputs = static_cast<std::int64_t>(images.form.classes);
  result.features_of = [&images, &set, size, channels](std::int64_t example,
                                                       float* to) {
    const auto* pixels =
      set.pixels.data() + static_cast<std::size_t>(example) * size;
    for (std::size_t i = 0; i < size; ++i)
      to[i] = images.values[i % channels][pixels[i]];
  };
  result.targets.resize(set.labels.size() * images.form.classes);
  for (std::size_t i = 0; i < set.labels.size(); ++i)
    result.targets[i * images.form.classes
                   + static_cast<std::size_t>(set.labels[i])] = 1;
  return result;
}

/// Takes numbers out of tensors. Throws `std::runtime_error` if there are not
/// as many.
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

class linear_workload final : public workload {
public:
  linear_workload(const workload_spec& spec,
                  std::shared_ptr<const image_data> images)
    : images_(std::move(images)),
      examples_(examples_of(*images_, images_->training)),
      others_(examples_of(*images_, images_->validation)),
      loss_(word(spec, "loss") == "logistic" ? linear_loss::logistic
                                             : linear_loss::least_squares),
      training_(examples_, loss_, machines_of(spec),
                word(spec, "arrivals") == "exponential"
                  ? arrival_order::exponential
                  : arrival_order::round_robin,
                whole(spec.options.at("seed"))),
      state_(training_.initial()) {}

  void init() override { state_ = training_.initial(); }

  void train(const configuration& config, step_t from, step_t to) override {
    for (auto step = from; step < to; ++step) {
      const auto is = [&](const char* name, const char* value) {
        return std::get<std::string>(config.at(name).at(step)) == value;
      };
      training_.train(state_,
                      {number_at(config, "lr", step),
                       number_at(config, "weight_decay", step),
                       is("optimizer", "saga"), is("updates", "synchronous")},
                      step);
    }
  }

  metrics evaluate() override {
    const auto [train_loss, trained_right] = measured(examples_);
    const auto [loss, right] = measured(others_);
    return {
      {"val_accuracy", right}, {"val_loss", loss}, {"train_loss", train_loss}};
  }

  std::string save() override {
    return to_bytes({{"weights", tensor_of(state_.weights)},
                     {"table", tensor_of(state_.table)},
                     {"mean", tensor_of(state_.mean)}});
  }

  void load(const std::string& bytes) override {
    const auto tensors = tensors_from_bytes(bytes);
    auto loaded = training_.initial();
    take(tensors, "weights", loaded.weights);
    take(tensors, "table", loaded.table);
    take(tensors, "mean", loaded.mean);
    state_ = std::move(loaded);
  }

  [[nodiscard]] workload_size size() const override {
    // Outputs, their gradient, and the update.
    const auto weights = static_cast<double>(examples_.weights());
    return {6 * weights, weights, static_cast<double>(examples_.count)};
  }

  void export_weights(const std::string& path) override {
    const auto all = tensor_of(state_.weights)
                       .view({examples_.features + 1, examples_.outputs})
                       .t()
                       .to(at::kFloat);
    write_weights(
      path, {{"weight", all.narrow(1, 0, examples_.features).contiguous()},
             {"bias", all.select(1, examples_.features).contiguous()}});
  }

private:
  static std::int64_t machines_of(const workload_spec& spec) {
    const auto machines = whole(spec.options.at("parts")),
               examples = whole(spec.options.at("data.train"));
    if (machines > examples)
      throw std::invalid_argument("parts: " + std::to_string(machines)
                                  + " of data.train " + std::to_string(examples)
                                  + " images: each part needs one");
    return static_cast<std::int64_t>(machines);
  }

  /// Returns the mean loss of examples, and the share of them whose largest
  /// output is that of their class.
  [[nodiscard]] std::pair<double, double>
  measured(const linear_examples& examples) const {
    std::vector<float> features(static_cast<std::size_t>(examples.features));
    std::vector<double> outputs(static_cast<std::size_t>(examples.outputs));
    double loss = 0, right = 0;
    for (std::int64_t i = 0; i < examples.count; ++i) {
      const auto* targets = examples.targets.data() + i * examples.outputs;
      examples.features_of(i, features.data());
      put_outputs(state_.weights, features.data(), examples.features,
                  outputs.data(), examples.outputs);
      const auto best = std::ranges::max_element(outputs) - outputs.begin();
      right += targets[best];
      loss +=
        take_derivatives(loss_, targets, outputs.data(), examples.outputs);
    }
    const auto count = static_cast<double>(examples.count);
    return {loss / count, right / count};
  }

  const std::shared_ptr<const image_data> images_;
  const linear_examples examples_, others_;
  const linear_loss loss_;
  distributed_training training_;
  distributed_state state_;
};

} // namespace

bool is_linear_workload(const workload_spec& spec) {
  return spec.name == linear_name;
}

std::unique_ptr<workload> make_linear_workload(const workload_spec& spec) {
  // Never destroyed: the last workload may outlive other static objects.
  static auto& all = *new shared_values<image_data>;
  return std::make_unique<linear_workload>(spec, all.get(data_key(spec), [&] {
    return std::make_shared<const image_data>(read_fashion(
      word(spec, "data.folder"), {whole(spec.options.at("data.train")),
                                  whole(spec.options.at("data.validation"))}));
  }));
}

} // namespace hippo
