#include "hippo/train/torch/linear/cyclic_workload.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/linear/cyclic_data.hpp"
#include "hippo/train/torch/linear/cyclic_updates.hpp"
#include "hippo/train/torch/linear/linear_data.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

/// The words of predictors, in the order of their numbers.
constexpr std::array predictor_words{"last", "mm", "mc"};

block_predictor predictor_of(const std::string& name) {
  const auto i = std::ranges::find(predictor_words, name);
  return static_cast<block_predictor>(i - predictor_words.begin());
}

/// The examples that a spec deals out.
struct dealt_examples {
  std::vector<cyclic_block> blocks;
  std::vector<linear_examples> validation; ///< of each block
};

dealt_examples dealt(const workload_spec& spec) {
  const auto images = fashion_images(spec);
  const auto number = [&](const char* name) {
    return std::get<double>(spec.options.at(name));
  };
  const auto all = examples_of(images, images->training),
             others = examples_of(images, images->validation);
  dealt_examples result;
  for (auto& block :
       deal_blocks({images->form.classes, whole(spec.options.at("data.blocks")),
                    whole(spec.options.at("parts")), number("data.skew"),
                    number("data.held_out")},
                   images->training.labels, images->validation.labels)) {
    result.blocks.push_back({part_of(all, std::move(block.training)),
                             part_of(all, std::move(block.held_out))});
    result.validation.push_back(part_of(others, std::move(block.validation)));
  }
  return result;
}

class cyclic_workload final : public workload {
public:
  explicit cyclic_workload(const workload_spec& spec)
    : loss_(loss_of(spec)), examples_(dealt(spec)),
      training_(examples_.blocks, loss_, count_of(spec, "parts"),
                whole(spec.options.at("seed"))),
      state_(training_.initial()) {}

  void init() override { state_ = training_.initial(); }

  void train(const configuration& config, step_t from, step_t to) override {
    for (auto step = from; step < to; ++step)
      training_.train(
        state_,
        {number_at(config, "lr", step), number_at(config, "weight_decay", step),
         static_cast<std::int64_t>(number_at(config, "sync_every", step)),
         predictor_of(std::get<std::string>(config.at("predictor").at(step)))},
        step);
  }

  metrics evaluate() override {
    linear_quality mean;
    double train_loss = 0;
    metrics result;
    const auto count = static_cast<double>(examples_.blocks.size());
    for (std::size_t block = 0; block < examples_.blocks.size(); ++block) {
      const auto& model = state_.model_of(block);
      const auto quality = measured(examples_.validation[block], loss_, model);
      const auto end = "_block_" + std::to_string(block);
      result["val_accuracy" + end] = quality.right;
      result["val_loss" + end] = quality.loss;
      mean.right += quality.right / count;
      mean.loss += quality.loss / count;
      train_loss +=
        measured(examples_.blocks[block].training, loss_, model).loss / count;
    }
    result["val_accuracy"] = mean.right;
    result["val_loss"] = mean.loss;
    result["train_loss"] = train_loss;
    return result;
  }

  std::string save() override {
    tensor_map all{
      {"weights", tensor_of(state_.weights)},
      {"predictor", tensor_of({static_cast<double>(state_.predictor)})}};
    for (std::size_t block = 0; block < state_.blocks.size(); ++block) {
      const auto& models = state_.blocks[block];
      const auto name = named(block);
      all[name + "rounds"] = tensor_of({static_cast<double>(models.rounds)});
      all[name + "chain"] = tensor_of(models.chain);
      all[name + "mean"] = tensor_of(models.mean);
      all[name + "better"] = tensor_of(models.better);
    }
    return to_bytes(all);
  }

  void load(const std::string& bytes) override {
    const auto all = tensors_from_bytes(bytes);
    auto loaded = training_.initial();
    const auto number = [&](const std::string& name) {
      std::vector<double> values(1);
      take(all, name, values);
      return values.front();
    };
    take(all, "weights", loaded.weights);
    loaded.predictor = static_cast<block_predictor>(number("predictor"));
    for (std::size_t block = 0; block < loaded.blocks.size(); ++block) {
      auto& models = loaded.blocks[block];
      const auto name = named(block);
      models.rounds = static_cast<std::int64_t>(number(name + "rounds"));
      take(all, name + "chain", models.chain);
      take(all, name + "mean", models.mean);
      take(all, name + "better", models.better);
    }
    state_ = std::move(loaded);
  }

  [[nodiscard]] workload_size size() const override {
    // Outputs, their gradient, and the update.
    const auto weights = static_cast<double>(state_.weights.size());
    double samples = 0;
    for (const auto& block : examples_.blocks)
      samples += static_cast<double>(block.training.count);
    return {6 * weights, weights, samples};
  }

  void export_weights(const std::string& path) override {
    named_tensors all;
    for (std::size_t block = 0; block < examples_.blocks.size(); ++block)
      for (auto& tensor : module_of(examples_.blocks[block].training,
                                    state_.model_of(block), named(block)))
        all.push_back(std::move(tensor));
    write_weights(path, all);
  }

private:
  /// Returns the prefix of the names of a block's tensors.
  static std::string named(std::size_t block) {
    return "blocks." + std::to_string(block) + '.';
  }

  const linear_loss loss_;
  const dealt_examples examples_;
  cyclic_training training_;
  cyclic_state state_;
};

} // namespace

std::unique_ptr<workload> make_cyclic_workload(const workload_spec& spec) {
  return std::make_unique<cyclic_workload>(spec);
}

} // namespace hippo
