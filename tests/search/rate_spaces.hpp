#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/surrogate/schedule_law.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// A study that minimises the loss of a training of 240 steps, with a rate of
/// this name and a number `y`.
inline study_spec rate_study(const std::string& space,
                             const std::string& rate = "lr") {
  workload_descriptor toy;
  toy.name = "toy";
  toy.metrics = {{"loss", direction::minimize, "quality"}};
  for (const auto& name : {rate, std::string{"y"}}) {
    parameter_descriptor x;
    x.name = name;
    x.fallback = 0.0;
    toy.hyper_parameters.push_back(x);
  }
  const auto file = read_study("study: s\nworkload: toy\nobjective: {metric: "
                               "loss}\nmax_steps: 240\nspace: "
                                 + space + "\nalgorithm: random\n",
                               "s.yaml", {toy});
  for (const auto& x : file.errors)
    ADD_FAILURE() << to_text(x);
  return file.study ? *file.study : study_spec{};
}

/// 200 decays after one stable rate.
inline constexpr auto decays =
  "{lr: {wsd: {peak: 0.1, warmup: 10, end: {choice: [0.0001, 0.001, 0.003,"
  " 0.01, 0.03]}, decay: {choice: [5, 10, 20, 30, 45, 60, 80, 100, 130, 160]},"
  " shape: {choice: [1-sqrt, linear, cosine, exponential]}}}}";

inline schedule_law some_law() {
  schedule_law result;
  result.limit = 2;
  result.gain = 0.3;
  result.alpha = 0.45;
  result.drop = 0.4;
  result.pace = 60;
  result.rate_unit = 0.1;
  result.sum_unit = 24;
  return result;
}

inline double loss_of(const schedule_law& law, const sequence& rates,
                      step_t at) {
  return law.loss(read_rates(rates, at).value());
}

} // namespace hippo
