#include "hippo/train/torch/fashion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "hippo/train/torch/fashion_data.hpp"
#include "hippo/train/torch/model.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

constexpr std::int64_t side = image_set::side;

/// Strides of images in channels-last order, in which pooling is many times
/// faster. With one channel the pixels lie the same way in either order, so
/// that the strides must say which one is meant.
constexpr std::array<std::int64_t, 4> image_strides{side * side, 1, side, 1};

/// Images at a time when evaluating: fixed, so that sums are always the same.
constexpr std::int64_t evaluation_batch = 250;

std::uint64_t whole(const scalar& x) {
  return static_cast<std::uint64_t>(std::get<double>(x));
}

/// The hyper-parameters of one step.
struct step_values {
  update_rule rule;
  std::uint64_t batch_size = 0;
  double dropout = 0;
  double label_smoothing = 0;
  int crop = 0;    ///< largest shift in pixels
  double flip = 0; ///< share of images mirrored
};

step_values values_at(const configuration& config, step_t at) {
  const auto number = [&](const char* name) {
    return std::get<double>(config.at(name).at(at));
  };
  step_values x;
  x.rule.kind = std::get<std::string>(config.at("optimizer").at(at)) == "sgd"
                  ? optimizer_kind::sgd
                  : optimizer_kind::adamw;
  x.rule.lr = number("lr");
  x.rule.momentum = number("momentum");
  x.rule.beta2 = number("beta2");
  x.rule.weight_decay = number("weight_decay");
  x.rule.nesterov = number("nesterov") != 0;
  x.batch_size = static_cast<std::uint64_t>(number("batch_size"));
  x.dropout = number("dropout");
  x.label_smoothing = number("label_smoothing");
  if (config.contains("crop")) {
    x.crop = static_cast<int>(number("crop"));
    x.flip = number("flip");
  }
  return x;
}

/// Copies an image, moved down by `dy` and right by `dx`, mirrored first.
void copy_image(const float* from, float* to, int dy, int dx, bool mirror,
                float black) {
  constexpr int n = side;
  if (dy == 0 && dx == 0 && !mirror) {
    std::copy_n(from, n * n, to);
    return;
  }
  std::fill_n(to, n * n, black);
  const auto first = std::max(0, dx);
  const auto last = std::min(n, n + dx);
  for (int y = std::max(0, dy); y < std::min(n, n + dy); ++y) {
    const auto* row = from + (y - dy) * n;
    auto* out = to + y * n;
    if (mirror)
      for (int x = first; x < last; ++x)
        out[x] = row[n - 1 - (x - dx)];
    else
      std::copy_n(row + first - dx, last - first, out + first);
  }
}

class fashion_workload final : public workload {
public:
  fashion_workload(const workload_spec& spec, fashion_data data,
                   at::Device device)
    : name_(spec.name), seed_(whole(spec.options.at("seed"))), device_(device),
      data_(std::move(data)), model_(make_model(spec.name, device)) {
    for (const auto& [name, x] : model_->parameters())
      weights_.push_back(x);
    init();
  }

  void init() override {
    model_->init(seed_);
    optimizer_.restart(optimizer_kind::none, weights_);
    train_loss_ = std::log(10.0);
  }

  void train(const configuration& config, step_t from, step_t to) override {
    for (auto step = from; step < to; ++step)
      train_epoch(values_at(config, step), step);
  }

  metrics evaluate() override {
    const c10::InferenceMode guard;
    const auto& set = data_.validation;
    const auto size = static_cast<std::int64_t>(set.labels.size());
    double loss = 0;
    std::int64_t right = 0;
    for (std::int64_t first = 0; first < size; first += evaluation_batch) {
      const auto n = std::min(evaluation_batch, size - first);
      const auto labels =
        at::from_blob(const_cast<std::int64_t*>(set.labels.data()) + first, {n},
                      at::kLong)
          .to(device_);
      const auto images =
        at::from_blob(const_cast<float*>(set.images.data())
                        + first * side * side,
                      {n, 1, side, side}, image_strides, at::kFloat)
          .to(device_);
      const auto scores = model_->forward(images, nullptr);
      loss += at::cross_entropy_loss(scores, labels, {}, at::Reduction::Sum)
                .item<double>();
      right += scores.argmax(1).eq(labels).sum().item<std::int64_t>();
    }
    const auto count = static_cast<double>(size);
    return {{"val_accuracy", static_cast<double>(right) / count},
            {"val_loss", loss / count},
            {"train_loss", train_loss_}};
  }

  std::string save() override {
    auto tensors = state();
    tensors["train_loss"] = at::scalar_tensor(train_loss_, at::kDouble);
    tensors["optimizer.kind"] =
      at::scalar_tensor(static_cast<int>(optimizer_.kind), at::kLong);
    tensors["optimizer.count"] =
      at::scalar_tensor(static_cast<std::int64_t>(optimizer_.count), at::kLong);
    auto name = at::empty({static_cast<std::int64_t>(name_.size())}, at::kByte);
    std::memcpy(name.mutable_data_ptr(), name_.data(), name_.size());
    tensors["workload"] = name;
    return to_bytes(tensors);
  }

