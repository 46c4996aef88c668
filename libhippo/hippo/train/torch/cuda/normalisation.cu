#include "hippo/train/torch/cuda/normalisation.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hippo/train/torch/cuda/kernels.h"

namespace {

namespace cuda = hippo::cuda;

/// The threads of a block, which wait for each other after every piece of work.
struct block_threads {
  template <class Work>
  __host__ __device__ void operator()(const Work& work) const {
#ifdef __CUDA_ARCH__
    work(static_cast<int>(threadIdx.x));
    __syncthreads();
#endif
  }
};

__device__ cuda::norm_block block_of(const cuda::norm_plan& plan) {
  const auto chunks = static_cast<unsigned>(plan.chunks);
  return {static_cast<std::int32_t>(blockIdx.x % chunks),
          static_cast<std::int32_t>(blockIdx.x / chunks)};
}

template <class Layout>
__global__ void __launch_bounds__(cuda::norm_threads)
  sums(hippo_cuda_norm batch, hippo_cuda_norm_forward to,
       cuda::norm_plan plan) {
  __shared__ cuda::norm_sums_memory<Layout> memory;
  cuda::norm_sums<Layout>(block_threads{}, batch, to, plan, block_of(plan),
                          memory);
}

template <class Layout>
__global__ void __launch_bounds__(cuda::norm_threads)
  results(hippo_cuda_norm batch, hippo_cuda_norm_forward to,
          cuda::norm_plan plan) {
  __shared__ cuda::norm_memory memory;
  cuda::norm_results<Layout>(block_threads{}, batch, to, plan, block_of(plan),
                             memory);
}

template <class Layout>
__global__ void __launch_bounds__(cuda::norm_threads)
  gradient_sums(hippo_cuda_norm batch, hippo_cuda_norm_backward to,
                cuda::norm_plan plan) {
  __shared__ cuda::norm_sums_memory<Layout> memory;
  cuda::norm_gradient_sums<Layout>(block_threads{}, batch, to, plan,
                                   block_of(plan), memory);
}

template <class Layout>
__global__ void __launch_bounds__(cuda::norm_threads)
  gradients(hippo_cuda_norm batch, hippo_cuda_norm_backward to,
            cuda::norm_plan plan) {
  __shared__ cuda::norm_memory memory;
  cuda::norm_gradients<Layout>(block_threads{}, batch, to, plan, block_of(plan),
                               memory);
}

/// Calls `f(layout, plan)` for a batch that can be normalised, and returns what
/// it returns, else `refused`.
template <class F, class Result>
Result with_plan(const hippo_cuda_norm& batch, Result refused, const F& f) {
  const auto planned = [&](auto layout) {
    const auto plan = cuda::plan_of<decltype(layout)>(batch);
    return plan.is_valid ? f(layout, plan) : refused;
  };
  switch (batch.type) {
    case hippo_cuda_float32:
      return cuda::with_norm_layout<float>(batch, planned);
    case hippo_cuda_bfloat16:
      return cuda::with_norm_layout<__nv_bfloat16>(batch, planned);
    case hippo_cuda_float16:
      return cuda::with_norm_layout<__half>(batch, planned);
    default:
      return refused;
  }
}

unsigned blocks_of(const cuda::norm_plan& plan) {
  return static_cast<unsigned>(plan.chunks) * static_cast<unsigned>(plan.parts);
}

/// Whether vectors of 16 bytes begin at all of them.
template <class... Pointers>
bool are_aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

} // namespace

int64_t hippo_cuda_norm_workspace(const hippo_cuda_norm* batch) {
  return with_plan(*batch, std::int64_t{0}, [&](auto, const auto& plan) {
    return cuda::norm_workspace(*batch, plan);
  });
}

int hippo_cuda_normalise(const hippo_cuda_norm* batch,
                         const hippo_cuda_norm_forward* tensors, void* stream) {
  if (!are_aligned(tensors->x, tensors->residual, tensors->y))
    return cudaErrorMisalignedAddress;
  const int refused = cudaErrorInvalidValue;
  return with_plan(*batch, refused, [&](auto layout, const auto& plan) -> int {
    using kind = decltype(layout);
    const auto where = static_cast<cudaStream_t>(stream);
    if (tensors->workspace != nullptr)
      sums<kind><<<blocks_of(plan), cuda::norm_threads, 0, where>>>(
        *batch, *tensors, plan);
    results<kind><<<blocks_of(plan), cuda::norm_threads, 0, where>>>(
      *batch, *tensors, plan);
    return cudaGetLastError();
  });
}

int hippo_cuda_normalise_backward(const hippo_cuda_norm* batch,
                                  const hippo_cuda_norm_backward* tensors,
                                  void* stream) {
  if (!are_aligned(tensors->dy, tensors->y, tensors->x, tensors->dx,
                   tensors->dresidual))
    return cudaErrorMisalignedAddress;
  const int refused = cudaErrorInvalidValue;
  return with_plan(*batch, refused, [&](auto layout, const auto& plan) -> int {
    using kind = decltype(layout);
    const auto where = static_cast<cudaStream_t>(stream);
    gradient_sums<kind><<<blocks_of(plan), cuda::norm_threads, 0, where>>>(
      *batch, *tensors, plan);
    gradients<kind><<<blocks_of(plan), cuda::norm_threads, 0, where>>>(
      *batch, *tensors, plan);
    return cudaGetLastError();
  });
}
