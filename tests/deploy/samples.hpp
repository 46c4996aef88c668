#pragma once

#include <gtest/gtest.h>

#include <string>

#include "hippo/deploy/machines.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo::test {

inline const std::string on_hosts = R"(
service: gpu-lab:4848
trainers:
  - name: gpu
    hosts: [gpu1, ada@gpu2.example.org]
    gpus: 2
    notice_seconds: 60
)";

inline const std::string jobs = R"(
service: gpu-lab:4848
keys: /home/ada/hippo-keys
trainers:
  - name: a100
    count: 16
    gpus: 1
    cpus: 4
    memory: 32Gi
    time: 1-08:00:00
    partition: gpu
    sbatch: [--account=lab]
)";

inline const std::string pods = R"(
service: {image: hippo:1, storage: 100Gi}
prometheus: http://prometheus.monitoring:9090
trainers:
  - name: spot
    image: example.org:5000/hippo-trainer:1@sha256:ab
    count: 0
    count_max: 16
    gpus: 1
    nodes: {cloud.example.org/gpu: a100}
    tolerate: [nvidia.com/gpu]
  - name: cpu
    image: hippo-trainer:1
    cpus: 2
)";

/// Returns a text with the first `from` replaced.
inline std::string changed(std::string text, const std::string& from,
                           const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos)
    ADD_FAILURE() << "no '" << from << "' in\n" << text;
  else
    text.replace(at, from.size(), to);
  return text;
}

/// Reads a text that has no errors.
inline machines good(deploy_target target, const std::string& text) {
  auto read = read_machines(text, "m.yaml", target);
  for (const auto& x : read.errors)
    ADD_FAILURE() << to_text(x);
  return read.found.value_or(machines{});
}

} // namespace hippo::test
