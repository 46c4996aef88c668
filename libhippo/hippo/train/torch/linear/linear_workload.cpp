#include "hippo/train/torch/linear/linear_workload.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/data/csv_file.hpp"
#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/linear/cyclic_workload.hpp"
#include "hippo/train/torch/linear/distributed_updates.hpp"
#include "hippo/train/torch/linear/linear_data.hpp"
#include "hippo/train/torch/linear/table_data.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

constexpr auto csv_name = "csv-linear", cyclic_name = "fashion-cyclic",
               linear_name = "fashion-linear";

/// The data of a linear model.
struct linear_source {
  linear_examples training, validation;
  /// Returns the weights for features as they were before they were scaled.
  std::function<std::vector<double>(std::vector<double> weights)> unscaled;
};

linear_source image_source(const workload_spec& spec) {
  const auto images = fashion_images(spec);
  return {examples_of(images, images->training),
          examples_of(images, images->validation),
          [](std::vector<double> weights) { return weights; }};
}

linear_source table_source(const workload_spec& spec) {
  // Never destroyed: the last workload may outlive other static objects.
  static auto& all = *new shared_values<table_examples>;
  const auto share = [&](const char* name) {
    return std::get<double>(spec.options.at(name));
  };
  const auto table = all.get(data_key(spec) + word_of(spec, "loss"), [&] {
    return std::make_shared<const table_examples>(examples_of(
      read_csv(word_of(spec, "data.file"), word_of(spec, "data.target"),
               word_of(spec, "data.sha256")),
      loss_of(spec), share("data.train"), share("data.validation")));
  });
  return {table->training, table->validation,
          [table](std::vector<double> weights) {
            return table->unscaled(std::move(weights));
          }};
}

class linear_workload final : public workload {
public:
  linear_workload(const workload_spec& spec, linear_source source)
    : source_(std::move(source)), loss_(loss_of(spec)),
      training_(source_.training, loss_, machines_of(spec, source_.training),
                word_of(spec, "arrivals") == "exponential"
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
    const auto quality = measured(source_.validation, loss_, state_.weights);
    metrics result{
      {"val_loss", quality.loss},
      {"train_loss", measured(source_.training, loss_, state_.weights).loss}};
    if (source_.training.outputs > 1) // else there are no classes
      result["val_accuracy"] = quality.right;
    return result;
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
    const auto weights = static_cast<double>(source_.training.weights());
    return {6 * weights, weights, static_cast<double>(source_.training.count)};
  }

  void export_weights(const std::string& path) override {
    write_weights(
      path, module_of(source_.training, source_.unscaled(state_.weights), ""));
  }

private:
  static std::int64_t machines_of(const workload_spec& spec,
                                  const linear_examples& examples) {
    const auto machines = count_of(spec, "parts");
    if (machines > examples.count)
      throw std::invalid_argument("parts: " + std::to_string(machines) + " of "
                                  + std::to_string(examples.count)
                                  + " examples to train on: each part needs "
                                    "one");
    return machines;
  }

  const linear_source source_;
  const linear_loss loss_;
  distributed_training training_;
  distributed_state state_;
};

} // namespace

bool is_linear_workload(const workload_spec& spec) {
  return spec.name == linear_name || spec.name == cyclic_name
         || spec.name == csv_name;
}

std::unique_ptr<workload> make_linear_workload(const workload_spec& spec) {
  if (spec.name == cyclic_name)
    return make_cyclic_workload(spec);
  return std::make_unique<linear_workload>(
    spec, spec.name == csv_name ? table_source(spec) : image_source(spec));
}

} // namespace hippo
