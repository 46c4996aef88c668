#include "hippo/train/torch/image_workload.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/image_files.hpp"
#include "hippo/train/torch/lane_of.hpp"
#include "hippo/train/torch/networks.hpp"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/training_state.hpp"

namespace hippo {

namespace {

/// Images at a time when evaluating: fixed, so that sums are always the same.
constexpr std::int64_t evaluation_batch = 250;

/// Images that are made are the same for every seed of a workload, as those of
/// files are.
constexpr std::uint64_t made_images_seed = 1;

/// Returns the images that a workload's options name.
image_data read_data(const workload_spec& spec) {
  const auto& options = spec.options;
  const image_split split{whole(options.at("data.train")),
                          whole(options.at("data.validation"))};
  const auto& folder = std::get<std::string>(options.at("data.folder"));
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

/// The hyper-parameters of one step.
struct step_values : epoch_values {
  double label_smoothing = 0;
  augmentation_strength augment;
};

step_values values_at(const configuration& config, step_t at) {
  const auto number = [&](const char* name) {
    return number_at(config, name, at);
  };
  step_values x{epoch_values_at(config, at), number("label_smoothing"), {}};
  x.rule.nesterov = number("nesterov") != 0;
  if (config.contains("crop")) {
    x.augment.crop = static_cast<int>(number("crop"));
    x.augment.flip = number("flip");
  }
  if (config.contains("cutout"))
    x.augment.cutout = static_cast<int>(number("cutout"));
  return x;
}

/// Returns images of all lanes (lanes x images x height x width x channels) as
/// a model wants them. Channels-last, in which pooling is many times faster:
/// with one channel in all, the pixels lie the same way in either order, so
/// that the strides must say which one is meant. A second view makes them do
/// so.
at::Tensor side_by_side(const at::Tensor& x) {
  return x.permute({1, 2, 3, 0, 4})
    .reshape(-1)
    .view({x.size(1), x.size(2), x.size(3), -1})
    .permute({0, 3, 1, 2});
}

/// Keeps what lanes have of some tensors as it is now, whatever happens to it
/// until the end of its life.
class kept_lanes {
public:
  kept_lanes(const named_tensors& xs, const std::vector<std::size_t>& those,
             std::size_t lanes) {
    for (const auto& [name, x] : xs)
      for (auto i : those) {
        const auto part = lane_of(x, i, lanes);
        kept_.emplace_back(part, part.clone());
      }
  }
  kept_lanes(const kept_lanes&) = delete;
  kept_lanes& operator=(const kept_lanes&) = delete;
  ~kept_lanes() {
    for (const auto& [part, before] : kept_)
      part.copy_(before);
  }

private:
  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;
};

/// An epoch of one lane.
struct lane_epoch {
  step_values values;
  step_t step = 0;
  std::vector<std::uint32_t> order; ///< of the training images
};

/// One for each lane; nothing: the lane rests.
using lane_epochs = std::vector<std::optional<lane_epoch>>;

class image_workload final : public laned_workload {
public:
  image_workload(const workload_spec& spec, image_data data, at::Device device,
                 std::size_t lanes)
    : seed_(whole(spec.options.at("seed"))), device_(device),
      data_(std::move(data)),
      model_(make_network(network_of(spec.name), data_.form, device, lanes)),
      state_(spec.name, model_->parameters(), model_->buffers(), lanes) {
    for (std::size_t i = 0; i < lanes; ++i)
      image_workload::init(i);
  }

  [[nodiscard]] std::size_t lanes() const override { return model_->lanes(); }

  void check(const part& x) const override {
    check_batch_size(*x.config, x.step, data_.training.labels.size());
  }

  [[nodiscard]] bool fit(const part& x, const part& y) const override {
    return epoch_values_at(*x.config, x.step).batch_size
           == epoch_values_at(*y.config, y.step).batch_size;
  }

  /// Trains one epoch; a last batch that is not full counts as any other.
  void train(const std::vector<part>& xs) override {
    const auto size = data_.training.labels.size();
    lane_epochs epochs(lanes());
    dropout_sources drop(lanes());
    std::vector<std::optional<update_rule>> rules(lanes());
    for (const auto& x : xs) {
      const auto values = values_at(*x.config, x.step);
      epochs[x.lane] = {values, x.step, epoch_order(seed_, x.step, size)};
      drop[x.lane] = {seed_, x.step, 0, values.dropout};
      rules[x.lane] = values.rule;
    }
    const kept_lanes kept{model_->buffers(), resting(epochs), lanes()};
    const auto batch_size = epochs[xs.front().lane]->values.batch_size;
    auto loss = at::zeros({count()}, on_device(at::kDouble));
    for (std::size_t first = 0; first < size; first += batch_size) {
      const auto n = std::min<std::size_t>(batch_size, size - first);
      const auto [images, targets] = batch(epochs, first, n);
      const auto means =
        losses(model_->forward(images, &drop), targets).mean(1);
      // Each lane's gradient is that of its own mean.
      means.sum().backward();
      state_.update(rules);
      loss.add_(means.detach().to(at::kDouble).mul_(static_cast<double>(n)));
      for (auto& lane : drop)
        if (lane)
          ++lane->iteration;
    }
    const auto sums = loss.to(at::kCPU);
    for (const auto& x : xs)
      state_.train_loss[x.lane] =
        sums.const_data_ptr<double>()[x.lane] / static_cast<double>(size);
  }

  std::vector<metrics> evaluate(const std::vector<std::size_t>& xs) override {
    const c10::InferenceMode guard;
    const auto& set = data_.validation;
    const auto size = static_cast<std::int64_t>(set.labels.size());
    auto loss = at::zeros({count()}, on_device(at::kDouble));
    auto right = at::zeros({count()}, on_device(at::kLong));
    for (std::int64_t first = 0; first < size; first += evaluation_batch) {
      const auto n = std::min(evaluation_batch, size - first);
      const auto labels =
        at::from_blob(const_cast<std::int64_t*>(set.labels.data()) + first, {n},
                      at::kLong)
          .to(device_)
          .expand({count(), n});
      auto images = at::empty(image_shape(1, n), at::kFloat);
      for (std::int64_t i = 0; i < n; ++i)
        put_image(data_, set, static_cast<std::size_t>(first + i), {},
                  images.mutable_data_ptr<float>() + i * images.stride(1));
      images = images.to(device_).expand(image_shape(count(), n));
      const auto scores = model_->forward(side_by_side(images), nullptr);
      loss.add_(losses(scores, labels).sum(1, false, at::kDouble));
      right.add_(scores.argmax(2).eq(labels).sum(1));
    }
    loss = loss.to(at::kCPU);
    right = right.to(at::kCPU);
    std::vector<metrics> result;
    for (auto i : xs)
      result.push_back(
        {{"val_accuracy",
          static_cast<double>(right.const_data_ptr<std::int64_t>()[i])
            / static_cast<double>(size)},
         {"val_loss",
          loss.const_data_ptr<double>()[i] / static_cast<double>(size)},
         {"train_loss", state_.train_loss[i]}});
    return result;
  }

  void init(std::size_t lane) override {
    model_->init(lane, seed_);
    state_.restart(lane, std::log(static_cast<double>(data_.form.classes)));
  }

  std::string save(std::size_t lane) override { return state_.save(lane); }

  void load(std::size_t lane, const std::string& bytes) override {
    state_.load(lane, bytes);
  }

  std::shared_ptr<const workload_state> snapshot(std::size_t lane) override {
    return state_.snapshot(lane);
  }

  void restore(std::size_t lane, const workload_state& x) override {
    state_.restore(lane, x);
  }

  void export_weights(std::size_t lane, const std::string& path) override {
    state_.export_weights(lane, path);
  }

private:
  static std::vector<std::size_t> resting(const lane_epochs& xs) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (!xs[i])
        result.push_back(i);
    return result;
  }

  /// Returns every image's loss (lanes x images).
  /// @param targets classes, or shares of all classes
  static at::Tensor losses(const at::Tensor& scores,
                           const at::Tensor& targets) {
    return at::cross_entropy_loss(scores.flatten(0, 1), targets.flatten(0, 1),
                                  {}, at::Reduction::None)
      .view({scores.size(0), scores.size(1)});
  }

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(lanes());
  }

