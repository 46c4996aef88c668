#pragma once

#include <string>
#include <vector>

#include "hippo/space/study.hpp"

namespace hippo::test {

inline parameter_descriptor parameter(std::string name, scalar fallback) {
  parameter_descriptor result;
  result.name = std::move(name);
  result.fallback = std::move(fallback);
  return result;
}

/// A workload with a hyper-parameter of every sort.
inline std::vector<workload_descriptor> workloads() {
  workload_descriptor x;
  x.name = "toy";
  x.metrics = {{"accuracy", direction::maximize, ""},
               {"loss", direction::minimize, ""}};
  auto lr = parameter("lr", 0.1);
  lr.min = 0;
  lr.min_excluded = true;
  auto batch_size = parameter("batch_size", 64.0);
  batch_size.min = 1;
  batch_size.integer = true;
  auto momentum = parameter("momentum", 0.9);
  momentum.min = 0;
  momentum.max = 1;
  momentum.max_excluded = true;
  auto weight_decay = parameter("weight_decay", 0.0);
  weight_decay.min = 0;
  auto optimizer = parameter("optimizer", "sgd");
  optimizer.words = {"sgd", "adamw"};
  x.hyper_parameters = {lr, batch_size, momentum, weight_decay, optimizer};
  auto seed = parameter("seed", 1.0);
  seed.integer = true;
  seed.min = 0;
  auto train = parameter("data.train", 1000.0);
  train.integer = true;
  train.min = 1;
  auto mode = parameter("mode", "float32");
  mode.words = {"float32", "bfloat16"};
  x.options = {seed, train, parameter("data.folder", "/data"),
               parameter("noise", 0.5), mode};
  auto other = x;
  other.name = "fashion-cnn";
  other.metrics[0].name = "val_accuracy";
  other.options.push_back(parameter("data.validation", 100.0));
  return {x, other};
}

/// A study of "toy" up to step 12 with this `space`, each line indented by two.
/// The first line of `space` is line 6.
inline std::string with_space(const std::string& space) {
  return "study: s\n"
         "workload: toy\n"
         "objective: {metric: accuracy}\n"
         "max_steps: 12\n"
         "space:\n"
         + space;
}

/// The same with a `space` that is not indented.
inline std::string with_flat_space(const std::string& space) {
  std::string indented = "  ";
  for (const char c : space)
    indented += c == '\n' ? std::string{"\n  "} : std::string{c};
  return with_space(indented + '\n');
}

inline study_file read(const std::string& text) {
  return read_study(text, "s.yaml", workloads());
}

inline std::vector<std::string> texts(const std::vector<diagnostic>& xs) {
  std::vector<std::string> result;
  for (const auto& x : xs)
    result.push_back(to_text(x));
  return result;
}

} // namespace hippo::test
