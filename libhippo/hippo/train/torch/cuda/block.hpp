#pragma once

#include <cstdint>
#include <cstring>

#include "hippo/train/torch/cuda/host_device.hpp"

// A block of a GPU's threads: its memory, copies to it, and products of small
// matrices by warps (PTX ISA: cp.async, ldmatrix, mma). On a CPU an emulation
// does the same, so that little needs a GPU to be tested.

namespace hippo::cuda {

/// Bytes that a thread copies at once.
constexpr int vector_bytes = 16;

/// Bytes of factors that one product of matrices is deep.
constexpr int product_bytes = 32;

/// 16 bytes.
struct alignas(vector_bytes) block_vector {
  std::uint32_t words[4];
};

/// A lane's share of 16 rows of factors, or of 8 rows in each half.
using factor_words = std::uint32_t[4];

/// A lane's share of 16 x 8 sums: of row `lane / 4` and the eighth one after
/// it the columns `lane % 4 * 2` and the next.
using product_sums = float[4];

/// The factors of a product.
enum class factor_kind : std::uint8_t { bfloat16, float16, tf32 };

/// Where a thread is.
struct thread_place {
  std::int32_t thread, threads; ///< in its block; of a block
  std::int32_t block, blocks;   ///< in the first direction; in all of it
  std::int32_t row, rows;       ///< the same in the second
};

/// The operations of a GPU's thread on a CPU that runs it.
class block_emulation {
public:
  virtual ~block_emulation() = default;
  [[nodiscard]] virtual thread_place place() const = 0;
  virtual char* memory() = 0;
  virtual void synchronize() = 0;
  virtual void copy(void* to, const void* from, bool is_there) = 0;
  virtual void end_of_copies() = 0;
  virtual void wait_for_copies(int pending) = 0;
  virtual void load_matrices(factor_words& to, const void* row,
                             bool transposed) = 0;
  virtual void add_product(factor_kind kind, product_sums& sums,
                           const factor_words& left,
                           const std::uint32_t* right) = 0;
};

/// The emulation of this thread's GPU.
inline thread_local block_emulation* emulation = nullptr;

HIPPO_HOST_DEVICE inline thread_place this_thread() {
#ifdef __CUDA_ARCH__
  const auto as_int = [](unsigned x) { return static_cast<std::int32_t>(x); };
  return {as_int(threadIdx.x), as_int(blockDim.x), as_int(blockIdx.x),
          as_int(gridDim.x),   as_int(blockIdx.y), as_int(gridDim.y)};
#else
  return emulation->place();
#endif
}

/// The memory that the threads of a block share, at a multiple of 16 bytes.
HIPPO_HOST_DEVICE inline char* block_memory() {
#ifdef __CUDA_ARCH__
  extern __shared__ block_vector memory[];
  return reinterpret_cast<char*>(memory);
#else
  return emulation->memory();
#endif
}

/// Waits for the other threads of the block.
HIPPO_HOST_DEVICE inline void synchronize() {
#ifdef __CUDA_ARCH__
  __syncthreads();
#else
  emulation->synchronize();
#endif
}

#ifdef __CUDA_ARCH__
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
#endif

/// Begins to copy 16 bytes to the block's memory, or zeros.
HIPPO_HOST_DEVICE inline void copy_vector(char* to, const void* from,
                                          bool is_there) {
#ifdef __CUDA_ARCH__
  asm volatile(
    "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
    "l"(from), "r"(is_there ? vector_bytes : 0)
    : "memory");
#else
  emulation->copy(to, from, is_there);
#endif
}

/// Ends a group of copies.
HIPPO_HOST_DEVICE inline void end_of_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulation->end_of_copies();
#endif
}

/// Waits until this thread's copies are done, but those of the last `Pending`
/// groups. Other threads see them after `synchronize`.
template <int Pending>
HIPPO_HOST_DEVICE void wait_for_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#else
  emulation->wait_for_copies(Pending);
#endif
}

/// Loads four matrices of 8 rows of 16 bytes: lane i names row `i % 8` of
/// matrix `i / 8`, and gets of each matrix 4 bytes: of row `i / 4` the word
/// `i % 4`.
HIPPO_HOST_DEVICE inline void load_matrices(factor_words& to, const char* row) {
#ifdef __CUDA_ARCH__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
#else
  emulation->load_matrices(to, row, false);
#endif
}

/// The same of the transposed matrices, whose numbers have 16 bits.
HIPPO_HOST_DEVICE inline void load_transposed(factor_words& to,
                                              const char* row) {
#ifdef __CUDA_ARCH__
  asm volatile(
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
    : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
    : "r"(shared_address(row))
    : "memory");
#else
  emulation->load_matrices(to, row, true);
#endif
}

/// The bits of a float, as a TF32 number of 10 bits after the first one: the
/// nearest one, and of two the one farther from 0.
HIPPO_HOST_DEVICE inline std::uint32_t tf32(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  std::uint32_t result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(__uint_as_float(bits)));
  return result;
#else
  constexpr std::uint32_t half = 1U << 12, unused = 2 * half - 1,
                          exponent = 0x7f800000;
  return (bits & exponent) == exponent ? bits : (bits + half) & ~unused;
#endif
}

HIPPO_HOST_DEVICE inline float as_float(std::uint32_t bits) {
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

HIPPO_HOST_DEVICE inline std::uint32_t as_bits(float number) {
  std::uint32_t result;
  memcpy(&result, &number, sizeof result);
  return result;
}

/// Loads a value from bytes that are aligned for it.
template <class T>
HIPPO_HOST_DEVICE T load_as(const char* from) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const T*>(from);
#else
  T result;
  std::memcpy(&result, from, sizeof result);
  return result;
#endif
}

/// Stores one there.
template <class T>
HIPPO_HOST_DEVICE void store_as(char* to, const T& value) {
#ifdef __CUDA_ARCH__
  // nvcc would store vectors of floats one by one.
  if constexpr (sizeof value == sizeof(uint4)) {
    uint4 bits;
    memcpy(&bits, &value, sizeof bits);
    *reinterpret_cast<uint4*>(to) = bits;
  } else {
    *reinterpret_cast<T*>(to) = value;
  }
#else
  std::memcpy(to, &value, sizeof value);
#endif
}

/// Adds the product of 16 x 32 bytes of factors on the left and 32 bytes x 8 on
/// the right (two words), as mma.sync has them with `.row.col`.
template <factor_kind Kind>
HIPPO_HOST_DEVICE void add_product(product_sums& sums, const factor_words& left,
                                   const std::uint32_t* right) {
#ifdef __CUDA_ARCH__
#define HIPPO_MMA(SHAPE_AND_TYPES)                                             \
  asm volatile("mma.sync.aligned." SHAPE_AND_TYPES                             \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"        \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])    \
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]),       \
                 "r"(right[0]), "r"(right[1]))
  if constexpr (Kind == factor_kind::bfloat16)
    HIPPO_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  else if constexpr (Kind == factor_kind::float16)
    HIPPO_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  else
    HIPPO_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#undef HIPPO_MMA
#else
  emulation->add_product(Kind, sums, left, right);
#endif
}

} // namespace hippo::cuda
