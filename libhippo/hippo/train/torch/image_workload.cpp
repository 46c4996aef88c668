#include "hippo/train/torch/image_workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/parts.hpp"
#include "hippo/model/sync.hpp"
#include "hippo/train/shareable.hpp"
#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/data/image_folder.hpp"
#include "hippo/train/torch/data/image_stream.hpp"
#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/epoch_parts.hpp"
#include "hippo/train/torch/kernels/step_kernels.hpp"
#include "hippo/train/torch/kernels/step_recorder.hpp"
#include "hippo/train/torch/networks/networks.hpp"
#include "hippo/train/torch/part_sum.hpp"
#include "hippo/train/torch/precision.hpp"
#include "hippo/train/torch/stateful_workload.hpp"
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
  auto rule = epoch_values_at(config, at).rule;
  rule.nesterov = number_at(config, "nesterov", at) != 0;
  return rule;
}

/// Returns the parts that a member computes. @param members null: it is alone
own_parts own_parts_of(std::int64_t all, const gang* members) {
  if (members == nullptr)
    return {all, 0, all};
  const auto count = all / static_cast<std::int64_t>(members->size());
  return {all, static_cast<std::int64_t>(members->rank()) * count, count};
}

/// Returns how parts come to one model.
sync_kind sync_of(const workload_spec& spec) {
  const auto i = spec.options.find(sync_name);
  return i == spec.options.end()
           ? sync_kind::step
           : sync_kind_of(std::get<std::string>(i->second));
}

/// Throws `std::invalid_argument` if batches at a step have fewer images than
/// parts.
void check_parts(std::int64_t batch_size, std::int64_t parts, step_t at) {
  if (batch_size < parts)
    throw std::invalid_argument(
      "batch_size " + std::to_string(batch_size) + " at epoch "
      + std::to_string(at) + " is below parts " + std::to_string(parts)
      + ": it must be at least that, as each part has images of its own");
}

