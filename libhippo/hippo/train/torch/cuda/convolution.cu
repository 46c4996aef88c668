#include "hippo/train/torch/cuda/convolution.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hippo/train/torch/cuda/convolution_launch.hpp"
#include "hippo/train/torch/cuda/kernels.h"

namespace {

namespace cuda = hippo::cuda;

template <class Block, class... Args>
__global__ void __launch_bounds__(Block::threads) run(Args... args) {
  Block{}(args...);
}

class cuda_launcher {
public:
  using bfloat16 = __nv_bfloat16;
  using float16 = __half;
  static constexpr int refused = cudaErrorInvalidValue;

  explicit cuda_launcher(void* stream)
    : stream_(static_cast<cudaStream_t>(stream)) {}

  template <class Block, class... Args>
  int launch(std::int32_t blocks, std::int32_t rows, int bytes,
             Args... args) const {
    const auto kernel = run<Block, Args...>;
    // More than a block gets unless it is asked for.
    if (constexpr int usual = 48 * 1024; bytes > usual)
      if (const auto failed = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
          failed != cudaSuccess)
        return failed;
    kernel<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(rows)),
             Block::threads, static_cast<std::size_t>(bytes), stream_>>>(
      args...);
    return cudaGetLastError();
  }

private:
  cudaStream_t stream_;
};

/// Whether vectors of 16 bytes begin at all of them.
template <class... Pointers>
bool are_aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % cuda::vector_bytes == 0)
          && ...);
}

} // namespace

int64_t hippo_cuda_conv_rows(const hippo_cuda_conv* conv) {
  return cuda::rows_bytes(*conv);
}

int hippo_cuda_conv_prepare(const hippo_cuda_conv_weights* weights,
                            void* stream) {
  return cuda::prepare_rows(cuda_launcher{stream}, *weights);
}

int hippo_cuda_convolve(const hippo_cuda_conv* conv, const void* x,
                        const void* rows, void* y, void* stream) {
  if (!are_aligned(x, rows, y))
    return cudaErrorMisalignedAddress;
  return cuda::convolve(cuda_launcher{stream}, *conv, x, rows, y);
}

int hippo_cuda_convolve_input(const hippo_cuda_conv* conv, const void* dy,
                              const void* rows, void* dx, void* stream) {
  if (!are_aligned(dy, rows, dx))
    return cudaErrorMisalignedAddress;
  return cuda::convolve_input(cuda_launcher{stream}, *conv, dy, rows, dx);
}

int64_t hippo_cuda_conv_workspace(const hippo_cuda_conv* conv) {
  return cuda::slices_size(*conv);
}

int hippo_cuda_convolve_weight(const hippo_cuda_conv* conv, const void* x,
                               const void* dy, float* dweight, float* workspace,
                               void* stream) {
  if (!are_aligned(x, dy))
    return cudaErrorMisalignedAddress;
  return cuda::convolve_weight(cuda_launcher{stream}, *conv, x, dy, dweight,
                               workspace);
}
