#include "hippo/train/torch/span_workload.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/data/span_data.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/kernels/step_recorder.hpp"
#include "hippo/train/torch/networks/bert.hpp"
#include "hippo/train/torch/precision.hpp"
#include "hippo/train/torch/stateful_workload.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

/// Windows at a time when evaluating: fixed, so that sums are always the same.
constexpr std::size_t evaluation_batch = 32;

/// The most tokens of an answer that is predicted.
constexpr std::size_t longest_answer = 30;

/// The hyper-parameters of one step.
struct span_values : epoch_values {
  double clip = 0;
};

span_values values_at(const configuration& config, step_t at) {
  return {epoch_values_at(config, at), number_at(config, "clip", at)};
}

/// All do but biases and the scales of normalisations: those have one
/// dimension.
bool decays(const at::Tensor& weight) {
  return weight.dim() > 1;
}

bert_sizes sizes_of(const workload_spec& spec) {
  bert_sizes x;
  x.vocabulary =
    static_cast<std::int64_t>(whole(spec.options.at("data.vocabulary")));
  const bool base = spec.name == "squad-bert-base";
  x.hidden = base ? 768 : 128;
  x.layers = x.heads = base ? 12 : 2;
  x.intermediate = 4 * x.hidden;
  return x;
}

span_data data_of(const workload_spec& spec) {
  const auto& options = spec.options;
  span_limits limits;
  limits.training = whole(options.at("data.train"));
  limits.validation = whole(options.at("data.validation"));
  limits.length = whole(options.at("data.length"));
  limits.stride = whole(options.at("data.stride"));
  limits.vocabulary = whole(options.at("data.vocabulary"));
  if (std::get<std::string>(options.at("data.set")) == "synthetic")
    return make_spans(limits);
  return read_squad(std::get<std::string>(options.at("data.folder")), limits);
}

/// Windows as tensors.
struct span_batch {
  bert_inputs inputs;
  at::Tensor starts, ends;
};

/// A span of tokens in a window, and how likely it is: as a logit.
struct predicted_span {
  const span_window* window = nullptr;
  std::size_t start = 0;
  std::size_t end = 0;
  float score = -std::numeric_limits<float>::infinity();
};

/// Returns the likeliest answer, the first one of equals.
/// @param start,end the scores of the window's tokens
predicted_span likeliest_span(const span_window& x, const float* start,
                              const float* end) {
  predicted_span best{&x, x.first, x.first};
  for (auto i = x.first; i < x.last(); ++i)
    for (auto j = i; j < std::min(i + longest_answer, x.last()); ++j)
      if (const auto score = start[i] + end[j]; score > best.score)
        best = {&x, i, j, score};
  return best;
}

/// Copies weights that are the beginning: all but the head's, which a model
/// that has learned language alone does not have.
void copy_pretrained(const named_tensors& to, const tensor_map& from,
                     const std::string& path) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, x] : to) {
    const auto i = from.find(name);
    if (i == from.end()) {
      if (name.starts_with("qa_outputs."))
        continue;
      throw std::runtime_error(path + " has no weights " + name);
    }
    if (i->second.sizes() != x.sizes())
      throw std::runtime_error(
        "the weights " + name + " in " + path + " have the shape "
        + c10::str(i->second.sizes()) + ", not " + c10::str(x.sizes()));
    x.copy_(i->second);
  }
}

class span_workload final : public stateful_workload {
public:
  span_workload(const workload_spec& spec,
                std::shared_ptr<const span_data> data, tensor_map pretrained,
                at::Device device, device_stream& stream)
    : stateful_workload(stream), seed_(whole(spec.options.at("seed"))),
      length_(whole(spec.options.at("data.length"))),
      weights_path_(std::get<std::string>(spec.options.at("weights"))),
      device_(device), precision_(precision_of(spec, device)),
      data_(std::move(data)), network_(sizes_of(spec), device),
      state_(spec.name, network_.parameters(), {}, decays, averaging_of(spec)),
      values_(device),
      loss_(at::zeros({}, at::TensorOptions(device).dtype(at::kDouble))),
      steps_(device), pretrained_(std::move(pretrained)) {
    reset();
  }

