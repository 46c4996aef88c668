// A workload of your own: logistic regression tells the points of two half
// moons apart. A step is an epoch. Copy this file and change it.

#include <array>
#include <cmath>
#include <numeric>

#include <hippo/base/hash.hpp>
#include <hippo/base/number.hpp>
#include <hippo/train/workload.hpp>

namespace {

constexpr std::uint64_t training_points = 400, all_points = 600;
using features = std::array<double, 6>;

struct two_moons : hippo::workload {
  explicit two_moons(const hippo::workload_spec& spec)
    : seed_(hippo::to_text(spec.options.at("seed"))) {
    for (std::uint64_t i = 0; i < all_points; ++i) { // on half circles
      const double side = i % 2 ? 1 : -1, angle = M_PI * random("angle", i);
      const double x = side * (std::cos(angle) - 0.75 + random("x", i) / 2);
      const double y = side * (std::sin(angle) - 0.5 + random("y", i) / 2);
      points_[i] = {{x, y, x * x * x, x * x * y, x * y * y, y * y * y}, side};
    }
  }
  void init() override { now_ = {}; }
  void train(const hippo::configuration& config, hippo::step_t from,
             hippo::step_t to) override {
    for (auto step = from; step < to; ++step) {
      const double lr = std::get<double>(config.at("lr").at(step));
      const double momentum = std::get<double>(config.at("momentum").at(step));
      const double batch = std::get<double>(config.at("batch_size").at(step));
      for (std::uint64_t i = 0; i < training_points;) {
        features gradient{};
        for (int k = 0; k < batch && i < training_points; ++k, ++i) {
          const auto drawn = random("draw", i, step) * training_points;
          const auto& [x, side] = points_[static_cast<std::size_t>(drawn)];
          const double slope = -side / (1 + std::exp(side * score(x)));
          for (std::size_t j = 0; j < x.size(); ++j)
            gradient[j] += slope * x[j] / batch;
        }
        for (std::size_t j = 0; j < gradient.size(); ++j) {
          now_.velocity[j] = momentum * now_.velocity[j] + gradient[j];
          now_.weights[j] -= lr * now_.velocity[j];
        }
      }
    }
  }
  hippo::metrics evaluate() override {
    double right = 0, loss = 0, count = all_points - training_points;
    for (auto i = training_points; i < all_points; ++i) {
      const double margin = points_[i].side * score(points_[i].x);
      right += margin > 0 ? 1 : 0;
      loss += std::log1p(std::exp(-margin));
    }
    return {{"val_accuracy", right / count}, {"val_loss", loss / count}};
  }
  std::string save() override { // everything that a later step reads
    return {reinterpret_cast<const char*>(&now_), sizeof(now_)};
  }
  void load(const std::string& bytes) override {
    if (bytes.size() != sizeof(now_))
      throw std::runtime_error("this is no state of two-moons");
    bytes.copy(reinterpret_cast<char*>(&now_), sizeof(now_));
  }

private:
  /// Uniform in [0, 1): a function of the seed and an address, nothing else.
  double random(const std::string& use, std::uint64_t i, hippo::step_t t = 0) {
    const auto at = seed_ + use + std::to_string(i) + ',' + std::to_string(t);
    const auto x = hippo::hash_bytes(at.data(), at.size());
    return 0x1p-53 * static_cast<double>(x >> 11);
  }
  double score(const features& x) {
    return std::inner_product(x.begin(), x.end(), now_.weights.begin(), 0.0);
  }
  struct point { features x; double side; };
  std::string seed_;
  std::array<point, all_points> points_{};
  struct { features weights, velocity; } now_{};
};

} // namespace

HIPPO_WORKLOADS(registry) {
  hippo::workload_descriptor x{.name = "two-moons"};
  x.metrics = {{"val_accuracy", hippo::direction::maximize, "share right"},
               {"val_loss", hippo::direction::minimize, "mean log loss"}};
  x.hyper_parameters = {
    {.name = "lr", .fallback = 0.1, .min = 0, .min_excluded = true},
    {.name = "momentum", .fallback = 0.9, .min = 0, .max = 0.999},
    {.name = "batch_size", .fallback = 16.0, .min = 1, .max = training_points,
     .integer = true, .affects_speed = true}};
  x.options = {{.name = "seed", .fallback = 1.0, .min = 0, .integer = true}};
  registry.add(x, [](const hippo::workload_spec& spec) {
    return std::make_unique<two_moons>(spec);
  });
}