  [[nodiscard]] at::TensorOptions on_device(at::ScalarType type) const {
    return at::TensorOptions(device_).dtype(type);
  }

  /// Returns each lane's images from `first` on in its order, augmented, as the
  /// model wants them, and what it is to say of them: shares of the classes
  /// (lanes x images x classes). Lanes that rest get zeros.
  [[nodiscard]] std::pair<at::Tensor, at::Tensor>
  batch(const lane_epochs& epochs, std::size_t first, std::size_t size) const {
    const auto n = static_cast<std::int64_t>(size);
    auto images = at::empty(image_shape(count(), n), at::kFloat);
    auto targets = at::empty(
      {count(), n, static_cast<std::int64_t>(data_.form.classes)}, at::kFloat);
    for (std::size_t i = 0; i < lanes(); ++i) {
      const auto lane = static_cast<std::int64_t>(i);
      if (epochs[i])
        fill(*epochs[i], first, size,
             images.mutable_data_ptr<float>() + lane * images.stride(0),
             targets.mutable_data_ptr<float>() + lane * targets.stride(0));
      else {
        images.select(0, lane).zero_();
        targets.select(0, lane).zero_();
      }
    }
    return {side_by_side(images.to(device_)), targets.to(device_)};
  }

  /// Writes one lane's part of a batch.
  void fill(const lane_epoch& x, std::size_t first, std::size_t size,
            float* images, float* targets) const {
    const auto classes = data_.form.classes;
    const auto smoothing = static_cast<float>(x.values.label_smoothing);
    std::fill_n(targets, size * classes,
                smoothing / static_cast<float>(classes));
    for (std::size_t i = 0; i < size; ++i) {
      const auto image = x.order[first + i];
      const auto how =
        draw_augmentation({seed_, purpose::augment, {x.step, image}},
                          x.values.augment, data_.form);
      put_image(data_, data_.training, image, how,
                images + i * data_.form.size());
      const auto label = static_cast<std::size_t>(data_.training.labels[image]);
      targets[i * classes + label] += 1 - smoothing;
    }
  }

  /// Lanes x images x height x width x channels.
  [[nodiscard]] std::vector<std::int64_t> image_shape(std::int64_t lanes,
                                                      std::int64_t size) const {
    const auto& form = data_.form;
    return {lanes, size, static_cast<std::int64_t>(form.height),
            static_cast<std::int64_t>(form.width),
            static_cast<std::int64_t>(form.channels)};
  }

  std::uint64_t seed_;
  at::Device device_;
  image_data data_;
  std::unique_ptr<model> model_;
  training_state state_;
};

} // namespace

std::unique_ptr<laned_workload> make_image_workload(const workload_spec& spec,
                                                    const std::string& device) {
  auto data = read_data(spec);
  return std::make_unique<image_workload>(spec, std::move(data),
                                          at::Device{device}, lanes_of(spec));
}

} // namespace hippo
