// How fast the built-in workloads train on one device.
//
//   trainer WORKLOAD BATCH_SIZE EXAMPLES [SECONDS [DEVICE]]
//           [--option NAME=VALUE]... [--set NAME=VALUE]...
//
// Trains epochs of so many examples (images, or windows of text) for about as
// long as said (default: 2), after one that does not count, on a device
// (default: cpu) and in all lanes that the option `lanes` asks for. There is no
// dropout and no augmentation unless --set gives these hyper-parameters. Prints
// a line of JSON: iterations of a lane, and examples of all lanes, per second.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "workloads.hpp"

int main(int argc, char** argv) {
  using clock = std::chrono::steady_clock;
  const hippo::arguments args{
    argc, argv, 3,
    "trainer WORKLOAD BATCH_SIZE EXAMPLES [SECONDS [DEVICE]] "
    "[--option NAME=VALUE]... [--set NAME=VALUE]..."};
  const auto& name = args.words[0];
  const double batch_size = args.number(1, 0);
  const double examples = args.number(2, 0);
  const double wanted = args.number(3, 2);
  const auto config = hippo::plain(name, batch_size, args.values);
  std::vector<std::unique_ptr<hippo::workload>> all;
  all.push_back(
    hippo::made(name, examples, args.word(4, "cpu"), args.options));
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
  const auto rate = examples * static_cast<double>(last) / spent.count();
  std::printf("{\"iterations_per_second\": %.2f, "
              "\"examples_per_second\": %.2f}\n",
              rate / batch_size, rate * static_cast<double>(all.size()));
}
