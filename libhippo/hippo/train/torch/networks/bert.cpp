#include "hippo/train/torch/networks/bert.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <mutex>

#include "hippo/train/torch/random.hpp"

namespace hippo {

namespace {

constexpr double norm_epsilon = 1e-12;

/// Returns a number that is nearly normal with deviation 1: the sum of twelve
/// uniform ones. By integers alone, since the last bits of logarithms and
/// cosines are another matter with every library.
float normal(random_numbers& numbers) {
  std::int64_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    const auto x = numbers.next();
    for (int shift = 0; shift < 64; shift += 16)
      sum += static_cast<std::int64_t>((x >> shift) & 0xffff);
  }
  // The mean of each of the twelve is 65535 / 2, their deviation 65536 / sqrt
  // 12.
  return static_cast<float>(sum - std::int64_t{6} * 65535) / 65536.0F;
}

} // namespace

class bert::dropout {
public:
  explicit dropout(const step_values* values) : values_(values) {}

  at::Tensor operator()(const at::Tensor& tensor) {
    return dropped(tensor, values_, layer_++);
  }

  /// The share that is dropped.
  [[nodiscard]] double share() const {
    return values_ == nullptr ? 0 : (*values_)->dropout_limit * 0x1p-32;
  }

private:
  const step_values* values_;
  std::uint64_t layer_ = 0;
};

at::Tensor bert::linear_layer::operator()(const at::Tensor& tensor) const {
  return at::linear(tensor, weight, bias);
}

at::Tensor bert::layer_norm::operator()(const at::Tensor& tensor) const {
  return at::layer_norm(tensor, weight.sizes(), weight, bias, norm_epsilon);
}

bert::bert(const bert_sizes& sizes, at::Device device)
  : sizes_(sizes), device_(device) {
  const auto hidden = sizes.hidden;
  const std::string embeddings = "bert.embeddings.";
  words_ = add_parameter(embeddings + "word_embeddings.weight",
                         {sizes.vocabulary, hidden});
  positions_ = add_parameter(embeddings + "position_embeddings.weight",
                             {sizes.positions, hidden});
  segments_ =
    add_parameter(embeddings + "token_type_embeddings.weight", {2, hidden});
  embedding_norm_ = add_layer_norm(embeddings + "LayerNorm");
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const auto name = "bert.encoder.layer." + std::to_string(i) + '.';
    encoder_layer x;
    x.query = add_linear(name + "attention.self.query", hidden, hidden);
    x.key = add_linear(name + "attention.self.key", hidden, hidden);
    x.value = add_linear(name + "attention.self.value", hidden, hidden);
    x.attention = add_linear(name + "attention.output.dense", hidden, hidden);
    x.attention_norm = add_layer_norm(name + "attention.output.LayerNorm");
    x.intermediate =
      add_linear(name + "intermediate.dense", hidden, sizes.intermediate);
    x.output = add_linear(name + "output.dense", sizes.intermediate, hidden);
    x.output_norm = add_layer_norm(name + "output.LayerNorm");
    layers_.push_back(std::move(x));
  }
  head_ = add_linear("qa_outputs", hidden, 2);
}

at::Tensor bert::add_parameter(const std::string& name,
                               at::IntArrayRef shape) {
  auto x = at::empty(shape, at::TensorOptions(device_).dtype(at::kFloat));
  x.set_requires_grad(true);
  parameters_.emplace_back(name, x);
  return x;
}

bert::linear_layer bert::add_linear(const std::string& name, std::int64_t in,
                                    std::int64_t out) {
  return {add_parameter(name + ".weight", {out, in}),
          add_parameter(name + ".bias", {out})};
}

bert::layer_norm bert::add_layer_norm(const std::string& name) {
  return {add_parameter(name + ".weight", {sizes_.hidden}),
          add_parameter(name + ".bias", {sizes_.hidden})};
}

double bert::operations(std::int64_t tokens) const {
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const auto hidden = number(sizes_.hidden), length = number(tokens);
  const auto linear = 4 * hidden * hidden
                      + 2 * hidden * number(sizes_.intermediate);
  // Each token looks at all others, and takes from them what it has seen.
  const auto attention = 2 * length * hidden;
  const auto layers = number(sizes_.layers) * (linear + attention);
  return 3 * 2 * length * (layers + 2 * hidden);
}

