#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/train/torch/linear/linear_model.hpp"

namespace hippo {

/// The model of a block: the shared weights as they are now (federated
/// averaging), their mean over the block's rounds (MM-PSGD), or the mean over
/// these of the better of two chains (MC-PSGD).
enum class block_predictor : std::uint8_t { last, mm, mc };

/// The examples of a block of a cycle. All blocks have as many features and
/// outputs.
struct cyclic_block {
  linear_examples training; ///< of the clients, which are its machines
  linear_examples held_out; ///< decide which of two chains is better
};

/// The rule of one cycle.
struct cyclic_rule {
  double lr = 0;
  double weight_decay = 0; ///< L2 penalty; not of the constant feature
  /// Updates of a client from one mean over the clients to the next; at least
  /// 1.
  std::int64_t sync_every = 1;
  block_predictor predictor = block_predictor::last;
};

/// The models of a block.
struct cyclic_models {
  std::int64_t rounds = 0;
  std::vector<double> chain;  ///< the block's own, trained on its data alone
  std::vector<double> mean;   ///< of the shared weights over the rounds
  std::vector<double> better; ///< mean of the better chain over the rounds
};

/// Everything that a later cycle or a measurement reads.
struct cyclic_state {
  std::vector<double> weights; ///< shared by all blocks
  std::vector<cyclic_models> blocks;
  block_predictor predictor = block_predictor::last; ///< of the last cycle

  /// Returns the weights by which a block is predicted.
  [[nodiscard]] const std::vector<double>& model_of(std::size_t block) const;
};

/// Trains a linear model on clients whose data come in cycles of blocks
/// (MM-PSGD and MC-PSGD; Ding et al., "Distributed Optimization over
/// Block-Cyclic Data", 2020, arXiv 2002.07454).
///
/// In a *round* each client begins with the shared weights x, goes
/// `sync_every` times against the gradient of one of its examples, and x
/// becomes the mean over the clients. A block's part of a cycle has as many
/// updates as training examples, divided by the clients and rounded up; its
/// last round may be short. A *cycle* goes through all blocks and is a step.
///
/// Under `block_predictor::mc` each block has a second chain y of such rounds,
/// which continues from where the block left it in the cycle before. After
/// each round the chain with the smaller loss on the held-out examples enters
/// the better mean; x, if they are equal. In rounds under another predictor
/// the second chain stays as it is, and x enters. So `weights` and `mean` do
/// not depend on the predictor.
/// REQUIRES: 1 <= clients <= the training examples of each block, and each
/// block has examples held out
class cyclic_training {
public:
  /// @param blocks outlive this
  cyclic_training(const std::vector<cyclic_block>& blocks, linear_loss loss,
                  std::int64_t clients, std::uint64_t seed);

  /// Returns the state before step 0: all is 0.
  [[nodiscard]] cyclic_state initial() const;

  /// Trains one cycle by the rule, from state `step` to the next one. Random
  /// numbers are addressed by seed, step, block, client and update.
  /// @complexity O((examples + rounds * (clients + held out)) * weights)
  void train(cyclic_state& state, const cyclic_rule& rule, step_t step);

private:
  /// The updates of each client in a round of a block.
  struct round_place {
    step_t step = 0;
    std::size_t block = 0;
    std::int64_t begin = 0; ///< counted from the begin of the block
    std::int64_t end = 0;
  };

  void train_round(cyclic_state& state, const cyclic_rule& rule,
                   const round_place& place);
  /// Replaces weights by the mean over the clients, each of which trains them.
  void train_clients(std::vector<double>& weights, const cyclic_rule& rule,
                     const round_place& place);
  /// Goes against the gradient of one example.
  void descend(std::vector<double>& weights, const cyclic_rule& rule,
               const linear_examples& examples, std::int64_t example);

  const std::vector<cyclic_block>& blocks_;
  linear_loss loss_;
  std::int64_t clients_;
  std::uint64_t seed_;
  linear_gradient gradient_;
  std::vector<double> change_; ///< of the present update
};

} // namespace hippo
