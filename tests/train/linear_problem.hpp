#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hippo/train/torch/linear/linear_model.hpp"

namespace hippo {

inline double normal(random_numbers& numbers) {
  return std::sqrt(-2 * std::log(1 - numbers.uniform()))
         * std::cos(6.283185307179586 * numbers.uniform());
}

/// Examples with normally distributed features, and the model that made their
/// targets, with noise.
struct linear_problem {
  at::Tensor features; ///< examples x features, in doubles
  linear_examples examples;

  /// @param slope the weight of each feature in the model
  linear_problem(std::int64_t count, std::int64_t width, std::int64_t outputs,
                 linear_loss loss, std::uint64_t seed = 3, double slope = 1) {
    random_numbers numbers{seed, purpose::example, {}};
    auto values = at::empty({count, width}, at::kFloat);
    for (std::int64_t i = 0; i < values.numel(); ++i)
      values.mutable_data_ptr<float>()[i] = static_cast<float>(normal(numbers));
    features = values.to(at::kDouble);
    examples.count = count;
    examples.features = width;
    examples.outputs = outputs;
    examples.features_of = [values, width](std::int64_t example, float* to) {
      const auto* from = values.const_data_ptr<float>() + example * width;
      std::copy(from, from + width, to);
    };
    examples.targets.resize(static_cast<std::size_t>(count * outputs));
    for (std::int64_t i = 0; i < count; ++i)
      if (loss == linear_loss::logistic)
        examples.targets[static_cast<std::size_t>(
          i * outputs
          + static_cast<std::int64_t>(
            numbers.below(static_cast<std::uint64_t>(outputs))))] = 1;
      else
        for (std::int64_t k = 0; k < outputs; ++k)
          examples.targets[static_cast<std::size_t>(i * outputs + k)] =
            static_cast<float>(slope * features[i].sum().item<double>() + 1
                               + 0.5 * normal(numbers));
  }

  /// The features with the constant one.
  [[nodiscard]] at::Tensor all_features() const {
    return at::cat({features, at::ones({features.size(0), 1}, at::kDouble)}, 1);
  }
  [[nodiscard]] at::Tensor targets() const {
    return at::tensor(examples.targets)
      .to(at::kDouble)
      .view({examples.count, examples.outputs});
  }
};

/// Returns numbers as a matrix of so many columns.
inline at::Tensor as_matrix(const std::vector<double>& values,
                            std::int64_t columns) {
  return at::tensor(values, at::kDouble).view({-1, columns});
}

} // namespace hippo
