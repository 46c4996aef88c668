#include "hippo/train/torch/image_workload.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <optional>
#include <utility>

#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/data/image_folder.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/kernels/step_kernels.hpp"
#include "hippo/train/torch/kernels/step_recorder.hpp"
#include "hippo/train/torch/lane_of.hpp"
#include "hippo/train/torch/networks/networks.hpp"
#include "hippo/train/torch/precision.hpp"
#include "hippo/train/torch/stateful_workload.hpp"

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
  if (spec.name.starts_with("folder-"))
    return read_image_folder(folder, whole(options.at("data.side")), split);
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

/// Writes into a lane's row what its epoch needs beside its update.
void put_values(const configuration& config, step_t at, hippo_cuda_lane& row) {
  const auto number = [&](const char* name) {
    return number_at(config, name, at);
  };
  row.smoothing = static_cast<float>(number("label_smoothing"));
  if (config.contains("crop")) {
    row.crop = static_cast<std::int32_t>(number("crop"));
    row.flip = number("flip");
  }
  if (config.contains("cutout"))
    row.cutout = static_cast<std::int32_t>(number("cutout"));
}

update_rule rule_at(const configuration& config, step_t at) {
  auto rule = epoch_values_at(config, at).rule;
  rule.nesterov = number_at(config, "nesterov", at) != 0;
  return rule;
}

/// Keeps what lanes have of some tensors as it is now, whatever happens to it
/// until the end of its life. Both ways are few launches, however many tensors
/// there are.
class kept_lanes {
public:
  kept_lanes(const named_tensors& xs, const std::vector<std::size_t>& those,
             std::size_t lanes) {
    if (xs.empty() || those.empty())
      return;
    std::vector<at::Tensor> all, copies;
    for (const auto& [name, x] : xs) {
      all.push_back(x.detach());
      copies.push_back(at::empty_like(all.back()));
      for (auto i : those) {
        parts_.push_back(lane_of(all.back(), i, lanes));
        kept_.push_back(lane_of(copies.back(), i, lanes));
      }
    }
    at::_foreach_copy_(copies, all);
  }
  kept_lanes(const kept_lanes&) = delete;
  kept_lanes& operator=(const kept_lanes&) = delete;
  ~kept_lanes() {
    if (parts_.empty())
      return;
    try {
      at::_foreach_copy_(parts_, kept_);
    } catch (const std::exception& e) {
      // A device that fails at this has failed at a step before, which is told.
      TORCH_WARN("lanes that rest are not as they were: ", e.what());
    }
  }

private:
  std::vector<at::Tensor> parts_;
  std::vector<at::Tensor> kept_;
};

class image_workload final : public stateful_workload {
public:
  image_workload(const workload_spec& spec, image_data data, at::Device device,
                 std::size_t lanes)
    : seed_(whole(spec.options.at("seed"))), device_(device),
      precision_(precision_of(spec, device)),
      data_(std::move(data)), training_(data_, data_.training, device, lanes),
      validation_(data_, data_.validation, device, 1),
      model_(make_network(network_of(spec.name), data_.form, device, lanes)),
      state_(spec.name, model_->parameters(), model_->buffers(), lanes),
      rows_(device, lanes), plain_(device, 1),
      loss_(at::zeros({static_cast<std::int64_t>(lanes)},
                      at::TensorOptions(device).dtype(at::kDouble))),
      steps_(device) {
    for (std::size_t i = 0; i < lanes; ++i)
      image_workload::init(i);
    std::vector<std::uint32_t> order(data_.validation.labels.size());
    std::iota(order.begin(), order.end(), 0U);
    validation_.set_order(0, order);
    validation_.publish_orders();
  }

  [[nodiscard]] std::size_t lanes() const override { return model_->lanes(); }

  [[nodiscard]] workload_size size() const override {
    return {model_->operations(), model_->parameter_count(),
            static_cast<double>(data_.training.labels.size())};
  }

  void check(const part& x) const override {
    check_batch_size(*x.config, x.step, data_.training.labels.size());
  }

  [[nodiscard]] bool fit(const part& x, const part& y) const override {
    return epoch_values_at(*x.config, x.step).batch_size
           == epoch_values_at(*y.config, y.step).batch_size;
  }

