#include <iostream>

#include "hippo/model/workload_descriptor.hpp"
#include "modes/modes.hpp"

namespace hippo {

int describe_workloads(const workload_registry& registry) {
  std::cout << to_json(registry.descriptors()) << '\n';
  return exit_done;
}

} // namespace hippo
