// Cost and accuracy of gyro dropout.
//
//   gyro products [ROUNDS [EXAMPLES [OUT]]] [--set dropout=SHARE]
//   gyro eager HIDDEN WIDTH BATCH IMAGES [SECONDS [BLOCK]]
//   gyro accuracy [SEEDS [EPOCHS [IMAGES]]] [--set NAME=VALUE]...
//
// `products` times one linear layer from 1024 to OUT features (default: 1024)
// after dropout, forward and backward, for 256 examples and 16 subnetworks of
// which each drops half of the features, unless told otherwise: by blocks and
// in one product, in turn, for blocks of 32, 64 and 128. Prints a line of JSON
// for each: the medians in ms, and that of their ratio.
//
// `eager` trains a network of linear layers as one writes it with LibTorch, in
// eager mode: 256 subnetworks, 16 at once, whose masks are in memory, SGD with
// momentum and weight decay by LibTorch's operations on lists, and random
// images. Prints a line of JSON as bench/trainer does, which trains the same as
// `fashion-mlp` (2 x 128) or `fashion-mlp-wide` (4 x 1024).
//
// `accuracy` trains `fashion-mlp` with ordinary and with gyro dropout (64
// subnetworks, 16 at once, each trained for an equal share of all epochs) by
// turns, with several seeds. `--set` gives both other hyper-parameters. Prints
// a line of JSON: the shares of validation images that are classified right.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
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
      put_subnetworks(how,
                      subnetworks_of(how, 1, static_cast<std::uint64_t>(i)), 0,
                      1, values);
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

/// A network as one writes it with LibTorch, with all that it trains with.
class eager_network {
public:
  eager_network(std::int64_t hidden, std::int64_t width, std::int64_t block) {
    constexpr std::int64_t pixels = 784, classes = 10, subnetworks = 256;
    for (std::int64_t i = 0; i <= hidden; ++i) {
      const auto in = i == 0 ? pixels : width;
      const auto out = i == hidden ? classes : width;
      for (const auto& shape : {std::vector{out, in}, std::vector{out}})
        weights_.push_back(at::empty(shape)
                             .uniform_(-1 / std::sqrt(in), 1 / std::sqrt(in))
                             .set_requires_grad(true));
      if (i < hidden)
        masks_.push_back(at::rand({subnetworks, width / block})
                           .ge(0.5)
                           .to(at::kFloat)
                           .mul(2)
                           .repeat_interleave(block, 1));
    }
    for (const auto& x : weights_)
      moments_.push_back(at::zeros_like(x));
  }

  /// Trains by a batch.
  /// @param subnetworks of each image
  void train(const at::Tensor& images, const at::Tensor& labels,
             const at::Tensor& subnetworks) {
    auto x = images;
    for (std::size_t i = 0; i < masks_.size(); ++i)
      x = at::linear(x, weights_[2 * i], weights_[2 * i + 1]).relu()
          * masks_[i].index_select(0, subnetworks);
    x = at::linear(x, weights_[weights_.size() - 2], weights_.back());
    at::cross_entropy_loss(x, labels).backward();
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients;
    for (auto& each : weights_)
      gradients.push_back(each.grad());
    at::_foreach_add_(gradients, weights_, 5e-4);
    at::_foreach_mul_(moments_, 0.9);
    at::_foreach_add_(moments_, gradients, 1);
    at::_foreach_add_(weights_, moments_, -0.02);
    for (auto& each : weights_)
      each.mutable_grad().reset();
  }

private:
  std::vector<at::Tensor> weights_, moments_, masks_;
};

void time_eager(const arguments& args) {
  const auto whole = [&](std::size_t index, double otherwise) {
    return static_cast<std::int64_t>(args.number(index, otherwise));
  };
  const auto batch = whole(3, 64), images = whole(4, 8192);
  checked(prepare_device("cpu", 1, default_numerics));
  at::manual_seed(1);
  eager_network network{whole(1, 2), whole(2, 128), whole(6, 1)};
  const auto pixels = at::randn({images, 784});
  const auto labels = at::randint(10, {images}, at::kLong);
  const auto chosen = at::randperm(256, at::kLong).narrow(0, 0, 16);
  const auto epoch = [&] {
    for (const auto& indices : at::randperm(images, at::kLong).split(batch)) {
      const auto slots = at::arange(indices.size(0), at::kLong)
                           .mul(16)
                           .floor_divide(indices.size(0));
      network.train(pixels.index_select(0, indices),
                    labels.index_select(0, indices),
                    chosen.index_select(0, slots));
    }
  };
  epoch(); // does not count
  const auto begin = clock_type::now();
  const auto used = std::clock();
  const auto wanted = std::chrono::duration<double>(args.number(5, 2));
  double epochs = 0;
  for (; clock_type::now() - begin < wanted; ++epochs)
    epoch();
  const std::chrono::duration<double> spent = clock_type::now() - begin;
  const auto processor =
    static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
  const auto iterations =
    epochs * static_cast<double>(images) / static_cast<double>(batch);
  std::printf("{\"iterations_per_second\": %.2f, "
              "\"iterations_per_processor_second\": %.2f}\n",
              iterations / spent.count(), iterations / processor);
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
    "eager HIDDEN WIDTH BATCH IMAGES [SECONDS [BLOCK]] | "
    "accuracy [SEEDS [EPOCHS [IMAGES]]] [--set NAME=VALUE]...";
  const arguments args{argc, argv, 1, usage};
  if (args.words[0] == "products")
    time_products(args);
  else if (args.words[0] == "eager" && args.words.size() >= 5)
    time_eager(args);
  else if (args.words[0] == "accuracy")
    compare_accuracies(args);
  else
    return std::fprintf(stderr, "usage: %s\n", usage), 2;
  return 0;
}