  [[nodiscard]] workload_size size() const override {
    double parameters = 0;
    for (const auto& [name, x] : network_.parameters())
      parameters += static_cast<double>(x.numel());
    return {network_.operations(static_cast<std::int64_t>(length_)),
            parameters, static_cast<double>(data_->training.windows.size())};
  }

  void init() override {
    stream_.run([this] { reset(); });
  }

private:
  metrics measure() override {
    const auto& set = data_->validation;
    std::vector<predicted_span> answers(set.questions.size());
    std::vector<std::uint32_t> windows(set.windows.size());
    std::iota(windows.begin(), windows.end(), 0U);
    double loss = 0;
    for (std::size_t first = 0; first < windows.size();
         first += evaluation_batch) {
      const auto n = std::min(evaluation_batch, windows.size() - first);
      const auto [starts, ends, sum] = measured(set, windows.data() + first, n);
      loss += sum.item<double>();
      for (std::size_t i = 0; i < n; ++i) {
        const auto& window = set.windows[first + i];
        const auto best =
          likeliest_span(window, starts.const_data_ptr<float>() + i * length_,
                         ends.const_data_ptr<float>() + i * length_);
        auto& answer = answers[window.question];
        if (answer.window == nullptr || best.score > answer.score)
          answer = best;
      }
    }
    span_score sum;
    for (const auto& x : answers) {
      const auto [exact, f1] = score_of(set, *x.window, x.start, x.end);
      sum.exact += exact;
      sum.f1 += f1;
    }
    const auto questions = static_cast<double>(answers.size());
    return {metrics{{"val_exact", sum.exact / questions},
                    {"val_f1", sum.f1 / questions},
                    {"val_loss", loss / static_cast<double>(windows.size())},
                    {"train_loss", state_.train_loss}}};
  }

  training_state& state() override { return state_; }

  void reset() {
    network_.init(seed_);
    if (!weights_path_.empty())
      copy_pretrained(network_.parameters(), pretrained_, weights_path_);
    state_.restart(std::log(static_cast<double>(length_)));
  }

  /// A step is one epoch; a last batch that is not full counts as any other.
  void train_step(const configuration& config, step_t step) override {
    const auto& set = data_->training;
    check_batch_size(config, step, set.windows.size());
    const auto values = values_at(config, step);
    const auto windows = epoch_order(seed_, step, set.windows.size());
    const bool clips = values.clip > 0;
    std::uint64_t iteration = 0;
    std::size_t first = 0;
    stream_.run_each([&] {
      const tf32_scope products{precision_};
      if (first == 0) {
        values_.reset({seed_, step, 0, values.dropout});
        if (clips)
          values_->clip = static_cast<float>(values.clip);
        loss_.zero_();
      }
      const auto n =
        std::min<std::size_t>(values.batch_size, windows.size() - first);
      const auto& batch = put_batch(set, windows.data() + first, n);
      values_->iteration = iteration++;
      state_.plan(values.rule, values_);
      values_.publish();
      network_.seed(*values_);
      // LibTorch's attention is given the share of dropout when it is launched.
      steps_.run({static_cast<std::int64_t>(n), values_->dropout_limit, clips,
                  state_.moments()},
                 [&] { train_batch(batch, clips); });
      first += values.batch_size;
      return first < windows.size();
    });
    state_.train_loss
      = read(loss_).item<double>() / static_cast<double>(windows.size());
  }

  /// Windows that were scored.
  struct scored {
    at::Tensor starts, ends; ///< windows x tokens, on the machine
    at::Tensor loss;         ///< sum over the windows
  };

  scored measured(const span_set& set, const std::uint32_t* indices,
                  std::size_t size) {
    scored there;
    stream_.run([&] {
      const c10::InferenceMode guard;
      const tf32_scope products{precision_};
      const auto& batch = put_batch(set, indices, size);
      const auto scores = scores_of(batch, nullptr);
      there = {scores.start.contiguous(), scores.end.contiguous(),
               span_loss(scores, batch.starts, batch.ends, at::Reduction::Sum)
                 .to(at::kDouble)};
    });
    return {read(there.starts), read(there.ends), read(there.loss)};
  }

