#pragma once

#include <vector>

#include "hippo/train/torch/data/csv_file.hpp"
#include "hippo/train/torch/linear/linear_model.hpp"

namespace hippo {

/// The rows of a table as examples of a linear model. Of the logistic loss the
/// outputs are the distinct texts of the target in their order, of least
/// squares the one output is its number.
struct table_examples {
  linear_examples training, validation;
  /// The features of an example are those of the table less the means, divided
  /// by the deviations, both over the training rows; a constant one is 0.
  std::vector<double> means, deviations;

  /// Returns the weights of the same model of the table's own features.
  [[nodiscard]] std::vector<double> unscaled(std::vector<double> weights) const;
};

/// Divides a table into examples, in an order of the rows that depends on their
/// number alone: the first ones to train on, the last ones to measure on.
/// Throws `std::invalid_argument` if the shares overlap or one of them has no
/// row, or if the target cannot be that of the loss.
table_examples examples_of(const csv_table& table, linear_loss loss,
                           double training_share, double validation_share);

} // namespace hippo
