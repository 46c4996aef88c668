#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hippo/train/torch/networks/dropout.hpp"
#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// The sizes of a BERT.
struct bert_sizes {
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0; ///< divides `hidden`
  std::int64_t intermediate = 0;
  std::int64_t positions = 512; ///< the longest input, in tokens
};

/// Inputs of one length; each tensor is inputs x tokens.
struct bert_inputs {
  at::Tensor tokens;   ///< int64; padding is 0
  at::Tensor segments; ///< int64: 0 or 1
  at::Tensor present;  ///< bool: whether it is no padding
};

/// How likely each token is to be the first and the last of the answer, as
/// logits: inputs x tokens each.
struct span_scores {
  at::Tensor start;
  at::Tensor end;
};

/// BERT (Devlin et al., 2019) with a head that scores where an answer begins
/// and ends; computes what transformers' `BertForQuestionAnswering` does.
class bert {
public:
  bert(const bert_sizes& sizes, at::Device device);

  /// Sets weights to what `seed` gives, as BERT begins: normal with deviation
  /// 0.02. Before that they are anything.
  void init(std::uint64_t seed);

  /// Makes what LibTorch's own kernels for GPUs draw in a step a function of the
  /// values; to be called before each step that trains.
  void seed(const hippo_cuda_step& values) const;

  /// @param values null for evaluation
  [[nodiscard]] span_scores forward(const bert_inputs& inputs,
                                    const step_values* values) const;

  /// Floating-point operations to train on an input of so many tokens: those of
  /// linear layers and attention, and twice as many to go back.
  [[nodiscard]] double operations(std::int64_t tokens) const;

  /// The trained tensors, named as in the reference's `state_dict()`.
  [[nodiscard]] const named_tensors& parameters() const { return parameters_; }

private:
  struct linear_layer {
    at::Tensor weight, bias;
    at::Tensor operator()(const at::Tensor& tensor) const;
  };

  struct layer_norm {
    at::Tensor weight, bias;
    at::Tensor operator()(const at::Tensor& tensor) const;
  };

  struct encoder_layer {
    linear_layer query, key, value, attention;
    layer_norm attention_norm;
    linear_layer intermediate, output;
    layer_norm output_norm;
  };

  at::Tensor add_parameter(const std::string& name, at::IntArrayRef shape);
  linear_layer add_linear(const std::string& name, std::int64_t in,
                          std::int64_t out);
  layer_norm add_layer_norm(const std::string& name);

  /// Drops activations out, one layer after another.
  class dropout;
  at::Tensor encode(const encoder_layer& layer, const at::Tensor& tensor,
                    const at::Tensor& present, dropout& drop) const;

  bert_sizes sizes_;
  at::Device device_;
  named_tensors parameters_;
  at::Tensor words_, positions_, segments_;
  layer_norm embedding_norm_;
  std::vector<encoder_layer> layers_;
  linear_layer head_;
};

/// Arguments of attention: inputs x heads x tokens x size each, and whether the
/// tokens that are looked at are there: inputs x 1 x 1 x tokens.
struct attention_inputs {
  at::Tensor query, key, value, present;
};

/// Returns what each head sees (Vaswani et al., 2017), like its inputs, after
/// `drop` has dropped some of the attention.
at::Tensor attend(const attention_inputs& inputs,
                  const std::function<at::Tensor(const at::Tensor&)>& drop);

/// The same by LibTorch's kernel for the whole of it. What a share `dropout` of
/// the attention is decides LibTorch's generator of the device.
at::Tensor attend_in_one(const attention_inputs& inputs, double dropout);

/// Returns the mean of the cross-entropies of where answers begin and end.
/// @param starts,ends the right tokens, int64
/// @param reduction over the inputs
at::Tensor span_loss(const span_scores& scores, const at::Tensor& starts,
                     const at::Tensor& ends,
                     at::Reduction::Reduction reduction);

} // namespace hippo
