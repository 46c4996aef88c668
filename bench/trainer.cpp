// Iterations per second of the built-in workloads on one CPU thread.
//
//   trainer WORKLOAD BATCH_SIZE IMAGES [SECONDS]
//
// Trains epochs of so many images, without augmentation, for about as long as
// said (default: 2), after one that does not count, and prints a line of JSON.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "checked.hpp"
#include "hippo/train/descriptor.hpp"
#include "hippo/train/torch/training.hpp"
#include "hippo/train/workload.hpp"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: trainer WORKLOAD BATCH_SIZE IMAGES [SECONDS]\n");
    return 2;
  }
  using clock = std::chrono::steady_clock;
  const std::string name = argv[1];
  const double batch_size = std::atof(argv[2]);
  const double images = std::atof(argv[3]);
  const double wanted = argc > 4 ? std::atof(argv[4]) : 2;
  hippo::checked(hippo::prepare_device("cpu"));
  hippo::workload_registry registry;
  hippo::add_built_in_workloads(registry, "cpu");
  hippo::workload_spec spec{
    name,
    {{"seed", 1.0},
     {"data.train", images},
     {"data.validation", 1000.0},
     {"data.folder", "/usr/share/datasets/fashion-mnist"}}};
  const auto made = hippo::checked(registry.make(spec));
  auto& work = *made;
  hippo::configuration config;
  for (const auto& x : registry.descriptors())
    if (x.name == name)
      for (const auto& y : x.hyper_parameters)
        config[y.name] =
          std::holds_alternative<double>(y.fallback)
            ? hippo::form::constant(std::get<double>(y.fallback))
            : hippo::form::text(std::get<std::string>(y.fallback));
  config["batch_size"] = hippo::form::constant(batch_size);
  for (const char* off : {"dropout", "crop", "flip"})
    if (config.contains(off))
      config[off] = hippo::form::constant(0.0);
  work.init();
  work.train(config, 0, 1);
  const auto begin = clock::now();
  hippo::step_t step = 1;
  double spent = 0;
  while (spent < wanted) {
    work.train(config, step, step + 1);
    ++step;
    spent = std::chrono::duration<double>(clock::now() - begin).count();
  }
  std::printf("{\"iterations_per_second\": %.2f}\n",
              images / batch_size * static_cast<double>(step - 1) / spent);
}
