#include "hippo/train/workload.hpp"

HIPPO_WORKLOADS(registry) {
  if (registry.descriptors().empty())
    throw std::runtime_error("no licence");
}
