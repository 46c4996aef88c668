#pragma once

namespace hippo::test {

/// Nine trials of the hash model, several of which share their first steps.
inline const char* const sha_study = R"(
study: sha
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr:
    choice:
      - 0.1
      - 0.2
      - multistep: {initial: 0.1, milestones: [3], gamma: {choice: [0.1, 0.5]}}
      - multistep: {initial: 0.2, milestones: [2, 5], gamma: 0.1}
      - exponential: {initial: 0.1, gamma: {choice: [0.8, 0.9]}}
  batch_size: {choice: [64, 128]}
algorithm: {sha: {eta: 3, min: 1}}
budget: {trials: 9}
)";

} // namespace hippo::test
