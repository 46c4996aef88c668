#include "hippo/train/torch/clicks/click_workload.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/base/portable_math.hpp"
#include "hippo/train/batch_pipeline.hpp"
#include "hippo/train/torch/clicks/click_batch.hpp"
#include "hippo/train/torch/clicks/click_log.hpp"
#include "hippo/train/torch/clicks/click_scores.hpp"
#include "hippo/train/torch/clicks/dlrm.hpp"
#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/part_sync.hpp"
#include "hippo/train/torch/stateful_workload.hpp"
#include "hippo/train/torch/step_values.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

constexpr auto click_name = "clicks-dlrm";

/// Impressions at a time when evaluating: fixed, so that sums are always the
/// same.
constexpr std::int64_t evaluation_batch = 4096;

click_data read_data(const workload_spec& spec) {
  const auto& options = spec.options;
  const click_split split{whole(options.at("data.train")),
                          whole(options.at("data.validation")),
                          whole(options.at("data.rows"))};
  if (std::get<std::string>(options.at("data.set")) == "synthetic")
    return make_clicks(split);
  return read_criteo(std::get<std::string>(options.at("data.file")), split);
}

/// Returns the tables, then the buffers of the exchange.
named_tensors buffers_of(const dlrm& network, const part_sync& sync) {
  named_tensors result{{"tables", network.tables()}};
  result.insert(result.end(), sync.buffers().begin(), sync.buffers().end());
  return result;
}

class click_workload final : public stateful_workload {
public:
  click_workload(const workload_spec& spec,
                 std::shared_ptr<const click_data> data, at::Device device,
                 device_stream& stream, unsigned prepare_threads)
    : stateful_workload(stream), seed_(whole(spec.options.at("seed"))),
      parts_(count_of(spec, "parts")), table_rows_(count_of(spec, "data.rows")),
      step_size_(step_size_of(spec)), prepare_threads_(prepare_threads),
      device_(device), data_(std::move(data)),
      network_({parts_, table_rows_, count_of(spec, "dimension"),
                count_of(spec, "hidden")},
               device),
      sync_(network_.parameters()),
      state_(spec.name, network_.parameters(), buffers_of(network_, sync_)),
      values_(device),
      loss_(at::zeros({}, at::TensorOptions(device).dtype(at::kDouble))) {
    reset();
  }

  [[nodiscard]] workload_size size() const override {
    double weights = static_cast<double>(network_.tables().numel());
    for (const auto& [name, weight] : network_.parameters())
      weights += static_cast<double>(weight[0].numel());
    return {network_.operations(), weights, static_cast<double>(step_size_)};
  }

  void init() override {
    stream_.run([this] { reset(); });
  }

  void export_weights(const std::string& path) override {
    stream_.run([&] { write_weights(path, network_.exported(sync_.mean())); });
  }

private:
  static std::int64_t step_size_of(const workload_spec& spec) {
    const auto size = count_of(spec, "data.step"),
               training = count_of(spec, "data.train");
    if (size > training)
      throw std::invalid_argument("data.step " + std::to_string(size)
                                  + " is above data.train "
                                  + std::to_string(training));
    return size;
  }

  training_state& state() override { return state_; }

  void reset() {
    network_.init(seed_);
    sync_.init();
    state_.restart(portable_log(2));
  }

  /// A step is the next share of the impressions, in their order; behind the
  /// last whole share they begin anew.
  void train_step(const configuration& config, step_t step) override {
    const auto rule = update_rule_at(config, step);
    const auto batch_size =
      static_cast<std::int64_t>(whole(number_at(config, "batch_size", step)));
    const auto size = batch_size * parts_;
    if (size > step_size_)
      throw std::invalid_argument(
        "batch_size " + std::to_string(batch_size) + " times parts "
        + std::to_string(parts_) + " is " + std::to_string(size)
        + ", above data.step " + std::to_string(step_size_));
    const auto shares = data_->training.size() / step_size_;
    const auto log = data_->training.part(
      static_cast<std::int64_t>(step) % shares * step_size_, step_size_);
    const auto sync = sync_rule_at(
      config,
      sync_kind_of(std::get<std::string>(config.at(sync_name).at(step))), step);
    const auto rows_lr = number_at(config, "embedding_lr", step);
    const auto iterations = (step_size_ + size - 1) / size;
    batch_pipeline<click_batch> batches{
      static_cast<std::uint64_t>(iterations), prepare_threads_, [&] {
        return [&](std::uint64_t number) {
          const auto first = static_cast<std::int64_t>(number) * size;
          return dealt_out(log.part(first, std::min(size, step_size_ - first)),
                           parts_);
        };
      }};
    std::uint64_t iteration = 0;
    while (const auto batch = batches.next()) { // waits on this thread
      stream_.run_each([&] {
        if (iteration == 0) {
          values_.reset();
          loss_.zero_();
          begin_sync(sync);
        }
        state_.plan(rule, values_);
        values_.publish();
        train_batch(batch->on(device_), rows_lr);
        return false;
      });
      const auto is_last =
        iteration + 1 == static_cast<std::uint64_t>(iterations);
      sync_.exchange(stream_, iteration++, is_last);
    }
    note_wait(batches.waited());
    state_.train_loss =
      read(loss_).item<double>() / static_cast<double>(step_size_);
  }

