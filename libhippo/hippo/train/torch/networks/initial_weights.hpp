#pragma once

#include <cstdint>

#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// Writes the weights that training begins with: uniform ones as of PyTorch's
/// Linear and Conv2d, of which `seed`, the number of the tensor and that of the
/// element are the address; 0 for biases, 1 for the scales of normalisations.
void put_initial_weights(const named_tensors& parameters, std::uint64_t seed);

/// Writes numbers of [-bound, bound), all equally likely, one after another.
void put_uniform(const at::Tensor& to, double bound, random_numbers numbers);

} // namespace hippo