void bert::init(std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::uint64_t index = 0;
  for (const auto& [name, x] : parameters_) {
    ++index;
    if (x.dim() == 1) {
      // A one-dimensional weight is the scale of a normalisation.
      x.fill_(name.ends_with(".weight") ? 1 : 0);
      continue;
    }
    random_numbers numbers{seed, purpose::weights, {index}};
    auto values = at::empty(x.sizes(), at::kFloat);
    auto* out = values.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < values.numel(); ++i)
      out[i] = 0.02F * normal(numbers);
    x.copy_(values);
  }
  words_[0].zero_(); // padding, which is never trained
}

void bert::seed(const hippo_cuda_step& values) const {
  if (device_.is_cpu())
    return;
  constexpr auto attention = std::numeric_limits<std::uint64_t>::max();
  const random_numbers numbers{
    values.seed, purpose::dropout, {values.step, values.iteration, attention}};
  auto generator = at::globalContext().defaultGenerator(device_);
  const std::lock_guard guard{generator.mutex()};
  generator.set_current_seed(numbers.key());
}

span_scores bert::forward(const bert_inputs& inputs,
                          const step_values* values) const {
  dropout dropped{values};
  const auto length = inputs.tokens.size(1);
  const auto x = at::embedding(words_, inputs.tokens, /*padding_idx=*/0)
                 + at::embedding(segments_, inputs.segments)
                 + positions_.narrow(0, 0, length);
  auto y = dropped(embedding_norm_(x));
  // For all heads and all tokens that look.
  const auto present = inputs.present.unsqueeze(1).unsqueeze(1);
  for (const auto& layer : layers_)
    y = encode(layer, y, present, dropped);
  const auto scores = head_(y);
  return {scores.select(2, 0), scores.select(2, 1)};
}

at::Tensor bert::encode(const encoder_layer& layer, const at::Tensor& tensor,
                        const at::Tensor& present, dropout& dropped) const {
  const auto inputs = tensor.size(0), tokens = tensor.size(1);
  const auto size = sizes_.hidden / sizes_.heads;
  const auto by_head = [&](const at::Tensor& y) {
    return y.view({inputs, tokens, sizes_.heads, size}).transpose(1, 2);
  };
  const attention_inputs heads{by_head(layer.query(tensor)),
                               by_head(layer.key(tensor)),
                               by_head(layer.value(tensor)), present};
  const auto seen = (tensor.is_cpu() ? attend(heads, std::ref(dropped))
                                     : attend_in_one(heads, dropped.share()))
                      .transpose(1, 2)
                      .reshape_as(tensor);
  const auto y = layer.attention_norm(tensor + dropped(layer.attention(seen)));
  return layer.output_norm(
    y + dropped(layer.output(at::gelu(layer.intermediate(y)))));
}

at::Tensor attend(const attention_inputs& inputs,
                  const std::function<at::Tensor(const at::Tensor&)>& drop) {
  const auto likeness = at::matmul(inputs.query, inputs.key.transpose(2, 3))
                        / std::sqrt(static_cast<double>(inputs.query.size(3)));
  const auto attention =
    at::softmax(likeness.masked_fill(inputs.present.logical_not(),
                                     -std::numeric_limits<float>::infinity()),
                3);
  return at::matmul(drop(attention), inputs.value);
}

at::Tensor attend_in_one(const attention_inputs& inputs, double dropout) {
  // A row of the mask for each input: expanded to all heads and tokens it would
  // be 1.4 GB for 12 layers of 32 inputs 384.
  return at::scaled_dot_product_attention(
    inputs.query, inputs.key, inputs.value, inputs.present, dropout);
}

at::Tensor span_loss(const span_scores& scores, const at::Tensor& starts,
                     const at::Tensor& ends,
                     at::Reduction::Reduction reduction) {
  return (at::cross_entropy_loss(scores.start, starts, {}, reduction)
          + at::cross_entropy_loss(scores.end, ends, {}, reduction))
         / 2;
}

} // namespace hippo
