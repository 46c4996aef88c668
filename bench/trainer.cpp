// How fast the built-in workloads train on one device.
//
//   trainer WORKLOAD BATCH_SIZE IMAGES [SECONDS [DEVICE [LANES]]]
//
// Trains epochs of so many images, without augmentation, for about as long as
// said (default: 2), after one that does not count, on a device (default: cpu)
// and in all of so many lanes (default: 1). Prints a line of JSON: iterations
// of a lane, and images of all lanes, per second.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "workloads.hpp"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: trainer WORKLOAD BATCH_SIZE IMAGES [SECONDS "
                         "[DEVICE [LANES]]]\n");
    return 2;
  }
  using clock = std::chrono::steady_clock;
  const std::string name = argv[1];
  const double batch_size = std::atof(argv[2]);
  const double images = std::atof(argv[3]);
  const double wanted = argc > 4 ? std::atof(argv[4]) : 2;
  const std::string device = argc > 5 ? argv[5] : "cpu";
  const double lanes = argc > 6 ? std::atof(argv[6]) : 1;
  const auto config = hippo::plain(name, batch_size);
  std::vector<std::unique_ptr<hippo::workload>> all;
  all.push_back(hippo::made(name, images, device, lanes));
  for (auto& x : all.front()->take_other_lanes())
    all.push_back(std::move(x));

  // Lanes wait for each other at every epoch, so that all of them get as far.
  std::atomic<hippo::step_t> last{1};
  clock::time_point begin;
  const auto train = [&](hippo::workload& lane, bool is_first) {
    lane.init();
    lane.train(config, 0, 1);
    if (is_first)
      begin = clock::now();
    for (hippo::step_t step = 1; step <= last; ++step) {
      lane.train(config, step, step + 1);
      const std::chrono::duration<double> spent = clock::now() - begin;
      if (is_first && spent.count() < wanted)
        last = step + 1;
    }
    lane.rest();
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < all.size(); ++i)
    others.emplace_back(train, std::ref(*all[i]), false);
  train(*all.front(), true);
  const std::chrono::duration<double> spent = clock::now() - begin;
  for (auto& x : others)
    x.join();
  const auto rate = images * static_cast<double>(last) / spent.count();
  std::printf("{\"iterations_per_second\": %.2f, \"images_per_second\": %.2f}\n",
              rate / batch_size, rate * lanes);
}