  /// Trains one epoch; a last batch that is not full counts as any other.
  void train(const std::vector<part>& xs) override {
    const tf32_scope products{precision_};
    rows_.clear();
    std::vector<std::optional<update_rule>> rules(lanes());
    for (const auto& x : xs) {
      put_values(*x.config, x.step, rows_[x.lane]);
      rules[x.lane] = rule_at(*x.config, x.step);
      rows_.activate(
        x.lane, {seed_, x.step, 0, number_at(*x.config, "dropout", x.step)});
      training_.set_order(
        x.lane, epoch_order(seed_, x.step, data_.training.labels.size()));
    }
    training_.publish_orders();
    const kept_lanes kept{model_->buffers(), resting(rules), lanes()};
    const auto batch_size = static_cast<std::int64_t>(
      whole(number_at(*xs.front().config, "batch_size", xs.front().step)));
    loss_.zero_();
    std::uint64_t iteration = 0;
    for (std::int64_t first = 0; first < training_.size();
         first += batch_size, ++iteration) {
      const auto n = std::min(batch_size, training_.size() - first);
      for (const auto& x : xs) {
        rows_[x.lane].iteration = iteration;
        rows_[x.lane].first = first;
      }
      state_.plan(rules, rows_);
      rows_.publish();
      steps_.run({n, rows_.drops(), state_.moments()},
                 [this, n] { train_batch(n); });
    }
    const auto sums = loss_.to(at::kCPU);
    for (const auto& x : xs)
      state_.train_loss[x.lane] = sums.const_data_ptr<double>()[x.lane]
                                  / static_cast<double>(training_.size());
  }

  std::vector<metrics> evaluate(const std::vector<std::size_t>& xs) override {
    const c10::InferenceMode guard;
    const tf32_scope products{precision_};
    const auto size = validation_.size();
    auto loss = at::zeros_like(loss_);
    auto right = at::zeros({count()}, loss.options().dtype(at::kLong));
    plain_.activate(0, {});
    for (std::int64_t first = 0; first < size; first += evaluation_batch) {
      const auto n = std::min(evaluation_batch, size - first);
      plain_[0].first = first;
      plain_.publish();
      const auto images = batch(validation_, plain_, n).first;
      const auto labels =
        validation_.labels().narrow(0, first, n).expand({count(), n});
      // The same for each lane; no copy for one.
      const auto scores =
        scores_of(images.unsqueeze(3)
                    .expand({-1, -1, -1, count(), -1})
                    .flatten(3),
                  nullptr);
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

private:
  training_state& state() override { return state_; }

  static std::vector<std::size_t>
  resting(const std::vector<std::optional<update_rule>>& rules) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < rules.size(); ++i)
      if (!rules[i])
        result.push_back(i);
    return result;
  }

  /// Trains all lanes by their next `n` images.
  void train_batch(std::int64_t n) {
    const auto [images, targets] = batch(training_, rows_, n);
    const auto means = losses(scores_of(images, &rows_), targets).mean(1);
    // Each lane's gradient is that of its own mean.
    state_.go_back(means.sum(), loss_scale(precision_));
    state_.apply(rows_);
    loss_.add_(
      means.detach().to(at::kDouble).mul_(static_cast<double>(n)));
  }

  /// Returns the scores of images as `batch` gives them.
  /// @param rows as for `model::forward`
  at::Tensor scores_of(const at::Tensor& images, const lane_table* rows) {
    const autocast_scope numbers{precision_, device_};
    // Channels-last, in which pooling is many times faster.
    return model_->forward(images.permute({0, 3, 1, 2}), rows).to(at::kFloat);
  }

  /// Returns the next `n` images (images x height x width x (lanes * channels))
  /// and what is to be said of them: shares of the classes (lanes x images x
  /// classes).
  static std::pair<at::Tensor, at::Tensor>
  batch(const image_source& from, const lane_table& rows, std::int64_t n) {
    const auto& set = from.arrays();
    const auto lanes = static_cast<std::int64_t>(rows.lanes());
    const auto options = from.labels().options().dtype(at::kFloat);
    auto images =
      at::empty({n, set.height, set.width, lanes * set.channels}, options);
    auto targets = at::empty({lanes, n, set.classes}, options);
    step_kernels::of(images.device()).put_batch(set, rows, images, targets);
    return {images, targets};
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

  std::uint64_t seed_;
  at::Device device_;
  precision precision_;
  image_data data_;
  image_source training_;
  image_source validation_;
  std::unique_ptr<model> model_;
  training_state state_;
  lane_table rows_;
  lane_table plain_; ///< one row: images as they are
  at::Tensor loss_;  ///< each lane's sum over the images of an epoch so far
  step_recorder steps_;
};

} // namespace

std::unique_ptr<laned_workload> make_image_workload(const workload_spec& spec,
                                                    const std::string& device) {
  auto data = read_data(spec);
  return std::make_unique<image_workload>(spec, std::move(data),
                                          at::Device{device}, 1);
}

} // namespace hippo
