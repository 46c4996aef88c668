// The time of graph-sage that threads save which prepare batches in advance.
//
//   graph [ROUNDS [EPOCHS [THREADS]]] [--option NAME=VALUE]...
//         [--set NAME=VALUE]...
//
// Trains epochs of `graph-sage` (default: 5 of a stochastic block model of
// 20,000 nodes, half of them with labels, hidden layers of 128, fanouts of
// 15,10 and batches of 512) without threads that prepare and with so many
// (default: 1), in turn, and prepares the batches of as many epochs without
// training. Prints a line of JSON: the medians of seconds to prepare, to train
// what is prepared, and of both with threads, and the last by the sum of the
// two. Cores that are idle are needed for all threads.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/graph/graph_batches.hpp"
#include "workloads.hpp"

namespace {

using namespace hippo;

constexpr auto name = "graph-sage";
constexpr double labelled = 10000;

double median(std::vector<double> xs) {
  const auto middle = xs.begin() + static_cast<std::ptrdiff_t>(xs.size() / 2);
  std::nth_element(xs.begin(), middle, xs.end());
  return *middle;
}

template <class F>
double seconds_of(const F& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
    .count();
}

/// Prepares the batches of some epochs as the workload does.
void prepare(const workload_spec& spec, const configuration& config,
             step_t epochs) {
  const auto data = graph_data_of(spec);
  for (step_t step = 0; step < epochs; ++step) {
    batch_plan plan{
      {},
      whole(config.at("batch_size").at(step)),
      fanouts_from("fanouts",
                   std::get<std::string>(config.at("fanouts").at(step)),
                   static_cast<std::int64_t>(whole(spec.options.at("layers")))),
      1,
      purpose::neighbours,
      step};
    for (const auto i : epoch_order(1, step, data->training.size()))
      plan.nodes.push_back(data->training[i]);
    const auto make = make_batch_preparer(*data, plan);
    for (std::uint64_t i = 0; i < plan.batches(); ++i)
      make(i);
  }
}

} // namespace

int main(int argc, char** argv) {
  arguments args{argc, argv, 0,
                 "graph [ROUNDS [EPOCHS [THREADS]]] [--option NAME=VALUE]... "
                 "[--set NAME=VALUE]..."};
  const auto rounds = static_cast<int>(args.number(0, 5));
  const auto epochs = static_cast<step_t>(args.number(1, 5));
  const auto threads = static_cast<unsigned>(args.number(2, 1));
  args.options.insert({{"data.nodes", 2 * labelled},
                       {"data.classes", 32.},
                       {"data.within", 0.02},
                       {"data.between", 0.0002},
                       {"hidden", 128.}});
  args.values.insert({{"fanouts", "15,10"}});
  const auto spec = spec_of(name, labelled, args.options);
  const auto config = plain(name, 512, args.values);
  const auto alone = made(spec, "cpu", {0}),
             ahead = made(spec, "cpu", {threads});
  std::vector<double> preparing, training, both;
  for (int round = 0; round < rounds; ++round) {
    const auto train = [&](workload& work) {
      work.init();
      return seconds_of([&] { work.train(config, 0, epochs); });
    };
    preparing.push_back(seconds_of([&] { prepare(spec, config, epochs); }));
    training.push_back(train(*alone) - preparing.back());
    both.push_back(train(*ahead));
  }
  const auto prepared = median(preparing), trained = median(training),
             wall = median(both);
  std::printf("{\"prepare_seconds\": %.3f, \"train_seconds\": %.3f, "
              "\"seconds\": %.3f, \"share\": %.3f}\n",
              prepared, trained, wall, wall / (prepared + trained));
}
