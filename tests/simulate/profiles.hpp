#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "hippo/forecast/simulate/profile.hpp"

namespace hippo::test {

/// A profile in the manner of a ResNet on CIFAR-10.
inline const char* const sample_profile = R"(
device: sample
workload:
  name: net
  hyper_parameters:
    lr: {default: 0.1, min: 0}
    momentum: {default: 0.9, min: 0, max: 1, max_excluded: true}
    batch_size: {default: 128, min: 1, integer: true, affects_speed: true}
    weight_decay: {default: 0.0005, min: 0}
    optimizer: {default: sgd, words: [sgd, adamw], affects_speed: true}
  metrics: {accuracy: maximize, loss: minimize, train_loss: minimize}
step_seconds: 10
dispatch_seconds: 1
load_seconds: 2
save_seconds: 3
evaluate_seconds: 4
checkpoint_bytes: 5000
curve:
  learning_rate_factors: {optimizer: {adamw: 50}}
  samples_per_step: 40000
  sharpness: 0.15
  flatness: 1e-4
  early_sharpness: 4
  gradient_noise: 25
  regularisers: {weight_decay: 0.0005}
  overfitting: 0.15
  overfitting_steps: 40
  slowdown: 0.3
  evaluation_noise: 0.003
  metrics:
    accuracy: {start: 0.1, best: 0.95}
    loss: {start: 2.3, best: 0.2, power: 1.5}
    train_loss: {start: 2.3, best: 0, overfits: false}
)";

inline simulation_profile read_good_profile(const std::string& text) {
  auto result = read_profile(text, "profile.yaml");
  for (const auto& x : result.errors)
    ADD_FAILURE() << to_text(x);
  return result.profile.value_or(simulation_profile{});
}

inline simulation_profile sample() {
  return read_good_profile(sample_profile);
}

/// Returns the configuration that rules `[0, end)` where only `changed` are
/// not what they are by default.
inline std::vector<segment> segments_of(const simulation_profile& profile,
                                        std::map<std::string, sequence> changed,
                                        step_t end) {
  for (const auto& x : profile.workload.hyper_parameters) {
    const auto* word = std::get_if<std::string>(&x.fallback);
    changed.emplace(
      x.name, sequence{word ? form::text(*word)
                            : form::constant(std::get<double>(x.fallback))});
  }
  return join(changed, end);
}

inline sequence constant(double value) {
  return sequence{form::constant(value)};
}

/// `begin`, times `gamma` at every one of `milestones`.
inline sequence multistep(double begin, double gamma,
                          const std::vector<step_t>& milestones) {
  std::vector<piece> result{{0, form::constant(begin)}};
  for (const auto at : milestones)
    result.push_back({at, form::constant(begin *= gamma)});
  return sequence{std::move(result)};
}

/// A line from a tenth of `to` to all of it.
inline sequence warm_up(double to, step_t steps) {
  form ramp;
  ramp.kind = form_kind::polynomial;
  ramp.a = {to / 10, to, static_cast<double>(steps), 1};
  return sequence{{{0, ramp}, {steps, form::constant(to)}}};
}

} // namespace hippo::test
