#pragma once

#include <cstdint>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/train/torch/linear/linear_model.hpp"

namespace hippo {

/// The order in which the answers of machines arrive at the server: in turn, or
/// as if each took an exponentially distributed time for every answer.
enum class arrival_order : std::uint8_t { round_robin, exponential };

/// The rule of one step's updates.
struct distributed_rule {
  double lr = 0;
  double weight_decay = 0; ///< L2 penalty; not of the constant feature
  bool saga = true;        ///< else stochastic gradient descent
  bool synchronous = false;
};

/// Everything that a later step reads.
struct distributed_state {
  std::vector<double> weights;
  /// Of each example the derivatives of its loss by the outputs as they were
  /// when it was used last; 0 before.
  std::vector<double> table;
  /// The mean over all examples of the gradients that the table stands for.
  std::vector<double> mean;
};

/// Trains a linear model whose examples lie on several machines, by a server
/// that has the weights (ADSAGA, Glasgow and Wootters, 2020, arXiv 2009.10717;
/// with one machine SAGA, Defazio, Bach and Lacoste-Julien, 2014).
///
/// *Asynchronously* a machine answers by the weights x of its last turn: it
/// draws one of its examples j, takes the gradient g of its loss, sends
/// h = g - alpha_j and keeps alpha_j = g; the server goes to
/// x - lr (h + u), adds h / n to u, and sends its weights back. *Synchronously*
/// all machines answer by the same weights, and the server takes the mean of
/// their h. Of stochastic gradient descent h is g, and u is 0.
///
/// A step is as many answers as there are examples, and begins with the same
/// weights on all machines; so nothing but `distributed_state` is carried from
/// step to step. A linear model's gradient is the features times as many
/// numbers as there are outputs, so these are all that the table has.
/// REQUIRES: 1 <= machines <= examples
class distributed_training {
public:
  distributed_training(const linear_examples& examples, linear_loss loss,
                       std::int64_t machines, arrival_order order,
                       std::uint64_t seed);

  /// Returns the state before step 0: all is 0.
  [[nodiscard]] distributed_state initial() const;

  /// Trains by the rule from state `step` to the next one. Random numbers are
  /// addressed by seed, step and answer.
  /// @complexity O(examples * weights)
  void train(distributed_state& state, const distributed_rule& rule,
             step_t step);

private:
  class arrivals;

  /// Writes to `change_` by how much the gradient of an example of a machine
  /// differs from the one in the table, which it replaces, at `weights`.
  void answer(distributed_state& state, const distributed_rule& rule,
              const std::vector<double>& weights, std::int64_t machine,
              step_t step, std::uint64_t number);
  /// Goes against the mean of `count` changes, and adds them to `state.mean`.
  void update(distributed_state& state, const distributed_rule& rule,
              std::int64_t count);
  void train_in_turns(distributed_state& state, const distributed_rule& rule,
                      step_t step);
  void train_together(distributed_state& state, const distributed_rule& rule,
                      step_t step);

  const linear_examples& examples_;
  linear_loss loss_;
  std::int64_t machines_;
  arrival_order order_;
  std::uint64_t seed_;
  linear_gradient gradient_;   ///< of the example of an answer
  std::vector<double> change_; ///< of all answers since the last update
};

} // namespace hippo
