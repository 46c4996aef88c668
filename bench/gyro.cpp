// What gyro dropout costs, and what accuracy it gives.
//
//   gyro products [ROUNDS [EXAMPLES [OUT]]] [--set dropout=SHARE]
//   gyro accuracy [SEEDS [EPOCHS [IMAGES]]] [--set NAME=VALUE]...
//
// `products` times one linear layer from 1024 to OUT features (default: 1024)
// after dropout, forward and backward, for 256 examples and 16 subnetworks of
// which each drops half of the features, unless told otherwise: by blocks and
// in one product, in turn, for blocks of 32, 64 and 128. Prints a line of JSON
// for each: the medians in ms, and that of their ratio.
//
// `accuracy` trains `fashion-mlp` with ordinary and with gyro dropout (64
// subnetworks, 16 at once, each trained for an equal share of all epochs) by
// turns, with several seeds. `--set` gives both other hyper-parameters. Prints
// a line of JSON: the shares of validation images that are classified right.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "hippo/train/torch/networks/block_linear.hpp"
#include "hippo/train/torch/networks/dropout.hpp"
#include "hippo/train/torch/subnetworks.hpp"
#include "workloads.hpp"

namespace {

using namespace hippo;
using clock_type = std::chrono::steady_clock;

double median(std::vector<double> xs) {
  const auto middle = xs.begin() + static_cast<std::ptrdiff_t>(xs.size() / 2);
  std::nth_element(xs.begin(), middle, xs.end());
  return *middle;
}

void time_products(const arguments& args) {
  constexpr std::int64_t size = 1024;
  const auto rounds = static_cast<int>(args.number(1, 25));
  const auto examples = static_cast<std::int64_t>(args.number(2, 256));
  const auto out = static_cast<std::int64_t>(args.number(3, size));
  const auto set = args.values.find("dropout");
  const auto share =
    set == args.values.end() ? 0.5 : std::get<double>(set->second);
  checked(prepare_device("cpu", 1, default_numerics));
  at::manual_seed(1);
  const auto weight = at::randn({out, size}).set_requires_grad(true);
  const auto bias = at::randn({out}).set_requires_grad(true);
  const auto input = at::randn({examples, size}).set_requires_grad(true);
  const auto into = at::randn({examples, out});
  for (const std::uint32_t block : {32U, 64U, 128U}) {
    subnetwork_settings how;
    how.count = 256;
    how.block = block;
    step_values values{at::kCPU};
    values.reset({1, 0, 0, share});
    const auto milliseconds = [&](bool by_blocks) {
      for (const auto& x : {weight, bias, input})
        x.mutable_grad().reset();
      const auto begin = clock_type::now();
      const auto some = dropped(input, &values, 0);
      const auto y = by_blocks ? linear_by_blocks(some, values, 0, weight, bias)
                               : at::linear(some, weight, bias);
      y.backward(into);
      return std::chrono::duration<double, std::milli>(clock_type::now()
                                                       - begin)
        .count();
    };
    std::vector<double> ours, theirs, ratios;
    for (int i = 0; i <= rounds; ++i) {
      // Each round has other masks, and the first one does not count.
      put_subnetworks(how, 1, static_cast<std::uint64_t>(i), values);
      const auto by_blocks = milliseconds(true), all = milliseconds(false);
      if (i == 0)
        continue;
      ours.push_back(by_blocks);
      theirs.push_back(all);
      ratios.push_back(all / by_blocks);
    }
    std::printf("{\"block\": %u, \"blocks_ms\": %.3f, \"dense_ms\": %.3f, "
                "\"ratio\": %.3f}\n",
                block, median(ours), median(theirs), median(ratios));
  }
}

void compare_accuracies(const arguments& args) {
  const auto seeds = args.number(1, 5), images = args.number(3, 20000);
  const auto epochs = args.number(2, 16);
  const std::string name = "fashion-mlp";
  std::string ordinary, gyro;
  for (double seed = 1; seed <= seeds; ++seed)
    for (const bool is_gyro : {false, true}) {
      auto values = args.values;
      values.emplace("dropout", 0.5);
      if (is_gyro) {
        values.emplace("subnetworks", 64.0);
        values.emplace("subnetwork_period", epochs / 4);
      }
      const auto work = made(name, images, "cpu",
                             {{"seed", seed}, {"data.validation", 10000.0}});
      work->init();
      work->train(plain(name, 64, values), 0, static_cast<step_t>(epochs));
      auto& to = is_gyro ? gyro : ordinary;
      to += (to.empty() ? "" : ", ")
            + std::to_string(work->evaluate().at("val_accuracy"));
    }
  std::printf("{\"ordinary\": [%s], \"gyro\": [%s]}\n", ordinary.c_str(),
              gyro.c_str());
}

} // namespace

int main(int argc, char** argv) {
  const auto* usage =
    "gyro products [ROUNDS [EXAMPLES [OUT]]] [--set dropout=SHARE] | "
    "accuracy [SEEDS [EPOCHS [IMAGES]]] [--set NAME=VALUE]...";
  const arguments args{argc, argv, 1, usage};
  if (args.words[0] == "products")
    time_products(args);
  else if (args.words[0] == "accuracy")
    compare_accuracies(args);
  else
    return std::fprintf(stderr, "usage: %s\n", usage), 2;
  return 0;
}
