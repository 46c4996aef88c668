// How fast the built-in workloads train on one device.
//
//   trainer WORKLOAD BATCH_SIZE EXAMPLES
//           [SECONDS [DEVICE [AT_ONCE [MEMBERS]]]]
//           [--option NAME=VALUE]... [--set NAME=VALUE]...
//
// Trains epochs of so many examples (images, or windows of text) for about as
// long as said (default: 2), after one that does not count, on a device
// (default: cpu), as many trials at once as said (default: 1), each by as many
// threads for the option `parts` as said (default: 1). There is no
// dropout and no augmentation unless --set gives these hyper-parameters. Prints
// a line of JSON: iterations of one trial, and examples of all, per second, and
// iterations of all per second of processor time.

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "workloads.hpp"

int main(int argc, char** argv) {
  using clock = std::chrono::steady_clock;
  const hippo::arguments args{argc, argv, 3,
                              "trainer WORKLOAD BATCH_SIZE EXAMPLES "
                              "[SECONDS [DEVICE [AT_ONCE [MEMBERS]]]] "
                              "[--option NAME=VALUE]... [--set NAME=VALUE]..."};
  const auto& name = args.words[0];
  const double batch_size = args.number(1, 0);
  const double examples = args.number(2, 0);
  const double wanted = args.number(3, 2);
  const auto count = static_cast<std::ptrdiff_t>(args.number(5, 1));
  const auto config = hippo::plain(name, batch_size, args.values);
  const auto device = args.word(4, "cpu");
  const hippo::data_options data{
    .prepare_threads = 0,
    .members = std::vector<std::string>(
      static_cast<std::size_t>(args.number(6, 1)), device)};
  std::vector<std::unique_ptr<hippo::workload>> all;
  for (std::ptrdiff_t i = 0; i < count; ++i)
    all.push_back(
      hippo::made(hippo::spec_of(name, examples, args.options), device, data));

  // Each goes on until the time is over, so that all are there all the time.
  std::atomic<std::int64_t> steps{0};
  std::barrier begun{count + 1};
  clock::time_point end;
  const auto train = [&](hippo::workload& work) {
    work.init();
    work.train(config, 0, 1);
    work.train(config, 1, 2); // the first one that may be recorded
    begun.arrive_and_wait();
    begun.arrive_and_wait();
    for (hippo::step_t step = 2; clock::now() < end; ++step, ++steps)
      work.train(config, step, step + 1);
  };
  std::vector<std::thread> threads;
  for (const auto& x : all)
    threads.emplace_back(train, std::ref(*x));
  begun.arrive_and_wait();
  const auto begin = clock::now();
  const auto used = std::clock();
  end = begin
        + std::chrono::duration_cast<clock::duration>(
          std::chrono::duration<double>(wanted));
  begun.arrive_and_wait();
  for (auto& x : threads)
    x.join();
  const std::chrono::duration<double> spent = clock::now() - begin;
  const auto processor = static_cast<double>(std::clock() - used)
                         / CLOCKS_PER_SEC;
  const auto rate = examples * static_cast<double>(steps) / spent.count();
  std::printf("{\"iterations_per_second\": %.2f, "
              "\"examples_per_second\": %.2f, "
              "\"iterations_per_processor_second\": %.2f}\n",
              rate / batch_size / static_cast<double>(count), rate,
              rate / batch_size * spent.count() / processor);
}