  /// @param values as for `bert::forward`
  span_scores scores_of(const span_batch& batch,
                        const step_values* values) const {
    const autocast_scope numbers{precision_, device_};
    const auto scores = network_.forward(batch.inputs, values);
    return {scores.start.to(at::kFloat), scores.end.to(at::kFloat)};
  }

  void train_batch(const span_batch& batch, bool clips) {
    const auto mean = span_loss(scores_of(batch, &values_), batch.starts,
                                batch.ends, at::Reduction::Mean);
    state_.go_back(mean, loss_scale(precision_));
    if (clips)
      state_.clip_gradients(values_);
    state_.apply(values_);
    loss_.add_(mean.detach(), static_cast<double>(batch.starts.size(0)));
  }

  /// Returns the windows at `indices`, padded to the length of all, on the
  /// device: those of one size always in the same place.
  const span_batch& put_batch(const span_set& set, const std::uint32_t* indices,
                              std::size_t size) {
    // Not for evaluation alone, although that may come first.
    const c10::InferenceMode none{false};
    const auto n = static_cast<std::int64_t>(size);
    const auto length = static_cast<std::int64_t>(length_);
    // Pinned for a GPU: then copying waits for nothing, and LibTorch keeps the
    // memory until it is done.
    const auto host = at::TensorOptions().pinned_memory(!device_.is_cpu());
    const auto whole_numbers = host.dtype(at::kLong);
    auto tokens = at::zeros({n, length}, whole_numbers);
    auto segments = at::zeros({n, length}, whole_numbers);
    auto present = at::zeros({n, length}, host.dtype(at::kBool));
    auto starts = at::empty({n}, whole_numbers);
    auto ends = at::empty({n}, whole_numbers);
    for (std::size_t i = 0; i < size; ++i) {
      const auto& x = set.windows[indices[i]];
      const auto row = i * length_;
      std::ranges::copy(x.tokens,
                        tokens.mutable_data_ptr<std::int64_t>() + row);
      std::fill_n(segments.mutable_data_ptr<std::int64_t>() + row + x.first,
                  x.tokens.size() - x.first, 1);
      std::fill_n(present.mutable_data_ptr<bool>() + row, x.tokens.size(),
                  true);
      starts.mutable_data_ptr<std::int64_t>()[i] =
        static_cast<std::int64_t>(x.start);
      ends.mutable_data_ptr<std::int64_t>()[i] =
        static_cast<std::int64_t>(x.end);
    }
    auto& there = batches_[size];
    const auto put = [this](at::Tensor& to, const at::Tensor& from) {
      if (to.defined())
        to.copy_(from, /*non_blocking=*/true);
      else
        to = from.to(device_);
    };
    put(there.inputs.tokens, tokens);
    put(there.inputs.segments, segments);
    put(there.inputs.present, present);
    put(there.starts, starts);
    put(there.ends, ends);
    return there;
  }

  std::uint64_t seed_;
  std::size_t length_; ///< of every input, in tokens
  std::string weights_path_;
  at::Device device_;
  precision precision_;
  std::shared_ptr<const span_data> data_;
  bert network_;
  training_state state_;
  step_values values_;
  at::Tensor loss_; ///< sum over the windows of an epoch so far
  std::map<std::size_t, span_batch> batches_; ///< by size
  step_recorder steps_;
  tensor_map pretrained_; ///< empty without `weights_path_`
};

} // namespace

std::unique_ptr<workload> make_span_workload(const workload_spec& spec,
                                             at::Device device,
                                             device_stream& stream) {
  static auto& all = *new shared_values<span_data>;
  auto data = all.get(data_key(spec), [&] {
    return std::make_shared<const span_data>(data_of(spec));
  });
  tensor_map pretrained;
  if (const auto& path = std::get<std::string>(spec.options.at("weights"));
      !path.empty()) {
    if (!std::filesystem::exists(path))
      throw missing_data_error("there is no file of weights " + path
                               + ": give another one as weights, or none");
    pretrained = read_weights(path);
  }
  return stream.run([&] {
    return std::make_unique<span_workload>(
      spec, std::move(data), std::move(pretrained), device, stream);
  });
}

} // namespace hippo
