#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"

namespace hippo {

inline const std::vector<workload_descriptor>& toy_workloads() {
  static const std::vector<workload_descriptor> result = [] {
    workload_descriptor toy;
    toy.name = "toy";
    toy.metrics = {{"acc", direction::maximize, "quality"}};
    for (const auto* name : {"x", "y", "z"}) {
      parameter_descriptor parameter;
      parameter.name = name;
      parameter.fallback = 0.0;
      toy.hyper_parameters.push_back(parameter);
    }
    return std::vector{toy};
  }();
  return result;
}

inline constexpr auto twelve = "{x: {choice: [1, 2, 3, 4]},"
                               " y: {choice: [1, 2, 3]}}";
inline constexpr auto endless = "{x: {uniform: [0, 1]}}";

/// A study of the toy workload, 81 steps long.
inline study_spec study(const std::string& space, const std::string& algorithm,
                        const std::string& more = "") {
  const auto file =
    read_study("study: s\nworkload: toy\n"
               "objective: {metric: acc}\nmax_steps: 81\n"
               "space: "
                 + space + "\nalgorithm: " + algorithm + "\n" + more,
               "s.yaml", toy_workloads());
  for (const auto& x : file.errors)
    ADD_FAILURE() << to_text(x);
  return file.study ? *file.study : study_spec{};
}

inline std::unique_ptr<algorithm>
algorithm_of(const study_spec& spec, const trial_states* states = nullptr) {
  return make_algorithm(spec, read_search(spec), states);
}

inline tuner tuner_of(const study_spec& spec,
                      std::map<std::string, sequence> defaults = {}) {
  return {spec, read_search(spec), trial_defaults{std::move(defaults)}};
}

inline std::unique_ptr<sampler>
sampler_of(const study_spec& spec, const untrained_work* work = nullptr) {
  return make_sampler(spec, read_search(spec), {work, {}, nullptr});
}

} // namespace hippo
