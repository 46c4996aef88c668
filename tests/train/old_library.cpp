#include "hippo/train/workload.hpp"

// As HIPPO_WORKLOADS of an older header would have it.
extern "C" int hippo_workload_abi() {
  return HIPPO_WORKLOAD_ABI - 1;
}

extern "C" void hippo_add_workloads(hippo::workload_registry&) {}
