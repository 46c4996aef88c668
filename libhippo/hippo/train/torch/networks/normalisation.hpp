#pragma once

#include <torch/types.h>

#include "hippo/train/torch/kernels/kernels.hpp"

namespace hippo {

using kernels::activation;

/// Batch normalisation (Ioffe and Szegedy, 2015) of one layer.
struct batch_norm {
  static constexpr double epsilon = 1e-5; ///< added to variances
  static constexpr double momentum = 0.1; ///< share of a batch in running ones

  at::Tensor weight, bias;
  at::Tensor mean, variance; ///< running ones, which evaluation uses
};

/// The operations beside normalisation, in this order.
struct normalisation {
  bool pool = false;     ///< first, the largest of each 2 x 2 pixels is taken
  at::Tensor residual{}; ///< added, if there is one
  activation last = activation::relu;
};

/// Normalises `tensor` (images x channels x height x width):
/// when training, by the statistics of the batch, which go into the running
/// ones; else by those.
at::Tensor normalise(const at::Tensor& tensor, const batch_norm& norm,
                     const normalisation& how, bool training);

} // namespace hippo
