// Makes the workload `lost` of a library and prints how that fails.

#include <iostream>

#include <hippo/train/library.hpp>

int main(int, char** argv) {
  hippo::workload_registry registry;
  if (const auto why = hippo::load_workloads(argv[1], registry)) {
    std::cout << why->message << '\n';
    return 1;
  }
  hippo::workload_spec spec;
  spec.name = "lost";
  const auto made = registry.make(spec);
  if (made)
    return 1;
  std::cout << to_string(made.failure().code) << ": "
            << made.failure().message << '\n';
}
