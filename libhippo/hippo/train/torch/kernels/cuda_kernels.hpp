#pragma once

#include <string>

#include "hippo/base/error.hpp"
#include "hippo/train/torch/cuda/kernels.h"

namespace hippo {

/// Our kernels for GPUs; kernels.h says what they do.
struct cuda_kernels {
  decltype(&hippo_cuda_error_text) error_text;
  decltype(&hippo_cuda_image_batch) image_batch;
  decltype(&hippo_cuda_dropout) dropout;
  decltype(&hippo_cuda_update) update;
  decltype(&hippo_cuda_norm_workspace) norm_workspace = nullptr;
  decltype(&hippo_cuda_normalise) normalise = nullptr;
  decltype(&hippo_cuda_normalise_backward) normalise_backward = nullptr;
  decltype(&hippo_cuda_conv_rows) conv_rows = nullptr;
  decltype(&hippo_cuda_conv_prepare) conv_prepare = nullptr;
  decltype(&hippo_cuda_conv_workspace) conv_workspace = nullptr;
  decltype(&hippo_cuda_convolve) convolve = nullptr;
  decltype(&hippo_cuda_convolve_input) convolve_input = nullptr;
  decltype(&hippo_cuda_convolve_weight) convolve_weight = nullptr;
};

/// Loads the library that they are in, for the life of the process.
/// @param library a path, or a name that the loader looks for: beside the
///                program, or in `../lib/hippo` from there
/// @returns `errc::io_failed` if it cannot be loaded, and why, or
///          `errc::incompatible_version` if it is of another build
expected<cuda_kernels>
load_cuda_kernels(const std::string& library = "libhippo_cuda.so");

/// Returns this program's kernels, loaded at the first call.
const expected<cuda_kernels>& own_cuda_kernels();

} // namespace hippo