  void load(const std::string& bytes) override {
    auto tensors = tensors_from_bytes(bytes);
    const auto take = [&](const char* name) {
      auto x = tensors.extract(name);
      if (!x)
        throw std::runtime_error("a state without " + std::string{name});
      return x.mapped();
    };
    const auto name = take("workload");
    const std::string writer(static_cast<const char*>(name.const_data_ptr()),
                             name.nbytes());
    if (writer != name_)
      throw std::runtime_error("a state of " + writer + ", not of " + name_);
    const auto kind = take("optimizer.kind").item<std::int64_t>();
    if (kind < 0 || kind > static_cast<int>(optimizer_kind::adamw))
      throw std::runtime_error("a state with an unknown optimizer");
    const auto count = take("optimizer.count").item<std::int64_t>();
    const auto train_loss = take("train_loss").item<double>();
    optimizer_.restart(static_cast<optimizer_kind>(kind), weights_);
    copy_into(state(), tensors);
    optimizer_.count = static_cast<std::uint64_t>(count);
    train_loss_ = train_loss;
  }

  void export_weights(const std::string& path) override {
    auto tensors = model_->parameters();
    const auto& buffers = model_->buffers();
    tensors.insert(tensors.end(), buffers.begin(), buffers.end());
    write_weights(path, tensors);
  }

private:
  /// Everything in tensors that a step reads or writes; they share memory with
  /// the state itself.
  tensor_map state() const {
    tensor_map result;
    for (const auto& [name, x] : model_->buffers())
      result["model." + name] = x;
    const auto& parameters = model_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& name = parameters[i].first;
      result["model." + name] = parameters[i].second;
      if (!optimizer_.first.empty())
        result["optimizer.first." + name] = optimizer_.first[i];
      if (!optimizer_.second.empty())
        result["optimizer.second." + name] = optimizer_.second[i];
    }
    return result;
  }

  /// The order in which epoch `step` goes through the training images.
  std::vector<std::uint32_t> order(step_t step) const {
    std::vector<std::uint32_t> result(data_.training.labels.size());
    std::iota(result.begin(), result.end(), 0U);
    random_numbers numbers{seed_, purpose::order, {step}};
    for (auto n = result.size(); n > 1; --n)
      std::swap(result[n - 1], result[numbers.below(n)]);
    return result;
  }

  /// Trains one epoch; a last batch that is not full counts as any other.
  void train_epoch(const step_values& values, step_t step) {
    const auto images = order(step);
    if (values.batch_size > images.size())
      throw std::invalid_argument(
        "batch_size " + std::to_string(values.batch_size)
        + " is above data.train " + std::to_string(images.size()));
    auto loss = at::zeros({}, at::TensorOptions(device_).dtype(at::kDouble));
    dropout_source drop{seed_, step, 0, values.dropout};
    for (std::size_t first = 0; first < images.size();
         first += values.batch_size) {
      const auto n =
        std::min<std::size_t>(values.batch_size, images.size() - first);
      const auto [x, y] = batch(images.data() + first, n, values, step);
      const auto mean = at::cross_entropy_loss(model_->forward(x, &drop), y, {},
                                               at::Reduction::Mean, -100,
                                               values.label_smoothing);
      mean.backward();
      optimizer_.update(values.rule, weights_);
      for (auto& weight : weights_)
        weight.mutable_grad().reset();
      loss.add_(mean.detach(), static_cast<double>(n));
      ++drop.iteration;
    }
    train_loss_ = loss.item<double>() / static_cast<double>(images.size());
  }

  /// Returns the images at `indices`, augmented, and their labels.
  std::pair<at::Tensor, at::Tensor> batch(const std::uint32_t* indices,
                                          std::size_t size,
                                          const step_values& values,
                                          step_t step) const {
    const auto n = static_cast<std::int64_t>(size);
    auto images =
      at::empty_strided({n, 1, side, side}, image_strides, at::kFloat);
    auto labels = at::empty({n}, at::kLong);
    auto* pixels = images.mutable_data_ptr<float>();
    auto* classes = labels.mutable_data_ptr<std::int64_t>();
    const auto shifts = static_cast<std::uint64_t>(2 * values.crop + 1);
    for (std::size_t i = 0; i < size; ++i) {
      const auto image = indices[i];
      random_numbers numbers{seed_, purpose::augment, {step, image}};
      const auto dy = static_cast<int>(numbers.below(shifts)) - values.crop;
      const auto dx = static_cast<int>(numbers.below(shifts)) - values.crop;
      const bool mirror = numbers.uniform() < values.flip;
      copy_image(data_.training.images.data() + image * image_set::pixels,
                 pixels + i * image_set::pixels, dy, dx, mirror, data_.black);
      classes[i] = data_.training.labels[image];
    }
    return {images.to(device_), labels.to(device_)};
  }

  std::string name_;
  std::uint64_t seed_;
  at::Device device_;
  fashion_data data_;
  std::unique_ptr<model> model_;
  std::vector<at::Tensor> weights_; ///< the model's parameters
  optimizer optimizer_;
  double train_loss_ = 0; ///< mean over the last epoch
};

} // namespace

std::unique_ptr<workload> make_fashion_workload(const workload_spec& spec,
                                                const std::string& device) {
  const auto training = whole(spec.options.at("data.train"));
  const auto validation = whole(spec.options.at("data.validation"));
  if (training + validation > 60000)
    throw std::invalid_argument(
      "data.train " + std::to_string(training) + " and data.validation "
      + std::to_string(validation)
      + " would overlap: there are 60000 images, so together at most 60000");
  auto data =
    read_fashion_data(std::get<std::string>(spec.options.at("data.folder")),
                      training, validation);
  return std::make_unique<fashion_workload>(spec, std::move(data),
                                            at::Device{device});
}

} // namespace hippo
