// What a suggestion of a sampler that learns costs after so many trials.
//
//   suggest TRIALS [tpe|gp] [imported|constrained]
//
// With `imported` the results are from elsewhere, as of `tell-past`, instead;
// with `constrained` half of them break a limit.
// The space has two logarithmic ranges, two linear ones and two choices of
// five. Prints a line of JSON with the median and the mean of 200 suggestions,
// each with the result that is told of it. The mean has what comes at times:
// `gp` fits its kernel anew.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "told_sampler.hpp"

namespace {

using namespace hippo;
using clock_type = std::chrono::steady_clock;

constexpr std::uint64_t suggestions = 200;

const std::string text = R"(
study: suggest
workload: {name: fashion-cnn}
objective: {metric: val_accuracy, direction: maximize}
max_steps: 1
space:
  lr: {log_uniform: [1e-5, 0.1]}
  weight_decay: {log_uniform: [1e-6, 0.1]}
  dropout: {uniform: [0, 0.5]}
  label_smoothing: {uniform: [0, 0.2]}
  batch_size: {choice: [16, 32, 64, 128, 256]}
  crop: {choice: [0, 1, 2, 3, 4]}
budget: {trials: 10000000}
algorithm: )";

} // namespace

int main(int argc, char** argv) {
  const auto trials = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const std::string algorithm = argc > 2 ? argv[2] : "tpe";
  const std::string from = argc > 3 ? argv[3] : "";
  if (trials == 0 || (algorithm != "tpe" && algorithm != "gp")
      || (!from.empty() && from != "imported" && from != "constrained")) {
    std::fprintf(stderr,
                 "usage: suggest TRIALS [tpe|gp] [imported|constrained]\n");
    return 2;
  }
  const std::string limit =
    from == "constrained" ? "constraints: ['val_loss <= 0.5']\n" : "";
  told_sampler sampler{spec_of(text + algorithm + "\n" + limit)};
  if (from == "imported")
    sampler.import(trials);
  else
    sampler.fill(trials);
  std::vector<double> times;
  for (auto i = trials; i < trials + suggestions; ++i) {
    const auto begin = clock_type::now();
    sampler.suggest(i);
    times.push_back(
      std::chrono::duration<double, std::milli>(clock_type::now() - begin)
        .count());
  }
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (auto x : times)
    sum += x;
  std::printf("{\"milliseconds_per_suggestion\": %.4f, \"mean\": %.4f}\n",
              times[times.size() / 2], sum / static_cast<double>(suggestions));
}
