#include "hippo/train/torch/image_workload.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/data/image_folder.hpp"
#include "hippo/train/torch/data/image_stream.hpp"
#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/epoch_parts.hpp"
#include "hippo/train/torch/epoch_workload.hpp"
#include "hippo/train/torch/kernels/step_kernels.hpp"
#include "hippo/train/torch/networks/networks.hpp"
#include "hippo/train/torch/precision.hpp"
#include "hippo/train/torch/subnetworks.hpp"

namespace hippo {

namespace {

/// Images at a time when evaluating: fixed, so that sums are always the same.
constexpr std::int64_t evaluation_batch = 250;

/// Images that are made are the same for every seed of a workload, as those of
/// files are.
constexpr std::uint64_t made_images_seed = 1;

/// Returns how much memory training images may take.
std::uint64_t memory_for_images(const data_options& data) {
  if (data.memory_bytes)
    return *data.memory_bytes;
  const auto all = machine_memory_bytes();
  return all == 0 ? std::numeric_limits<std::uint64_t>::max() : all / 2;
}

/// Returns the images that a workload's options name.
image_data read_data(const workload_spec& spec, const data_options& data) {
  const auto& options = spec.options;
  const image_split split{whole(options.at("data.train")),
                          whole(options.at("data.validation"))};
  const auto& folder = std::get<std::string>(options.at("data.folder"));
  if (spec.name.starts_with("folder-"))
    return read_image_folder(folder, whole(options.at("data.side")), split,
                             memory_for_images(data));
  const auto set = options.find("data.set");
  if (set == options.end())
    return read_fashion(folder, split);
  const auto& name = std::get<std::string>(set->second);
  if (name == "cifar10")
    return read_cifar10(folder, split);
  if (name == "cifar100")
    return read_cifar100(folder, split);
  return make_images({3, 32, 32, 10}, made_images_seed, split);
}

/// Returns the name of a workload's network, which follows that of its images.
std::string network_of(const std::string& workload) {
  if (workload == "fashion-resnet")
    return "resnet20";
  return workload.substr(workload.find('-') + 1);
}

/// Returns a workload's images on a device, which all workloads of the same
/// ones share. To be called anywhere but on the device's thread, which reading
/// files would keep from others.
std::shared_ptr<const loaded_images> loaded(const workload_spec& spec,
                                            at::Device device,
                                            device_stream& stream,
                                            const data_options& how) {
  // Never destroyed, as what they hold belongs to whoever is there last.
  static auto& all = *new shared_values<loaded_images>;
  const auto key = device.str()
                   + (spec.name.starts_with("folder-") ? "folder" : "")
                   + data_key(spec);
  return all.get(key, [&] {
    auto data = read_data(spec, how);
    return stream.run([&] {
      return std::make_shared<const loaded_images>(std::move(data), device);
    });
  });
}

/// Writes what an epoch needs beside its update.
void put_values(const configuration& config, step_t at, step_values& to) {
  const auto number = [&](const char* name) {
    return number_at(config, name, at);
  };
  to->smoothing = static_cast<float>(number("label_smoothing"));
  if (config.contains("crop")) {
    to->crop = static_cast<std::int32_t>(number("crop"));
    to->flip = number("flip");
  }
  if (config.contains("cutout"))
    to->cutout = static_cast<std::int32_t>(number("cutout"));
}

update_rule rule_at(const configuration& config, step_t at) {
  auto rule = update_rule_at(config, at);
  rule.nesterov = number_at(config, "nesterov", at) != 0;
  return rule;
}

/// Makes the network of a workload.
std::unique_ptr<model> network_for(const workload_spec& spec,
                                   const image_form& form, at::Device device) {
  return make_network(network_of(spec.name), form,
                      {device, layout_for(precision_of(spec, device), device)});
}

class image_workload final : public epoch_workload {
public:
  image_workload(const workload_spec& spec,
                 std::shared_ptr<const loaded_images> images,
                 std::unique_ptr<model> network, at::Device device,
                 device_stream& stream, const data_options& data)
    : epoch_workload(spec, device, stream, network->parameters(),
                     network->buffers()),
      images_(std::move(images)), training_(images_->training, device),
      validation_(images_->validation, device), model_(std::move(network)),
      plain_(device),
      batch_sums_(at::zeros({2}, at::TensorOptions(device).dtype(at::kDouble))),
      measured_(at::zeros({measuring_batches().iterations(), 2},
                          batch_sums_.options())) {
    if (images_->data.make_reader)
      read_.emplace(images_->data, data.prepare_threads, device);
    reset();
    std::vector<std::uint32_t> order(images_->data.validation.labels.size());
    std::iota(order.begin(), order.end(), 0U);
    validation_.set(order);
  }

  [[nodiscard]] workload_size size() const override {
    return {model_->operations(), model_->parameter_count(),
            static_cast<double>(training_.size())};
  }

private:
  metrics measure() override {
    const auto batches = measuring_batches();
    const auto count = static_cast<std::size_t>(batches.size());
    const auto own = own_share(count);
    if (own.first < own.end)
      launch_each(static_cast<std::int64_t>(own.end - own.first),
                  [&](std::int64_t i) {
                    const auto place = static_cast<std::int64_t>(own.first) + i;
                    measure_batch(batches.at(place), measured_[place]);
                  });
    const auto read = this->read(measured_);
    const std::span sums{read.mutable_data_ptr<double>(), 2 * count};
    gather(std::as_writable_bytes(sums), 2 * sizeof(double));
    // Sums are added in the order of the batches, for any number of members.
    double loss = 0, right = 0;
    for (std::size_t i = 0; i < count; ++i) {
      loss += sums[2 * i];
      right += sums[2 * i + 1];
    }
    const auto size = static_cast<double>(validation_.size());
    return {{"val_accuracy", right / size},
            {"val_loss", loss / size},
            {"train_loss", state_.train_loss}};
  }

