#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "hippo/train/torch/random.hpp"

namespace hippo {

/// The loss of a linear model's outputs for one example: half the squared
/// distance from the targets, or the cross-entropy of their softmax.
enum class linear_loss : std::uint8_t { least_squares, logistic };

/// Examples of a linear model, dealt out to machines: machine i of m has those
/// from `count * i / m` to below `count * (i + 1) / m`.
struct linear_examples {
  std::int64_t count = 0;
  std::int64_t features = 0; ///< of an example, without the constant one
  std::int64_t outputs = 0;
  /// Writes the features of an example.
  std::function<void(std::int64_t example, float* to)> features_of;
  std::vector<float> targets; ///< count x outputs

  /// Weights of the model: of each feature, then of the constant one, those of
  /// the outputs.
  [[nodiscard]] std::int64_t weights() const {
    return (features + 1) * outputs;
  }

  /// The first weights, which weight decay applies to: all but those of the
  /// constant feature.
  [[nodiscard]] std::int64_t decayed() const { return features * outputs; }
};

/// Returns targets of 1 for the class of an example and 0 for the others.
/// @param classes of the examples, from 0 to below `count`
std::vector<float> class_targets(const std::vector<std::int64_t>& classes,
                                 std::size_t count);

/// Returns some of the examples.
linear_examples part_of(const linear_examples& all,
                        std::vector<std::uint32_t> numbers);

/// Returns one of the examples of a machine, drawn at random.
/// REQUIRES: 0 <= machine < machines <= examples.count
std::int64_t drawn_example(const linear_examples& examples,
                           std::int64_t machine, std::int64_t machines,
                           random_numbers numbers);

/// Writes the outputs of a linear model for an example.
void put_outputs(const std::vector<double>& weights, const float* features,
                 std::int64_t feature_count, double* to, std::int64_t outputs);

/// Returns the loss of outputs, and replaces them by its derivatives.
double take_derivatives(linear_loss loss, const float* targets, double* outputs,
                        std::int64_t count);

/// The gradient of one example's loss by the weights: each feature times the
/// derivatives by the outputs.
class linear_gradient {
public:
  /// Takes the gradient at `weights`, and returns the derivatives by the
  /// outputs, which may be changed before `add_to`.
  std::vector<double>& at(const linear_examples& examples, linear_loss loss,
                          const std::vector<double>& weights,
                          std::int64_t example);

  void add_to(std::vector<double>& change) const;

private:
  std::vector<float> features_;
  std::vector<double> derivatives_;
};

/// How good a linear model is.
struct linear_quality {
  double loss = 0;  ///< mean over the examples
  double right = 0; ///< share of those with the largest output for their class
};

/// Measures a linear model on all of the examples.
linear_quality measured(const linear_examples& examples, linear_loss loss,
                        const std::vector<double>& weights);

} // namespace hippo
