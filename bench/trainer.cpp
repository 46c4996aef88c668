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

#include "workloads.hpp"

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
  const auto made = hippo::made(name, images);
  auto& work = *made;
  const auto config = hippo::plain(name, batch_size);
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
