#include "hippo/train/torch/span_workload.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/data/span_data.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/epoch_parts.hpp"
#include "hippo/train/torch/epoch_workload.hpp"
#include "hippo/train/torch/networks/bert.hpp"
#include "hippo/train/torch/precision.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

/// Windows at a time when evaluating: fixed, so that sums are always the same.
constexpr std::int64_t evaluation_batch = 32;

/// The most tokens of an answer that is predicted.
constexpr std::size_t longest_answer = 30;

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
  std::uint32_t start = 0;
  std::uint32_t end = 0;
  float score = -std::numeric_limits<float>::infinity();
};

/// Returns the likeliest answer, the first one of equals.
/// @param start,end the scores of the window's tokens
predicted_span likeliest_span(const span_window& x, const float* start,
                              const float* end) {
  const auto first = static_cast<std::uint32_t>(x.first);
  predicted_span best{first, first};
  for (auto i = x.first; i < x.last(); ++i)
    for (auto j = i; j < std::min(i + longest_answer, x.last()); ++j)
      if (const auto score = start[i] + end[j]; score > best.score)
        best = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j),
                score};
  return best;
}

/// The measurement of a batch of windows, as members tell it each other.
struct measured_batch {
  double loss = 0;                                   ///< sum
  std::array<predicted_span, evaluation_batch> best; ///< of each window
};

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

class span_workload final : public epoch_workload {
public:
  span_workload(const workload_spec& spec,
                std::shared_ptr<const span_data> data, tensor_map pretrained,
                bert network, at::Device device, device_stream& stream)
    : epoch_workload(spec, device, stream, network.parameters(), {}, decays),
      length_(whole(spec.options.at("data.length"))),
      weights_path_(std::get<std::string>(spec.options.at("weights"))),
      data_(std::move(data)), network_(std::move(network)),
      pretrained_(std::move(pretrained)) {
    reset();
  }

  [[nodiscard]] workload_size size() const override {
    double parameters = 0;
    for (const auto& [name, x] : network_.parameters())
      parameters += static_cast<double>(x.numel());
    return {network_.operations(static_cast<std::int64_t>(length_)),
            parameters, static_cast<double>(data_->training.windows.size())};
  }

private:
  metrics measure() override {
    const auto& set = data_->validation;
    const auto windows = set.windows.size();
    const epoch_parts batches{
      static_cast<std::int64_t>(windows), evaluation_batch, {}};
    std::vector<measured_batch> measured(
      static_cast<std::size_t>(batches.size()));
    const auto own = own_share(measured.size());
    for (auto i = own.first; i < own.end; ++i)
      measured[i] = measure_batch(batches.at(static_cast<std::int64_t>(i)));
    gather(std::as_writable_bytes(std::span{measured}), sizeof(measured_batch));
    // All is put together in the order of the windows, for any number of
    // members.
    double loss = 0;
    std::vector<answer> answers(set.questions.size());
    for (std::size_t i = 0; i < windows; ++i) {
      const auto place = i % evaluation_batch;
      const auto& batch = measured[i / evaluation_batch];
      if (place == 0)
        loss += batch.loss;
      auto& present = answers[set.windows[i].question];
      if (present.window == nullptr
          || batch.best[place].score > present.span.score)
        present = {&set.windows[i], batch.best[place]};
    }
    span_score sum;
    for (const auto& x : answers) {
      const auto [exact, f1] =
        score_of(set, *x.window, x.span.start, x.span.end);
      sum.exact += exact;
      sum.f1 += f1;
    }
    const auto questions = static_cast<double>(answers.size());
    return {metrics{{"val_exact", sum.exact / questions},
                    {"val_f1", sum.f1 / questions},
                    {"val_loss", loss / static_cast<double>(windows)},
                    {"train_loss", state_.train_loss}}};
  }

  /// The likeliest answer of a question so far.
  struct answer {
    const span_window* window = nullptr;
    predicted_span span;
  };

  measured_batch measure_batch(const batch_part& batch) {
    const auto& set = data_->validation;
    std::vector<std::uint32_t> windows(static_cast<std::size_t>(batch.size));
    std::iota(windows.begin(), windows.end(),
              static_cast<std::uint32_t>(batch.first));
    const auto [starts, ends, loss] = scored_windows(set, windows);
    measured_batch result{loss.item<double>(), {}};
    for (std::size_t i = 0; i < windows.size(); ++i)
      result.best[i] = likeliest_span(
        set.windows[windows[i]], starts.const_data_ptr<float>() + i * length_,
        ends.const_data_ptr<float>() + i * length_);
    return result;
  }

  void reset() override {
    network_.init(seed_);
    if (!weights_path_.empty())
      copy_pretrained(network_.parameters(), pretrained_, weights_path_);
    state_.restart(std::log(static_cast<double>(length_)));
  }

  /// A step is one epoch.
  void train_step(const configuration& config, step_t step) override {
    const auto& set = data_->training;
    const auto now = begin_epoch(config, step, update_rule_at(config, step),
                                 static_cast<std::int64_t>(set.windows.size()));
    if (const auto clip = number_at(config, "clip", step); clip > 0)
      values_->clip = static_cast<float>(clip);
    const std::span order{now.order};
    train_epoch(now, [&](const batch_part& part) {
      batch_ =
        &put_batch(set, order.subspan(static_cast<std::size_t>(part.first),
                                      static_cast<std::size_t>(part.size)));
      network_.seed(*values_);
    });
  }

  at::Tensor training_loss(const batch_part& /*part*/,
                           at::Reduction::Reduction reduction) override {
    return span_loss(scores_of(*batch_, &values_), batch_->starts, batch_->ends,
                     reduction);
  }

  /// LibTorch's attention is given the share of dropout when it is launched.
  [[nodiscard]] std::int64_t recorded_dropout() const override {
    return values_->dropout_limit;
  }

  /// Windows that were scored.
  struct scored {
    at::Tensor starts, ends; ///< windows x tokens, on the machine
    at::Tensor loss;         ///< sum over the windows
  };

  scored scored_windows(const span_set& set,
                        std::span<const std::uint32_t> indices) {
    scored there;
    stream_.run([&] {
      const c10::InferenceMode guard;
      const tf32_scope products{precision_};
      const auto& batch = put_batch(set, indices);
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

  /// Returns the windows at `indices`, padded to the length of all, on the
  /// device: those of one size always in the same place.
  const span_batch& put_batch(const span_set& set,
                              std::span<const std::uint32_t> indices) {
    // Not for evaluation alone, although that may come first.
    const c10::InferenceMode none{false};
    const auto n = static_cast<std::int64_t>(indices.size());
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
    for (std::size_t i = 0; i < indices.size(); ++i) {
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
    auto& there = batches_[indices.size()];
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

  std::size_t length_; ///< of every input, in tokens
  std::string weights_path_;
  std::shared_ptr<const span_data> data_;
  bert network_;
  std::map<std::size_t, span_batch> batches_; ///< by size
  const span_batch* batch_ = nullptr; ///< of these, the part that was put last
  tensor_map pretrained_;             ///< empty without `weights_path_`
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
      spec, std::move(data), std::move(pretrained),
      bert{sizes_of(spec), device}, device, stream);
  });
}

} // namespace hippo
