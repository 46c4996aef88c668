#include "hippo/train/torch/linear/cyclic_updates.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

namespace {

/// Adds one more value to the mean of `count`.
void add_to_mean(std::vector<double>& mean, std::int64_t count,
                 const std::vector<double>& values) {
  const auto all = static_cast<double>(count + 1);
  for (std::size_t i = 0; i < mean.size(); ++i)
    mean[i] += (values[i] - mean[i]) / all;
}

} // namespace

const std::vector<double>& cyclic_state::model_of(std::size_t block) const {
  const auto& models = blocks[block];
  switch (predictor) {
    case block_predictor::last:
      return weights;
    case block_predictor::mm:
      return models.mean;
    case block_predictor::mc:
      break;
  }
  return models.better;
}

cyclic_training::cyclic_training(const std::vector<cyclic_block>& blocks,
                                 linear_loss loss, std::int64_t clients,
                                 std::uint64_t seed)
  : blocks_(blocks), loss_(loss), clients_(clients), seed_(seed),
    change_(static_cast<std::size_t>(blocks.front().training.weights())) {
  for ([[maybe_unused]] const auto& block : blocks) {
    assert(clients >= 1 && clients <= block.training.count);
    assert(block.held_out.count >= 1);
  }
}

cyclic_state cyclic_training::initial() const {
  const std::vector<double> zeros(change_.size());
  return {zeros,
          std::vector<cyclic_models>(blocks_.size(), {0, zeros, zeros, zeros})};
}

void cyclic_training::train(cyclic_state& state, const cyclic_rule& rule,
                            step_t step) {
  state.predictor = rule.predictor;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const auto count = blocks_[block].training.count;
    const auto updates = (count + clients_ - 1) / clients_;
    for (std::int64_t begin = 0; begin < updates; begin += rule.sync_every)
      train_round(
        state, rule,
        {step, block, begin, std::min(begin + rule.sync_every, updates)});
  }
}

void cyclic_training::train_round(cyclic_state& state, const cyclic_rule& rule,
                                  const round_place& place) {
  auto& models = state.blocks[place.block];
  train_clients(state.weights, rule, place);
  const auto* better = &state.weights;
  if (rule.predictor == block_predictor::mc) {
    train_clients(models.chain, rule, place);
    const auto loss_of = [&](const std::vector<double>& weights) {
      return measured(blocks_[place.block].held_out, loss_, weights).loss;
    };
    if (loss_of(models.chain) < loss_of(state.weights))
      better = &models.chain;
  }
  add_to_mean(models.mean, models.rounds, state.weights);
  add_to_mean(models.better, models.rounds, *better);
  ++models.rounds;
}

void cyclic_training::train_clients(std::vector<double>& weights,
                                    const cyclic_rule& rule,
                                    const round_place& place) {
  const auto& examples = blocks_[place.block].training;
  std::vector<double> sum(weights.size());
  for (std::int64_t client = 0; client < clients_; ++client) {
    auto local = weights;
    for (auto update = place.begin; update < place.end; ++update)
      descend(local, rule, examples,
              drawn_example(
                examples, client, clients_,
                {seed_,
                 purpose::answer,
                 {place.step, place.block, static_cast<std::uint64_t>(client),
                  static_cast<std::uint64_t>(update)}}));
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += local[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i)
    weights[i] = sum[i] / static_cast<double>(clients_);
}

void cyclic_training::descend(std::vector<double>& weights,
                              const cyclic_rule& rule,
                              const linear_examples& examples,
                              std::int64_t example) {
  gradient_.at(examples, loss_, weights, example);
  gradient_.add_to(change_);
  const auto decayed = static_cast<std::size_t>(examples.decayed());
  for (std::size_t i = 0; i < change_.size(); ++i) {
    const auto penalty = i < decayed ? rule.weight_decay * weights[i] : 0;
    weights[i] -= rule.lr * (change_[i] + penalty);
    change_[i] = 0;
  }
}

} // namespace hippo
