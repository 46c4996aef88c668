#pragma once

// Functions that are compiled for GPUs by nvcc, and for CPUs.

#ifdef __CUDACC__
#define HIPPO_HOST_DEVICE __host__ __device__
#else
#define HIPPO_HOST_DEVICE
#endif

/// Before a loop: its body is repeated, so that arrays lie in registers.
#ifdef __CUDA_ARCH__
#define HIPPO_UNROLL _Pragma("unroll")
#else
#define HIPPO_UNROLL
#endif
