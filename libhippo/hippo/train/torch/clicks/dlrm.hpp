#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>

#include "hippo/train/torch/clicks/click_batch.hpp"
#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// The sizes of a click model.
struct dlrm_sizes {
  std::int64_t parts = 1;     ///< copies of the dense networks
  std::int64_t rows = 0;      ///< of a category's table
  std::int64_t dimension = 0; ///< of a row
  std::int64_t hidden = 0;    ///< width of hidden layers
};

/// The deep learning recommendation model (Naumov et al., 2019, arXiv
/// 1906.00091) for Criteo's logs: a network takes the numbers to a vector as
/// long as the rows of the categories, another one takes that vector and its
/// products with the rows, and theirs with each other, to the logit of a click.
/// The networks have several copies, one of each part; the tables are there
/// once.
class dlrm {
public:
  dlrm(const dlrm_sizes& sizes, at::Device device);

  /// Sets all to what `seed` gives: equal copies. Before that it is anything.
  void init(std::uint64_t seed);

  /// The weights of the networks, parts x the shape of PyTorch's: those of
  /// layer after layer, each with its bias.
  [[nodiscard]] const named_tensors& parameters() const { return parameters_; }

  /// The rows of all tables behind each other, which `step_rows` trains.
  [[nodiscard]] const at::Tensor& tables() const { return tables_; }

  /// Returns the rows of categories, parts x impressions x 26 x dimension, as
  /// something of which a gradient is kept.
  [[nodiscard]] at::Tensor rows_of(const click_batch& batch) const;

  /// Returns the logits of a batch, parts x impressions.
  /// @param weights like `parameters()`, of any number of parts
  [[nodiscard]] at::Tensor logits(const named_tensors& weights,
                                  const at::Tensor& numbers,
                                  const at::Tensor& rows) const;

  /// Goes against the gradients of rows, those of the first part first. A row
  /// that is there several times goes against the sum.
  void step_rows(const click_batch& batch, const at::Tensor& gradients,
                 double lr) const;

  /// Returns copies of networks and tables by the names of the reference's
  /// `state_dict()`.
  /// @param weights like `parameters()`, of one part
  [[nodiscard]] named_tensors exported(const named_tensors& weights) const;

  /// Floating-point operations to train on an impression: those of the
  /// networks, and twice as many to go back.
  [[nodiscard]] double operations() const;

private:
  void add_layer(const std::string& name, std::int64_t in, std::int64_t out);

  dlrm_sizes sizes_;
  at::Device device_;
  named_tensors parameters_;
  at::Tensor tables_;
  at::Tensor pairs_; ///< places of the pairs i > j in a matrix, row by row
};

} // namespace hippo
