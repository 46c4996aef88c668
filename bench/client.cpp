// What it costs a client of a service to ask for a trial and to tell its value.
//
//   client SERVER TRIALS
//
// Drives a study of its own through the C++ client library, one call at a time,
// and prints the medians of the last tenth as a line of JSON.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "checked.hpp"
#include "hippo/net/client/client.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

double milliseconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - begin)
    .count();
}

double median_of_last_tenth(std::vector<double> xs) {
  xs.erase(xs.begin(),
           xs.end() - static_cast<std::ptrdiff_t>((xs.size() + 9) / 10));
  std::sort(xs.begin(), xs.end());
  return xs[xs.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
  const auto trials = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (trials == 0) {
    std::fprintf(stderr, "usage: client SERVER TRIALS\n");
    return 2;
  }
  auto client = hippo::checked(hippo::client::connect(argv[1]));
  const auto text = R"(
study: client
workload: {name: fashion-mlp}
objective: {metric: val_accuracy, direction: maximize}
max_steps: 1
space: {lr: {log_uniform: [1e-6, 0.1]}, dropout: {uniform: [0, 0.5]}}
algorithm: client
budget: {trials: )" + std::to_string(trials)
                    + "}\n";
  const auto id = hippo::checked(client.submit(text, "client.yaml")).id;
  auto study = hippo::checked(client.study(std::to_string(id)));
  std::vector<double> ask, tell;
  hippo::trial_outcome outcome;
  outcome.value = 0.5;
  for (std::uint64_t i = 0; i < trials; ++i) {
    auto begin = clock_type::now();
    const auto trial = hippo::checked(study.ask()).trial;
    ask.push_back(milliseconds_since(begin));
    begin = clock_type::now();
    if (const auto why = study.tell(trial, outcome)) {
      std::fprintf(stderr, "%s\n", why->message.c_str());
      return 1;
    }
    tell.push_back(milliseconds_since(begin));
  }
  std::printf("{\"ask_ms\": %.4f, \"tell_ms\": %.4f}\n",
              median_of_last_tenth(ask), median_of_last_tenth(tell));
}
