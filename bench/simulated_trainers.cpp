// Trainers that only wait: what a service costs, without what training does.
//
//   simulated_trainers HOST:PORT COUNT STEP_SECONDS
//
// Registers so many trainers with a service, all in this process, each with a
// thread that trains `fashion-mlp`: a step takes as long as said, give or take
// a half, and metrics are drawn from the hyper-parameters. Runs until the
// service has ended; then it prints, as a line of JSON, for how many seconds
// trainers trained, and waited between two steps: from the first to the last
// step of each, added up.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <spdlog/spdlog.h>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/sequence/configuration.hpp"
#include "network/service_link.hpp"
#include "system_config.hpp"
#include "trainer.hpp"
#include "training_engine.hpp"

namespace {

using namespace hippo;

using clock_type = std::chrono::steady_clock;

std::atomic<std::int64_t> busy_ns{0};
std::atomic<std::int64_t> idle_ns{0};

std::int64_t ns(clock_type::duration x) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(x).count();
}

/// Its state is a hash of all that it was trained with.
class waiting_workload final : public workload {
public:
  explicit waiting_workload(double step_seconds)
    : step_seconds_(step_seconds) {}

  void init() override { state_ = 0; }

  void train(const configuration& config, step_t from, step_t to) override {
    const auto begin = clock_type::now();
    if (ended_ != clock_type::time_point{})
      idle_ns += ns(begin - ended_);
    for (auto at = from; at < to; ++at) {
      for (const auto& [name, shape] : config) {
        state_ = hash_bytes(name.data(), name.size(), state_);
        const auto value = shape.at(at);
        if (const auto* x = std::get_if<double>(&value))
          state_ = hash_bytes(x, sizeof(*x), state_);
        else if (const auto* word = std::get_if<std::string>(&value))
          state_ = hash_bytes(word->data(), word->size(), state_);
      }
      if (step_seconds_ > 0)
        std::this_thread::sleep_for(
          std::chrono::duration<double>(step_seconds_ * (0.5 + value())));
    }
    ended_ = clock_type::now();
    busy_ns += ns(ended_ - begin);
  }

  metrics evaluate() override {
    return {{"val_accuracy", value()},
            {"val_loss", 1 - value()},
            {"train_loss", 1 - value()}};
  }

  std::string save() override {
    return {reinterpret_cast<const char*>(&state_), sizeof(state_)};
  }

  void load(const std::string& bytes) override {
    bytes.copy(reinterpret_cast<char*>(&state_), sizeof(state_));
  }

private:
  /// A number of [0, 1).
  double value() const { return static_cast<double>(state_ >> 11) * 0x1p-53; }

  double step_seconds_;
  clock_type::time_point ended_; ///< of the last step
  std::uint64_t state_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  const auto where = parse_endpoint(argc > 1 ? argv[1] : "");
  const auto count = argc > 2 ? std::atoi(argv[2]) : 0;
  const auto step_seconds = argc > 3 ? std::atof(argv[3]) : -1;
  if (!where || count < 1 || step_seconds < 0) {
    std::fprintf(stderr,
                 "usage: simulated_trainers HOST:PORT COUNT STEP_SECONDS\n");
    return 2;
  }
  spdlog::set_level(spdlog::level::off);
  system_config config;
  caf::actor_system system{config};
  service_link link{system, nullptr};
  caf::scoped_actor guard{system};
  std::vector<training_actor> trainers;
  for (int i = 0; i < count; ++i) {
    workload_registry registry;
    hello self;
    for (const auto& x : built_in_workloads())
      if (x.name == "fashion-mlp") {
        registry.add(x, [step_seconds](const workload_spec&) {
          return std::make_unique<waiting_workload>(step_seconds);
        });
        self.workloads.emplace(x.name, x.version);
      }
    self.host = "simulated";
    self.process_id = static_cast<std::uint64_t>(::getpid());
    self.device = "none";
    self.threads = 1;
    trainers.push_back(system.spawn(
      trainer, registrar_actor{}, std::move(self),
      std::make_shared<training_engine>(std::move(registry), "none"),
      [] { return std::string{}; }));
    const auto service
      = link.connect(*where, caf::actor_cast<trainer_actor>(trainers.back()));
    if (!service) {
      std::fprintf(stderr, "%s\n", service.failure().message.c_str());
      return 1;
    }
    guard->monitor(service->service);
    caf::anon_send(trainers.back(), connect_atom::value,
                   caf::actor_cast<registrar_actor>(service->service));
  }
  guard->receive([](const caf::down_msg&) {});
  std::printf("{\"busy\": %.3f, \"idle\": %.3f}\n",
              static_cast<double>(busy_ns) * 1e-9,
              static_cast<double>(idle_ns) * 1e-9);
  std::fflush(stdout);
  std::_Exit(0);
}
