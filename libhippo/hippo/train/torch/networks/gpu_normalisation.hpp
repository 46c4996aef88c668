#pragma once

#include "hippo/train/torch/kernels/cuda_kernels.hpp"
#include "hippo/train/torch/networks/normalisation.hpp"

namespace hippo {

/// `normalise` by kernels for GPUs, in channels-last or channels-first order,
/// whichever `tensor` has. The result has the type of `tensor`: float32,
/// bfloat16 or float16. REQUIRES: `kernels` outlive the way back
at::Tensor normalise_by(const cuda_kernels& kernels, const at::Tensor& tensor,
                        const batch_norm& norm, const normalisation& how,
                        bool training);

} // namespace hippo
