// A workload library whose data is not there.

#include <hippo/train/workload.hpp>

HIPPO_WORKLOADS(registry) {
  hippo::workload_descriptor x;
  x.name = "lost";
  x.metrics = {{"m", hippo::direction::maximize, ""}};
  x.hyper_parameters.emplace_back().name = "x";
  registry.add(x,
               [](const hippo::workload_spec&)
                 -> std::unique_ptr<hippo::workload> {
                 throw hippo::missing_data_error("the moons are gone");
               });
}
