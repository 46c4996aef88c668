#pragma once

#include <stdint.h>

/* What libhippo_cuda.so offers: kernels for what a training step needs beside
 * LibTorch, on a GPU.
 *
 * Every one of them gives the bits that the CPU's `step_kernels` give, but for
 * normalisation and convolutions, whose sums have an order of their own.
 * All pointers are of memory that one device reaches, which is the calling
 * thread's current one; `stream` is a cudaStream_t of it. A launch returns
 * before it is done, allocates nothing, and may be captured into a graph: what
 * changes from step to step is read from device memory when the graph runs.
 *
 * Functions return 0, or an error of CUDA: see `hippo_cuda_error_text`. */

#ifdef __cplusplus
extern "C" {
#endif

/* Counts changes of this file that need a new build of whoever uses it. */
#define HIPPO_CUDA_INTERFACE 7

/* Returns HIPPO_CUDA_INTERFACE of the library. */
int hippo_cuda_interface(void);

/* Returns what an error says. The text lives as long as the library. */
const char* hippo_cuda_error_text(int error);

enum hippo_cuda_optimizer { hippo_cuda_sgd = 1, hippo_cuda_adamw = 2 };

/* The hyper-parameters of an update. */
struct hippo_cuda_rule {
  int32_t kind;     /* hippo_cuda_optimizer */
  int32_t nesterov; /* SGD: 1 = yes */
  float lr, momentum, weight_decay;                    /* SGD */
  float decay, beta1, beta2, step_size, root, epsilon; /* AdamW */
};

/* The most subnetworks that a batch may train. */
#define HIPPO_CUDA_SLOTS_MAX 64

/* What a training step reads that is another one at every step. */
struct hippo_cuda_step {
  /* Where its random numbers come from (random.hpp). */
  uint64_t seed, step, iteration;
  /* Its batch. */
  int64_t first;     /* place of the batch's first image in the order */
  int32_t crop;      /* augmentation_strength */
  int32_t cutout;    /* the same */
  double flip;       /* the same */
  float smoothing;   /* share of a target that is spread over all classes */
  /* Its dropout. */
  uint32_t dropout_limit; /* numbers of 32 bits below it drop out */
  float dropout_scale;    /* what a mask is where nothing drops out */
  uint32_t dropout_slots; /* subnetworks of the batch, each with its share of
                             the examples (subnetwork_mask.hpp); 0: each
                             example has masks of its own */
  uint32_t dropout_block; /* features that a subnetwork drops together */
  uint32_t subnetworks[HIPPO_CUDA_SLOTS_MAX]; /* of the slots */
  /* Its update. */
  float clip; /* largest norm of its gradients */
  struct hippo_cuda_rule rule;
};

/* Images with a label each. */
struct hippo_cuda_images {
  const uint8_t* pixels; /* as image_set::pixels */
  const int64_t* labels;
  const uint32_t* order; /* in which they are taken */
  const float* values;   /* channels x 256: image_data::values */
  int64_t size;          /* images */
  int32_t channels, height, width, classes;
  int32_t of_batch; /* 1: pixels are those of the batch, in its order; 0: those
                       of all images */
};

/* Writes the next `count` images, augmented and normalised, and what is to be
 * said of them.
 * `images`: count x height x width x channels; `targets`: count x classes */
int hippo_cuda_image_batch(const struct hippo_cuda_images* set,
                           const struct hippo_cuda_step* values,
                           int64_t count, float* images, float* targets,
                           void* stream);

enum hippo_cuda_type {
  hippo_cuda_float32 = 0,
  hippo_cuda_bfloat16 = 1,
  hippo_cuda_float16 = 2
};

/* Drops activations of one layer, or their gradients: writes to `to` what is
 * at `from`, times 0 or `dropout_scale`, rounded once.
 * `from`, `to`: `size` numbers of `type`, the features of one of `examples`
 * after another */
int hippo_cuda_dropout(const struct hippo_cuda_step* values, uint64_t layer,
                       int64_t examples, int64_t size, int32_t type,
                       const void* from, void* to, void* stream);

/* So many weights are updated in one launch at most: a launch takes 4 KiB. */
#define HIPPO_CUDA_WEIGHTS_MAX 64

/* Weights that one launch updates. */
struct hippo_cuda_weights {
  float* weight[HIPPO_CUDA_WEIGHTS_MAX];
  const float* gradient[HIPPO_CUDA_WEIGHTS_MAX]; /* in the same order */
  float* first[HIPPO_CUDA_WEIGHTS_MAX];  /* SGD's momentum, AdamW's mean */
  float* second[HIPPO_CUDA_WEIGHTS_MAX]; /* AdamW's mean of squares; SGD
                                            does not read it */
  int64_t size[HIPPO_CUDA_WEIGHTS_MAX];
  uint8_t decays[HIPPO_CUDA_WEIGHTS_MAX]; /* 0 = without weight decay */
  int32_t count;                          /* of weights */
};

/* Updates the weights. */
int hippo_cuda_update(const struct hippo_cuda_weights* weights,
                      const struct hippo_cuda_step* values, void* stream);

/* What follows a normalisation, numbered as kernels::activation. */
enum hippo_cuda_activation {
  hippo_cuda_no_activation = 0,
  hippo_cuda_relu = 1,
  hippo_cuda_relu6 = 2
};

/* A batch that is normalised by channel, and how.
 * Its activations, and whatever has their shape, are of one type and begin at a
 * multiple of 16 bytes; all else is of float32. */
struct hippo_cuda_norm {
  int64_t images, channels, pixels; /* 1 or more of each; pixels of an image */
  int32_t channels_last; /* 1: images x pixels x channels in memory,
                            0: images x channels x pixels */
  int32_t type;          /* hippo_cuda_type of activations */
  int32_t last;          /* hippo_cuda_activation */
  double epsilon;        /* added to variances */
  double momentum;       /* share of a batch in running statistics */
};

/* Returns how many floats of workspace it takes to train; 0: the batch is
 * empty, too large, or of no type. */
int64_t hippo_cuda_norm_workspace(const struct hippo_cuda_norm* batch);

struct hippo_cuda_norm_forward {
  const void* x;
  const void* residual; /* null: there is none */
  void* y;
  const float* weight;
  const float* bias;
  float* running_mean;
  float* running_variance;
  float* mean;      /* when training: gets the batch's means, */
  float* inverse;   /* and 1 / standard deviations */
  float* workspace; /* null: by the running statistics, which stay as they
                       are, as all of these */
};

/* Writes `y`: the activation of `(x - mean) / deviation * weight + bias` plus
 * the residual, rounded once. */
int hippo_cuda_normalise(const struct hippo_cuda_norm* batch,
                         const struct hippo_cuda_norm_forward* tensors,
                         void* stream);

struct hippo_cuda_norm_backward {
  const void* dy;
  const void* y; /* null: there is no activation */
  const void* x;
  const float* weight;
  const float* mean;    /* as hippo_cuda_norm_forward wrote it */
  const float* inverse; /* the same */
  void* dx;
  void* dresidual; /* null: nobody wants it */
  float* dweight;
  float* dbias;
  float* workspace;
};

/* Writes the gradients of what a batch has trained. */
int hippo_cuda_normalise_backward(
  const struct hippo_cuda_norm* batch,
  const struct hippo_cuda_norm_backward* tensors, void* stream);

/* A convolution of images by square kernels, padded by half a side. Activations
 * are channels-last (images x height x width x channels) and begin at a
 * multiple of 16 bytes; weights and their gradients are of float32.
 *
 * `tf32` rounds factors of float32 to TF32. Without it each of them is the sum
 * of two, so that results are as exact as those of float32. Sums are of
 * float32. */
struct hippo_cuda_conv {
  int64_t images;
  int32_t height, width; /* of x */
  int32_t in, out;       /* channels: multiples of 16; x may have 1 to 4 */
  int32_t side, stride;  /* 1 or 3; 1 or 2 */
  int32_t type;          /* hippo_cuda_type of activations */
  int32_t tf32;          /* 0 or 1 */
  int32_t weights_last;  /* 1: weights are out x side x side x in,
                            0: out x in x side x side */
};

/* Returns how many bytes its weights take as the kernels read them; 0: there
 * are no kernels for such a convolution. */
int64_t hippo_cuda_conv_rows(const struct hippo_cuda_conv* conv);

/* So many weights are prepared in one launch at most: a launch takes 4 KiB. */
#define HIPPO_CUDA_CONVS_MAX 64

/* Weights of convolutions, of one type and order. */
struct hippo_cuda_conv_weights {
  const float* weight[HIPPO_CUDA_CONVS_MAX];
  void* rows[HIPPO_CUDA_CONVS_MAX]; /* each of `hippo_cuda_conv_rows` bytes */
  int32_t in[HIPPO_CUDA_CONVS_MAX];
  int32_t out[HIPPO_CUDA_CONVS_MAX];
  int32_t side[HIPPO_CUDA_CONVS_MAX];
  int32_t count;
  int32_t type, weights_last; /* as of each hippo_cuda_conv */
};

/* Writes weights as the next two functions read them. */
int hippo_cuda_conv_prepare(const struct hippo_cuda_conv_weights* weights,
                            void* stream);

/* Writes `y`. */
int hippo_cuda_convolve(const struct hippo_cuda_conv* conv, const void* x,
                        const void* rows, void* y, void* stream);

/* Writes the gradient of `x`, which has 16 channels or more. */
int hippo_cuda_convolve_input(const struct hippo_cuda_conv* conv,
                              const void* dy, const void* rows, void* dx,
                              void* stream);

/* Returns how many floats of workspace the next function takes. */
int64_t hippo_cuda_conv_workspace(const struct hippo_cuda_conv* conv);

/* Writes the gradient of the weights. */
int hippo_cuda_convolve_weight(const struct hippo_cuda_conv* conv,
                               const void* x, const void* dy, float* dweight,
                               float* workspace, void* stream);

#ifdef __cplusplus
}
#endif