class image_workload final : public stateful_workload, public shareable {
public:
  image_workload(const workload_spec& spec,
                 std::shared_ptr<const loaded_images> images, at::Device device,
                 device_stream& stream, const data_options& data)
    : stateful_workload(stream), seed_(whole(spec.options.at("seed"))),
      device_(device), precision_(precision_of(spec, device)),
      parts_(own_parts_of(parts_of_batch(spec), nullptr)),
      images_(std::move(images)), training_(images_->training, device),
      validation_(images_->validation, device),
      model_(make_network(network_of(spec.name), images_->data.form,
                          {device, layout_for(precision_, device)})),
      state_(spec.name, model_->parameters(), model_->buffers(), all_decay,
             averaging_of(spec)),
      values_(device), plain_(device),
      loss_(at::zeros({}, at::TensorOptions(device).dtype(at::kDouble))),
      batch_sums_(at::zeros({2}, loss_.options())),
      measured_(
        at::zeros({measuring_batches().iterations(), 2}, loss_.options())),
      steps_(device) {
    if (const auto kind = sync_of(spec); kind != sync_kind::step)
      state_.divide(parts_.all, kind);
    else if (parts_.all > 1)
      sum_.emplace(state_.values(), model_->parameters().size(), parts_);
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

  void init() override {
    stream_.run([this] { reset(); });
  }

  void share(gang* members) override {
    const auto size = members == nullptr ? 1 : members->size();
    if (static_cast<std::int64_t>(size) > parts_.all)
      throw std::invalid_argument(
        std::to_string(size) + " members cannot share "
        + std::to_string(parts_.all) + (parts_.all == 1 ? " part" : " parts"));
    members_ = members;
    parts_ = own_parts_of(parts_.all, members);
    if (sum_)
      sum_->share_out(parts_);
    if (auto* own = state_.parts())
      own->share(members, parts_);
  }

private:
  metrics measure() override {
    const auto batches = measuring_batches();
    const auto count = static_cast<std::size_t>(batches.size());
    const auto own =
      members_ == nullptr
        ? member_range{0, count}
        : range_of_member(count, members_->rank(), members_->size());
    if (own.first < own.end)
      launch_each(static_cast<std::int64_t>(own.end - own.first),
                  [&](std::int64_t i) {
                    const auto place = static_cast<std::int64_t>(own.first) + i;
                    measure_batch(batches.at(place), measured_[place]);
                  });
    const auto read = this->read(measured_);
    const std::span sums{read.mutable_data_ptr<double>(), 2 * count};
    if (members_ != nullptr)
      gather_from_members(*members_, std::as_writable_bytes(sums),
                          2 * sizeof(double));
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

  training_state& state() override { return state_; }

  void reset() {
    model_->init(seed_);
    state_.restart(std::log(static_cast<double>(images_->data.form.classes)));
  }

  /// A step is one epoch; a last batch that is not full counts as any other.
  void train_step(const configuration& config, step_t step) override {
    check_batch_size(config, step, static_cast<std::size_t>(training_.size()));
    const auto rule = rule_at(config, step);
    const auto batch_size
      = static_cast<std::int64_t>(whole(number_at(config, "batch_size", step)));
    check_parts(batch_size, parts_.all, step);
    auto* const own = state_.parts();
    const auto sync =
      own == nullptr ? sync_rule{} : sync_rule_at(config, own->kind(), step);
    const auto order = epoch_order(
      seed_, step, static_cast<std::size_t>(training_.size()));
    const auto subnetworks = subnetworks_at(config, step);
    const epoch_parts parts{training_.size(), batch_size, parts_};
    std::optional<std::uint64_t> period;
    std::vector<std::uint32_t> drawn; // of that period
    stream_.run([&] {
      values_.reset({seed_, step, 0, number_at(config, "dropout", step)});
      put_values(config, step, values_);
      training_.set(order);
      if (own != nullptr)
        own->begin(sync);
    });
    if (read_)
      read_->begin(order, parts);
    const auto train = [&](std::int64_t i) {
      const auto part = parts.at(i);
      const auto now =
        subnetwork_period_of(subnetworks, step,
                             static_cast<double>(part.iteration)
                               / static_cast<double>(parts.iterations()));
      if (period != now && subnetworks.count != 0)
        drawn = subnetworks_of(subnetworks, seed_, now);
      period = now;
      put_subnetworks(subnetworks, drawn, part.number, parts_.all, values_);
      values_->iteration = part.address;
      values_->first = part.first;
      if (part.number == parts_.first)
        state_.plan(rule, values_);
      values_.publish();
      if (own != nullptr)
        train_copy(part);
      else if (sum_)
        train_part(part);
      else
        steps_.run({part.size, values_.drops(), state_.moments()},
                   [this, n = part.size] { train_batch(n); });
    };
    const auto size = static_cast<double>(training_.size());
    if (own != nullptr) {
      try {
        launch_in_turn(parts.size(), train);
      } catch (...) { // the members are not there for longer than this call
        own->abandon();
        throw;
      }
      state_.train_loss = own->end_step(stream_) / size;
      return;
    }
    if (read_ || members_ != nullptr)
      launch_in_turn(parts.size(), train);
    else
      launch_each(parts.size(), train);
    state_.train_loss = read(loss_).item<double>() / size;
  }

  /// Launches `f(i)` for each `i` below `count`, and begins the loss anew.
  template <class F>
  void launch_each(std::int64_t count, const F& f) {
    std::int64_t i = 0;
    stream_.run_each([&] {
      const tf32_scope products{precision_};
      if (i == 0)
        loss_.zero_();
      f(i);
      return ++i < count;
    });
  }

  /// As `launch_each` of a member's parts; waits before each of them for its
  /// images, where these are read, and after those of a batch for other
  /// members, or for what parts exchange. It does that here: others use the
  /// device's thread.
  template <class F>
  void launch_in_turn(std::int64_t count, const F& f) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto pixels = read_ ? read_->next() : at::Tensor{};
      stream_.run_each([&] {
        const tf32_scope products{precision_};
        if (i == 0)
          loss_.zero_();
        if (read_)
          read_->put(pixels);
        f(i);
        return false;
      });
      if ((i + 1) % parts_.count != 0)
        continue;
      if (auto* own = state_.parts()) {
        own->end_iteration(stream_,
                           static_cast<std::uint64_t>(i / parts_.count),
                           i + 1 == count);
      } else if (members_ != nullptr) {
        stream_.finish([this] { sum_->read(); });
        sum_->share(*members_);
        stream_.run([this] {
          sum_->write();
          update();
        });
      }
    }
    if (read_)
      note_wait(read_->waited());
  }

