#include "hippo/train/torch/linear/distributed_updates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

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
    seed_(seed), features_(static_cast<std::size_t>(examples.features)),
    derivatives_(static_cast<std::size_t>(examples.outputs)),
    change_(static_cast<std::size_t>(examples.weights())) {
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
  const auto begin = examples_.count * machine / machines_,
             end = examples_.count * (machine + 1) / machines_;
  random_numbers numbers{seed_, purpose::answer, {step, number}};
  const auto example = begin
                       + static_cast<std::int64_t>(numbers.below(
                         static_cast<std::uint64_t>(end - begin)));
  const auto outputs = examples_.outputs;
  examples_.features_of(example, features_.data());
  put_outputs(weights, features_.data(), examples_.features,
              derivatives_.data(), outputs);
  const auto* targets = examples_.targets.data() + example * outputs;
  take_derivatives(loss_, targets, derivatives_.data(), outputs);
  if (rule.saga)
    for (std::int64_t k = 0; k < outputs; ++k) {
      auto& known =
        state.table[static_cast<std::size_t>(example * outputs + k)];
      auto& derivative = derivatives_[static_cast<std::size_t>(k)];
      const auto now = derivative;
      derivative -= known;
      known = now;
    }
  auto* to = change_.data();
  for (std::int64_t f = 0; f <= examples_.features; ++f) {
    const double feature =
      f < examples_.features ? features_[static_cast<std::size_t>(f)] : 1;
    for (const auto derivative : derivatives_)
      *to++ += derivative * feature;
  }
}

void distributed_training::update(distributed_state& state,
                                  const distributed_rule& rule,
                                  std::int64_t count) {
  const auto share = 1 / static_cast<double>(count),
             of_all = 1 / static_cast<double>(examples_.count);
  const auto decayed =
    static_cast<std::size_t>(examples_.features * examples_.outputs);
  for (std::size_t i = 0; i < change_.size(); ++i) {
    const auto penalty = i < decayed ? rule.weight_decay * state.weights[i] : 0;
    const auto mean = rule.saga ? state.mean[i] : 0;
    state.weights[i] -= rule.lr * (change_[i] * share + mean + penalty);
    if (rule.saga)
      state.mean[i] += change_[i] * of_all;
    change_[i] = 0;
  }
}

void put_outputs(const std::vector<double>& weights, const float* features,
                 std::int64_t feature_count, double* to, std::int64_t outputs) {
  const auto* weight = weights.data();
  std::fill(to, to + outputs, 0);
  for (std::int64_t f = 0; f <= feature_count; ++f) {
    const double feature = f < feature_count ? features[f] : 1;
    for (std::int64_t k = 0; k < outputs; ++k)
      to[k] += *weight++ * feature;
  }
}

double take_derivatives(linear_loss loss, const float* targets, double* outputs,
                        std::int64_t count) {
  double result = 0;
  if (loss == linear_loss::least_squares) {
    for (std::int64_t k = 0; k < count; ++k) {
      outputs[k] -= targets[k];
      result += outputs[k] * outputs[k] / 2;
    }
    return result;
  }
  const auto most = *std::max_element(outputs, outputs + count);
  if (!std::all_of(outputs, outputs + count,
                   [](double x) { return std::isfinite(x); })) { // diverged
    std::fill(outputs, outputs + count, NAN);
    return NAN;
  }
  double sum = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    result -= targets[k] * (outputs[k] - most);
    outputs[k] = portable_exp(outputs[k] - most);
    sum += outputs[k];
  }
  for (std::int64_t k = 0; k < count; ++k)
    outputs[k] = outputs[k] / sum - targets[k];
  return result + portable_log(sum);
}

} // namespace hippo
