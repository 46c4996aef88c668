#pragma once

#include <cstdint>
#include <vector>

// Loops over activations and weights that LibTorch would make several passes
// for. Plain arrays, no LibTorch: whoever calls them divides the work among
// threads.
//
// Every operation is rounded as IEEE 754 says and sums have a fixed order, so
// that results are the same with every compiler and on every CPU.
//
// Activations of images are rows, one for each pixel of each image, of
// `channels` floats. REQUIRES: `channels` is a multiple of
// `kernels::vector_width`.

namespace hippo::kernels {

inline constexpr std::int64_t vector_width = 16;

/// The most rows that are to be added up in one go: sums are floats.
inline constexpr std::int64_t rows_a_sum = 256;

/// The activation after a normalisation: none, max(x, 0), or that but at most 6
/// (Krizhevsky, 2010).
enum class activation : std::uint8_t { none, relu, relu6 };

struct adamw_factors {
  float decay; ///< what a weight is multiplied by before anything else
  float beta1, beta2;
  float step_size; ///< lr / (1 - beta1^count)
  float root;      ///< sqrt(1 - beta2^count)
  float epsilon;
};

/// A matrix in memory: element (i, k) is `at[i * row + k * column]`.
struct matrix {
  const float* at;
  std::int64_t row;
  std::int64_t column = 1;

  /// Returns it with rows and columns exchanged.
  [[nodiscard]] matrix transposed() const { return {at, column, row}; }
};

/// The loops, built for one generation of CPUs.
struct set {
  /// Of each 2 x 2 pixels of `images` images, `height` x `width` pixels each,
  /// the largest value of every channel, and which of the four it was. NaN
  /// counts as the largest. REQUIRES: `height` and `width` are even.
  void (*max_pool)(const float* x, std::int64_t images, std::int64_t height,
                   std::int64_t width, std::int64_t channels, float* y,
                   std::uint8_t* which);

  /// The gradient of `max_pool`: `dx` gets `dy` where the largest value was,
  /// else 0.
  void (*max_pool_backward)(const float* dy, const std::uint8_t* which,
                            std::int64_t images, std::int64_t height,
                            std::int64_t width, std::int64_t channels,
                            float* dx);

  /// Adds up every channel's differences from `about`, and their squares.
  void (*sums)(const float* x, std::int64_t rows, std::int64_t channels,
               const float* about, float* sum, float* sum_of_squares);

  /// `y = (x - mean) * scale + shift` in every channel; then adds `residual`
  /// (unless null), then comes the activation.
  void (*normalise)(const float* x, std::int64_t rows, std::int64_t channels,
                    const float* mean, const float* scale, const float* shift,
                    const float* residual, activation last, float* y);

  /// Adds up every channel's gradient, and its products with `x - mean`. What
  /// the activation has cut off counts as 0.
  /// @param y the output of `normalise`; may be null if there is no activation
  void (*gradient_sums)(const float* dy, const float* y, const float* x,
                        std::int64_t rows, std::int64_t channels,
                        const float* mean, activation last, float* sum,
                        float* sum_of_products);

  /// The gradient of `normalise` where mean and variance are those of `x`:
  /// `dx = dy * a + (x - mean) * b + c` in every channel.
  /// @param y as for `gradient_sums`
  /// @param dresidual gets the gradient of the residual, unless null
  void (*normalise_backward)(const float* dy, const float* y, const float* x,
                             std::int64_t rows, std::int64_t channels,
                             const float* mean, const float* a, const float* b,
                             const float* c, activation last, float* dx,
                             float* dresidual);

  /// A mask of dropout: 0 or `scale`. Two numbers of 32 bits come from each of
  /// the 64 bits that `random_numbers` with this key has; those below `limit`
  /// drop out.
  /// @param first where the mask begins; even
  void (*dropout_mask)(std::uint64_t key, std::int64_t first, std::int64_t size,
                       std::uint32_t limit, float scale, float* mask);

  /// The mask of a subnetwork for the features of a layer: 0 or `scale`, alike
  /// for `block` neighbours. The number of a block is the low half of its 64
  /// bits that `random_numbers` with this key has; below `limit` it drops out.
  /// REQUIRES: `block` divides `size`
  void (*subnetwork_mask)(std::uint64_t key, std::int64_t size,
                          std::int64_t block, std::uint32_t limit, float scale,
                          float* mask);

  /// Multiplies `rows` rows of `size` numbers by one mask.
  void (*mask_rows)(const float* x, std::int64_t rows, std::int64_t size,
                    const float* mask, float* y);

  /// One update by stochastic gradient descent with momentum, as PyTorch's
  /// `SGD` (dampening 0) does it.
  void (*sgd)(float* weight, const float* gradient, float* moment,
              std::int64_t size, float lr, float momentum, float weight_decay,
              bool nesterov);

  /// One update of `AdamW` (Loshchilov and Hutter, 2019), as PyTorch does it.
  void (*adamw)(float* weight, const float* gradient, float* first,
                float* second, std::int64_t size, const adamw_factors& factors);

  /// Writes e^(x - shift), with a relative error below 1e-6; 0 where that is
  /// below e^-85. REQUIRES: numbers are finite and at most `shift`.
  void (*exponentials)(const float* x, float shift, std::int64_t size,
                       float* y);

  /// Adds a product of matrices: to each element of `c` (rows x columns) the
  /// products of its row of `a` and its column of `b`, one after another.
  void (*add_product)(const matrix& a, const matrix& b, std::int64_t rows,
                      std::int64_t inner, std::int64_t columns, float* c);

  /// Writes the means of rows: row i of `y` gets that of the rows of `x` from
  /// `list[offsets[i]]` to below `list[offsets[i + 1]]`, added up in this
  /// order; 0 of none.
  void (*mean_rows)(const float* x, std::int64_t width,
                    const std::int64_t* offsets, const std::uint32_t* list,
                    std::int64_t rows, float* y);

  /// Adds the gradient of `mean_rows` to `dx`, row after row.
  /// @param dy its rows are divided by their counts
  void (*add_mean_gradient)(float* dy, std::int64_t width,
                            const std::int64_t* offsets,
                            const std::uint32_t* list, std::int64_t rows,
                            float* dx);
};

/// Returns all that the CPU which this runs on can run, the fastest one last.
std::vector<const set*> usable();

/// Returns the fastest of them.
const set& best();

} // namespace hippo::kernels