  /// Trains by the next `n` images.
  void train_batch(std::int64_t n) {
    const auto mean = training_losses(n).mean();
    state_.go_back(mean, loss_scale(precision_));
    state_.apply(values_);
    loss_.add_(mean.detach().to(at::kDouble).mul_(static_cast<double>(n)));
  }

  /// Adds the gradients of a part of a batch to those of the parts before, and
  /// updates the weights after the last one, unless there are other members.
  void train_part(const batch_part& part) {
    if (part.number == parts_.first)
      sum_->begin();
    if (part.size == 0)
      sum_->take_nothing();
    else
      steps_.run({part.size, part.batch, values_.drops()}, [this, part] {
        sum_->reset();
        const auto loss = training_losses(part.size).sum();
        state_.go_back(loss / static_cast<double>(part.batch),
                       loss_scale(precision_));
        sum_->take(loss.detach());
      });
    sum_->add(part.number);
    if (members_ == nullptr && part.number + 1 == parts_.all)
      update();
  }

  /// Trains a part's copy of the weights by its share of a batch.
  void train_copy(const batch_part& part) {
    if (part.size == 0)
      return;
    state_.parts()->enter(part.number);
    loss_.zero_();
    steps_.run({part.size, values_.drops(), state_.moments()},
               [this, n = part.size] { train_batch(n); });
    state_.parts()->add_loss(loss_);
  }

  /// Updates the weights by the sum over all parts.
  void update() {
    steps_.run({state_.moments()}, [this] {
      const auto loss = sum_->put();
      state_.apply(values_);
      loss_.add_(loss.squeeze(0).to(at::kDouble));
    });
  }

  /// Returns the losses of the next `n` images.
  at::Tensor training_losses(std::int64_t n) {
    const auto& all = training_.arrays();
    const auto [images, targets] =
      batch(read_ ? read_->arrays(all) : all, values_, n);
    return losses(scores_of(images, &values_), targets);
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

  std::uint64_t seed_;
  at::Device device_;
  precision precision_;
  gang* members_ = nullptr; ///< null: this one computes all parts
  own_parts parts_;
  std::shared_ptr<const loaded_images> images_;
  image_order training_;
  image_order validation_;
  /// The training images' pixels, if they are not in memory.
  std::optional<image_stream> read_;
  std::unique_ptr<model> model_;
  training_state state_;
  std::optional<part_sum> sum_; ///< if batches have several parts
  step_values values_;
  step_values plain_; ///< images as they are
  at::Tensor loss_;   ///< sum over the images that were trained so far
  at::Tensor batch_sums_; ///< of a batch: of losses, of right answers
  at::Tensor measured_;   ///< batches x these
  step_recorder steps_;
};

} // namespace

std::unique_ptr<workload> make_image_workload(const workload_spec& spec,
                                              at::Device device,
                                              device_stream& stream,
                                              const data_options& data) {
  auto images = loaded(spec, device, stream, data);
  return stream.run([&] {
    return std::make_unique<image_workload>(spec, std::move(images), device,
                                            stream, data);
  });
}

} // namespace hippo