  /// One model has equal moments as well.
  void begin_sync(const sync_rule& rule) {
    sync_.begin(rule);
    if (sync_.is_one_model())
      for (const auto& moment : state_.moment_tensors())
        set_to_mean_of_parts(moment);
  }

  void train_batch(const click_batch& batch, double rows_lr) {
    const auto rows = network_.rows_of(batch);
    const auto losses = at::binary_cross_entropy_with_logits(
      network_.logits(network_.parameters(), batch.numbers, rows), batch.labels,
      {}, {}, at::Reduction::None);
    state_.go_back((losses * batch.shares).sum(), 1);
    const auto counts = batch.shares.gt(0).to(at::kFloat);
    // With one model each part's mean counts as much as it has impressions.
    const auto share = counts.sum(1).div_(counts.sum());
    sync_.mix_gradients(share);
    state_.apply(values_);
    auto gradients = rows.grad();
    if (sync_.is_one_model())
      gradients.mul_(share.view({parts_, 1, 1, 1}));
    network_.step_rows(batch, gradients, rows_lr);
    loss_.add_((losses.detach() * counts).sum(at::kDouble));
  }

  /// Measures the mean of all parts.
  metrics measure() override {
    const auto& log = data_->validation;
    const auto logits =
      at::empty({log.size()}, at::TensorOptions().dtype(at::kFloat));
    named_tensors mean;
    stream_.run([&] { mean = sync_.mean(); });
    for (std::int64_t first = 0; first < log.size();
         first += evaluation_batch) {
      const auto count = std::min(evaluation_batch, log.size() - first);
      const auto here = dealt_out(log.part(first, count), 1);
      at::Tensor there;
      stream_.run([&] {
        const c10::InferenceMode guard;
        const auto batch = here.on(device_);
        there = network_.logits(mean, batch.numbers, network_.rows_of(batch));
      });
      logits.narrow(0, first, count).copy_(read(there).flatten());
    }
    const auto score = click_scores_of(
      {logits.const_data_ptr<float>(), static_cast<std::size_t>(log.size())},
      {log.labels.const_data_ptr<float>(),
       static_cast<std::size_t>(log.size())});
    return {{"val_loss", score.log_loss},
            {"val_auc", score.auc},
            {"train_loss", state_.train_loss}};
  }

  [[nodiscard]] click_batch dealt_out(const click_log& log,
                                      std::int64_t parts) const {
    return deal_out(log, parts, table_rows_, !device_.is_cpu());
  }

  std::uint64_t seed_;
  std::int64_t parts_;
  std::int64_t table_rows_; ///< of a category
  std::int64_t step_size_;  ///< impressions of a step
  unsigned prepare_threads_;
  at::Device device_;
  std::shared_ptr<const click_data> data_;
  dlrm network_;
  part_sync sync_;
  training_state state_;
  step_values values_;
  at::Tensor loss_; ///< sum over the impressions of a step so far
};

} // namespace

bool is_click_workload(const workload_spec& spec) {
  return spec.name == click_name;
}

std::unique_ptr<workload> make_click_workload(const workload_spec& spec,
                                              at::Device device,
                                              device_stream& stream,
                                              unsigned prepare_threads) {
  // Never destroyed: the last workload may outlive other static objects.
  static auto& all = *new shared_values<click_data>;
  auto data = all.get(data_key(spec), [&] {
    return std::make_shared<const click_data>(read_data(spec));
  });
  return stream.run([&] {
    return std::make_unique<click_workload>(spec, std::move(data), device,
                                            stream, prepare_threads);
  });
}

} // namespace hippo
