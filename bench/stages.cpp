// What comes between the steps of a built-in workload: leaving a checkpoint at
// the end of a stage and going on with the next one, and starting from a state
// that is kept on the device, or from a checkpoint that lies in memory, on the
// disk, or behind the network.
//
//   stages WORKLOAD [ROUNDS [DEVICE]]
//
// Default: 11, cpu. Prints medians in ms as JSON. A GPU may still be copying a
// state that is kept when the time has been taken.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint_places.hpp"
#include "hippo/train/recent_checkpoints.hpp"
#include "hippo/train/run.hpp"
#include "workloads.hpp"

namespace {

using namespace hippo;
using clock_type = std::chrono::steady_clock;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
    std::chrono::nanoseconds(clock_type::now().time_since_epoch()).count());
}

double median_ms(std::vector<std::uint64_t> ns) {
  std::sort(ns.begin(), ns.end());
  return static_cast<double>(ns[ns.size() / 2]) * 1e-6;
}

/// Notes for how long nothing is trained between two calls.
class noting_workload final : public workload {
public:
  explicit noting_workload(std::unique_ptr<workload> behind)
    : behind_(std::move(behind)) {}

  void init() override { behind_->init(); }
  void train(const configuration& config, step_t from, step_t to) override {
    if (ended_ns_ != 0)
      between_ns.push_back(now_ns() - ended_ns_);
    behind_->train(config, from, to);
    ended_ns_ = now_ns();
  }
  metrics evaluate() override { return behind_->evaluate(); }
  std::string save() override { return behind_->save(); }
  void load(const std::string& bytes) override { behind_->load(bytes); }
  std::shared_ptr<const workload_state> snapshot() override {
    return behind_->snapshot();
  }
  void restore(const workload_state& x) override { behind_->restore(x); }

  std::vector<std::uint64_t> between_ns;

private:
  std::unique_ptr<workload> behind_;
  std::uint64_t ended_ns_ = 0;
};

std::vector<stop_report> run_lease(workload& work, recent_states& kept,
                                   const lease& x, checkpoint_store& store) {
  std::optional<checkpoint> present;
  lease_control control{x.stops};
  lease_progress progress;
  std::vector<stop_report> result;
  const auto end
    = run(work, present, kept, x, store, "any", control, progress, now_ns,
          [&](const stop_report& report) { result.push_back(report); });
  if (end.failure) {
    std::fprintf(stderr, "%s\n", end.failure->message.c_str());
    std::exit(1);
  }
  return result;
}

/// What it takes to start from a checkpoint that `kept` or else `store` has.
double load_ms(workload& work, recent_states& kept, lease x,
               checkpoint_store& store, const checkpoint& start,
               std::uint64_t rounds) {
  x.start = start;
  x.stages = {x.stages.back()};
  x.stages.front().begin = x.stages.front().end;
  x.stops = {{x.stages.front().end, false, false, true}};
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < rounds; ++i)
    result.push_back(run_lease(work, kept, x, store).back().load_ns);
  return median_ms(std::move(result));
}

} // namespace

int main(int argc, char** argv) {
  const auto rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 11;
  if (argc < 2 || rounds == 0) {
    std::fprintf(stderr, "usage: stages WORKLOAD [ROUNDS [DEVICE]]\n");
    return 2;
  }
  noting_workload work{made(argv[1], 1024, argc > 3 ? argv[3] : "cpu")};
  lease x;
  x.number = 1;
  for (step_t at = 0; at <= rounds; ++at) {
    x.stages.push_back({at, at, at + 1, plain(argv[1], 64)});
    x.stops.push_back({at + 1, false, true});
  }
  checkpoint_places places;
  recent_states kept{recent_checkpoint_bytes_max * 8}, none{0};
  const auto saved = *run_lease(work, kept, x, places.near).back().saved;
  recent_checkpoints recent;
  const auto memory = recent.over(
    "near", std::make_unique<folder_store>(places.root + "/near"));
  const auto bytes = checked(memory->read(saved));
  const auto far = checked(places.far.write(saved.file, bytes));
  std::printf("{\"between\": %.4f, \"kept\": %.4f, \"memory\": %.4f, "
              "\"disk\": %.4f, \"network\": %.4f, \"mib\": %.2f}\n",
              median_ms(work.between_ns),
              load_ms(work, kept, x, places.near, saved, rounds),
              load_ms(work, none, x, *memory, saved, rounds),
              load_ms(work, none, x, places.near, saved, rounds),
              load_ms(work, none, x, places.far, far, rounds),
              static_cast<double>(saved.bytes) / (1 << 20));
}
