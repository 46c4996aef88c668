#include "hippo/train/torch/linear/distributed_updates.hpp"

#include <algorithm>
#include <cassert>

#include "hippo/base/portable_math.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

/// Says whose answer is the next one.
class distributed_training::arrivals {
public:
  arrivals(const distributed_training& training, step_t step)
    : training_(training), step_(step) {
    if (training.order_ != arrival_order::exponential)
      return;
    answers_.resize(static_cast<std::size_t>(training.machines_));
    for (std::int64_t i = 0; i < training.machines_; ++i)
      due_.push_back(time_of(i));
  }

  std::int64_t next() {
    if (due_.empty())
      return count_++ % training_.machines_;
    const auto first = std::min_element(due_.begin(), due_.end());
    const auto machine = first - due_.begin();
    ++answers_[static_cast<std::size_t>(machine)];
    *first += time_of(machine);
    return machine;
  }

private:
  /// How long a machine takes for its next answer: 1 in the mean.
  [[nodiscard]] double time_of(std::int64_t machine) const {
    random_numbers numbers{training_.seed_,
                           purpose::arrivals,
                           {step_, static_cast<std::uint64_t>(machine),
                            answers_[static_cast<std::size_t>(machine)]}};
    return -portable_log(1 - numbers.uniform());
  }

  const distributed_training& training_;
  step_t step_;
  std::int64_t count_ = 0;
  std::vector<double> due_;            ///< of each machine
  std::vector<std::uint64_t> answers_; ///< the same: how many came
};

distributed_training::distributed_training(const linear_examples& examples,
                                           linear_loss loss,
                                           std::int64_t machines,
                                           arrival_order order,
                                           std::uint64_t seed)
  : examples_(examples), loss_(loss), machines_(machines), order_(order),
    seed_(seed), change_(static_cast<std::size_t>(examples.weights())) {
  assert(machines >= 1 && machines <= examples.count);
}

distributed_state distributed_training::initial() const {
  const auto weights = static_cast<std::size_t>(examples_.weights());
  return {std::vector<double>(weights),
          std::vector<double>(examples_.targets.size()),
          std::vector<double>(weights)};
}

void distributed_training::train(distributed_state& state,
                                 const distributed_rule& rule, step_t step) {
  if (rule.synchronous)
    train_together(state, rule, step);
  else
    train_in_turns(state, rule, step);
}

void distributed_training::train_in_turns(distributed_state& state,
                                          const distributed_rule& rule,
                                          step_t step) {
  arrivals order{*this, step};
  // One machine has the server's weights at each of its turns.
  std::vector<std::vector<double>> last;
  if (machines_ > 1)
    last.assign(static_cast<std::size_t>(machines_), state.weights);
  for (std::int64_t i = 0; i < examples_.count; ++i) {
    const auto machine = order.next();
    const auto& weights =
      last.empty() ? state.weights : last[static_cast<std::size_t>(machine)];
    answer(state, rule, weights, machine, step, static_cast<std::uint64_t>(i));
    update(state, rule, 1);
    if (!last.empty())
      last[static_cast<std::size_t>(machine)] = state.weights;
  }
}

void distributed_training::train_together(distributed_state& state,
                                          const distributed_rule& rule,
                                          step_t step) {
  for (std::int64_t i = 0; i < examples_.count;) {
    const auto count = std::min(machines_, examples_.count - i);
    for (std::int64_t machine = 0; machine < count; ++machine, ++i)
      answer(state, rule, state.weights, machine, step,
             static_cast<std::uint64_t>(i));
    update(state, rule, count);
  }
}

void distributed_training::answer(distributed_state& state,
                                  const distributed_rule& rule,
                                  const std::vector<double>& weights,
                                  std::int64_t machine, step_t step,
                                  std::uint64_t number) {
  const auto example =
    drawn_example(examples_, machine, machines_,
                  random_numbers{seed_, purpose::answer, {step, number}});
  auto& derivatives = gradient_.at(examples_, loss_, weights, example);
  if (rule.saga)
    for (std::size_t k = 0; k < derivatives.size(); ++k) {
      auto& known =
        state.table[static_cast<std::size_t>(example) * derivatives.size() + k];
      const auto now = derivatives[k];
      derivatives[k] -= known;
      known = now;
    }
  gradient_.add_to(change_);
}

void distributed_training::update(distributed_state& state,
                                  const distributed_rule& rule,
                                  std::int64_t count) {
  const auto share = 1 / static_cast<double>(count),
             of_all = 1 / static_cast<double>(examples_.count);
  const auto decayed = static_cast<std::size_t>(examples_.decayed());
  for (std::size_t i = 0; i < change_.size(); ++i) {
    const auto penalty = i < decayed ? rule.weight_decay * state.weights[i] : 0;
    const auto mean = rule.saga ? state.mean[i] : 0;
    state.weights[i] -= rule.lr * (change_[i] * share + mean + penalty);
    if (rule.saga)
      state.mean[i] += change_[i] * of_all;
    change_[i] = 0;
  }
}

} // namespace hippo
