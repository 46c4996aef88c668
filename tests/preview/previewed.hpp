#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/accepted_study.hpp"

namespace hippo::test {

inline const std::vector<workload_descriptor>& workloads() {
  static const std::vector<workload_descriptor> result = [] {
    workload_descriptor toy;
    toy.name = "toy";
    toy.metrics = {{"acc", direction::maximize, "quality"},
                   {"ms", direction::minimize, "time"}};
    for (const auto* name : {"x", "y"}) {
      parameter_descriptor parameter;
      parameter.name = name;
      parameter.fallback = 1.0;
      toy.hyper_parameters.push_back(parameter);
    }
    return std::vector{toy};
  }();
  return result;
}

/// A study of the toy workload, 12 steps long.
inline accepted_study accepted(const std::string& space,
                               const std::string& algorithm,
                               const std::string& more = "",
                               std::size_t trainers = 1) {
  admission how;
  how.trainers = trainers;
  const auto read =
    admit_study("study: s\nworkload: toy\nobjective: {metric: acc}\n"
                "max_steps: 12\nspace: "
                  + space + "\nalgorithm: " + algorithm + "\n" + more,
                "s.yaml", workloads(), how);
  for (const auto& x : read.errors)
    ADD_FAILURE() << to_text(x);
  return read.study.value();
}

} // namespace hippo::test