  [[nodiscard]] epoch_parts measuring_batches() const {
    return {validation_.size(), evaluation_batch, {}};
  }

  /// Puts a batch's loss and the number of its images that are scored right
  /// into a place of `measured_`.
  void measure_batch(const batch_part& batch, const at::Tensor& place) {
    const c10::InferenceMode guard;
    plain_->first = batch.first;
    plain_.publish();
    steps_.run({batch.size, measuring},
               [this, n = batch.size] { measure_images(n); });
    place.copy_(batch_sums_);
  }

  /// In the place of a step's values where a batch is measured.
  static constexpr std::int64_t measuring = -1;

  void reset() override {
    model_->init(seed_);
    state_.restart(std::log(static_cast<double>(images_->data.form.classes)));
  }

  /// A step is one epoch.
  void train_step(const configuration& config, step_t step) override {
    const auto subnetworks = subnetworks_at(config, step);
    const auto now =
      begin_epoch(config, step, rule_at(config, step), training_.size());
    std::optional<std::uint64_t> period;
    std::vector<std::uint32_t> drawn; // of that period
    stream_.run([&] {
      put_values(config, step, values_);
      training_.set(now.order);
    });
    const auto put = [&](const batch_part& part) {
      const auto present =
        subnetwork_period_of(subnetworks, step,
                             static_cast<double>(part.iteration)
                               / static_cast<double>(now.parts.iterations()));
      if (period != present && subnetworks.count != 0)
        drawn = subnetworks_of(subnetworks, seed_, present);
      period = present;
      put_subnetworks(subnetworks, drawn, part.number, parts(), values_);
      values_->first = part.first;
    };
    if (!read_) {
      train_epoch(now, put);
      return;
    }
    read_->begin(now.order, now.parts);
    at::Tensor pixels;
    train_epoch(
      now,
      [&](const batch_part& part) {
        read_->put(pixels);
        put(part);
      },
      [&] { pixels = read_->next(); });
    note_wait(read_->waited());
  }

  /// Takes the losses of the next images.
  at::Tensor training_loss(const batch_part& part,
                           at::Reduction::Reduction reduction) override {
    const auto& all = training_.arrays();
    const auto [images, targets] =
      batch(read_ ? read_->arrays(all) : all, values_, part.size);
    const auto each = losses(scores_of(images, &values_), targets);
    return reduction == at::Reduction::Mean ? each.mean() : each.sum();
  }

  /// Takes the loss of the next `n` images, and how many are scored right.
  void measure_images(std::int64_t n) {
    const auto [images, targets] = batch(validation_.arrays(), plain_, n);
    const auto scores = scores_of(images, nullptr);
    const auto labels = targets.argmax(1);
    batch_sums_[0].copy_(losses(scores, labels).sum(at::kDouble));
    batch_sums_[1].copy_(scores.argmax(1).eq(labels).sum());
  }

  /// Returns the scores of images as `batch` gives them.
  /// @param values as for `model::forward`
  at::Tensor scores_of(const at::Tensor& images, const step_values* values) {
    const autocast_scope numbers{precision_, device_};
    return model_
      ->forward(images.permute({0, 3, 1, 2}).contiguous(model_->layout()),
                values)
      .to(at::kFloat);
  }

  /// Returns the next `n` images (images x height x width x channels) and what
  /// is to be said of them: shares of the classes (images x classes).
  std::pair<at::Tensor, at::Tensor> batch(const hippo_cuda_images& set,
                                          const step_values& values,
                                          std::int64_t n) const {
    const auto options = at::TensorOptions(device_).dtype(at::kFloat);
    auto images =
      at::empty({n, set.height, set.width, set.channels}, options);
    auto targets = at::empty({n, set.classes}, options);
    step_kernels::of(device_).put_batch(set, values, images, targets);
    return {images, targets};
  }

  /// Returns every image's loss.
  /// @param targets classes, or shares of all classes
  static at::Tensor losses(const at::Tensor& scores,
                           const at::Tensor& targets) {
    return at::cross_entropy_loss(scores, targets, {}, at::Reduction::None);
  }

  std::shared_ptr<const loaded_images> images_;
  image_order training_;
  image_order validation_;
  /// The training images' pixels, if they are not in memory.
  std::optional<image_stream> read_;
  std::unique_ptr<model> model_;
  step_values plain_;     ///< images as they are
  at::Tensor batch_sums_; ///< of a batch: of losses, of right answers
  at::Tensor measured_;   ///< batches x these
};

} // namespace

std::unique_ptr<workload> make_image_workload(const workload_spec& spec,
                                              at::Device device,
                                              device_stream& stream,
                                              const data_options& data) {
  auto images = loaded(spec, device, stream, data);
  return stream.run([&] {
    auto network = network_for(spec, images->data.form, device);
    return std::make_unique<image_workload>(
      spec, std::move(images), std::move(network), device, stream, data);
  });
}

} // namespace hippo
