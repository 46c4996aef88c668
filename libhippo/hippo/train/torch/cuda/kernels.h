#pragma once

#include <stdint.h>

/* What libhippo_cuda.so offers: kernels for the weights of a model on a GPU.
 *
 * Every one of them gives the bits that its twin in kernels.hpp gives on a CPU.
 * All pointers are of device memory of one device, which is the calling
 * thread's current one; `stream` is a cudaStream_t of it. A launch returns
 * before it is done, allocates nothing, and may be captured into a graph: what
 * changes from step to step is read from device memory when the graph runs.
 *
 * Models may train several copies, called lanes, at once. A tensor of theirs
 * joins those of the lanes: lane l has `size` floats from l * `size` on.
 *
 * Functions return 0, or an error of CUDA: see `hippo_cuda_error_text`. */

#ifdef __cplusplus
extern "C" {
#endif

/* Counts changes of this file that need a new build of whoever uses it. */
#define HIPPO_CUDA_INTERFACE 1

/* Returns HIPPO_CUDA_INTERFACE of the library. */
int hippo_cuda_interface(void);

/* Returns what an error says. The text lives as long as the library. */
const char* hippo_cuda_error_text(int error);

/* The dropout of a lane. */
struct hippo_cuda_dropout {
  uint64_t key;   /* of `random_numbers` */
  uint32_t limit; /* numbers of 32 bits below it drop out; 0 = none */
  float scale;    /* what a mask is where nothing drops out */
};

/* Makes masks, as `kernels::set::dropout_mask` does.
 * `rules`: one for each lane; `first`: where the mask of each lane begins,
 * even; `size`: of a lane's mask; `mask`: lanes * size floats */
int hippo_cuda_dropout_mask(const struct hippo_cuda_dropout* rules,
                            int32_t lanes, int64_t first, int64_t size,
                            float* mask, void* stream);

enum hippo_cuda_optimizer { hippo_cuda_sgd = 1, hippo_cuda_adamw = 2 };

/* The hyper-parameters of a lane's update: the arguments of
 * `kernels::set::sgd`, or `kernels::adamw_factors`. */
struct hippo_cuda_rule {
  int32_t active;   /* 0 = the lane's weights and moments stay as they are */
  int32_t kind;     /* hippo_cuda_optimizer */
  int32_t nesterov; /* SGD: 1 = yes */
  float lr, momentum, weight_decay;                          /* SGD */
  float decay, beta1, beta2, step_size, root, epsilon;       /* AdamW */
};

/* Weights that one launch updates. The arrays have an entry for each weight. */
struct hippo_cuda_weights {
  float* const* weight;
  const float* const* gradient; /* in the same order in memory */
  float* const* first;          /* SGD's momentum buffer, AdamW's mean */
  float* const* second; /* AdamW's mean of squares; no lane of SGD reads it */
  const int64_t* size;  /* of one lane */
  int64_t size_max;     /* the largest of them: how many threads there are */
  int32_t count;        /* of weights, up to 65535 */
  int32_t lanes;        /* up to 65535 */
};

/* Updates weights, as `kernels::set::sgd` and `kernels::set::adamw` do.
 * `rules`: one for each lane */
int hippo_cuda_update(const struct hippo_cuda_weights* weights,
                      const struct hippo_cuda_rule* rules, void* stream);

#ifdef __cplusplus
}
#endif
