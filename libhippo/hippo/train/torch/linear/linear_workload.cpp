#include "hippo/train/torch/linear/linear_workload.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/linear/cyclic_workload.hpp"
#include "hippo/train/torch/linear/distributed_updates.hpp"
#include "hippo/train/torch/linear/linear_data.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

constexpr auto linear_name = "fashion-linear", cyclic_name = "fashion-cyclic";

class linear_workload final : public workload {
public:
  explicit linear_workload(const workload_spec& spec)
    : images_(fashion_images(spec)),
      examples_(examples_of(*images_, images_->training)),
      others_(examples_of(*images_, images_->validation)), loss_(loss_of(spec)),
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
    const auto quality = measured(others_, loss_, state_.weights);
    return {{"val_accuracy", quality.right},
            {"val_loss", quality.loss},
            {"train_loss", measured(examples_, loss_, state_.weights).loss}};
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
    write_weights(path, module_of(examples_, state_.weights, ""));
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

  const std::shared_ptr<const image_data> images_;
  const linear_examples examples_, others_;
  const linear_loss loss_;
  distributed_training training_;
  distributed_state state_;
};

} // namespace

bool is_linear_workload(const workload_spec& spec) {
  return spec.name == linear_name || spec.name == cyclic_name;
}

std::unique_ptr<workload> make_linear_workload(const workload_spec& spec) {
  if (spec.name == cyclic_name)
    return make_cyclic_workload(spec);
  return std::make_unique<linear_workload>(spec);
}

} // namespace hippo
