#pragma once

#include "hippo/forecast/simulate/profile.hpp"

namespace hippo::test {

inline const char* const toy_profile_text = R"(
device: toy
workload:
  name: toy
  hyper_parameters:
    lr: {default: 0.1}
    batch_size: {default: 100, min: 1, affects_speed: true}
  metrics: {loss: minimize}
step_seconds: 10
dispatch_seconds: 1
load_seconds: 2
save_seconds: 3
evaluate_seconds: 4
curve:
  samples_per_step: 1000
  sharpness: 1
  flatness: 0.01
  gradient_noise: 10
  evaluation_noise: 0.01
  metrics: {loss: {start: 2, best: 0.5}}
)";

/// The profile of a workload `toy`, of which every part of a lease takes long
/// enough to be seen.
inline simulation_profile toy_profile() {
  return *read_profile(toy_profile_text, "toy").profile;
}

} // namespace hippo::test
