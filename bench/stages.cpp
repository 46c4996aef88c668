// What comes between the steps of a built-in workload: leaving a checkpoint at
// the end of a stage and going on with the next one; starting a sibling from a
// checkpoint that the device has just left; and starting from one that lies in
// memory, on the disk, or behind the network.
//
//   stages WORKLOAD [ROUNDS [DEVICE [BATCH_SIZE [EXAMPLES]]]]
//          [--option NAME=VALUE]... [--set NAME=VALUE]...
//
// Trains on `cpu` with a batch of 64 from 1024 examples and measures eleven
// times, unless told otherwise. Prints medians in ms as JSON. A GPU may still be
// copying a state that is kept when the time of a fork has been taken.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint_places.hpp"
#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/checkpoint/recent_checkpoints.hpp"
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

/// A clock that remembers when it was asked. `run` asks it right before and
/// right after each call of a workload: so one knows when training stood still
/// without standing between `run` and the workload.
class remembering_clock {
public:
  std::uint64_t operator()() { return asked_.emplace_back(now_ns()); }

  /// Returns when the calls that trained began and ended, one for each stop.
  /// REQUIRES: each of `stops` came after one such call
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>>
  trainings(const std::vector<stop_report>& stops) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    std::size_t i = 1;
    for (const auto& x : stops) {
      while (i < asked_.size() && asked_[i] - asked_[i - 1] != x.train_ns)
        ++i;
      if (i == asked_.size()) {
        std::fprintf(stderr, "no call took as long as training did\n");
        std::exit(1);
      }
      result.emplace_back(asked_[i - 1], asked_[i]);
      i += 2;
    }
    return result;
  }

private:
  std::vector<std::uint64_t> asked_;
};

/// Room for the states of a few rounds.
constexpr std::uint64_t kept_bytes_max = std::uint64_t{8} << 30;

/// A workload, the checkpoint whose state it is in, and the states that it
/// keeps.
class device_under_test {
public:
  device_under_test(std::unique_ptr<workload> work, std::string name)
    : work_(std::move(work)), name_(std::move(name)) {}

  /// Forgets which state the workload is in, and all others.
  void forget() {
    present_.reset();
    kept_.clear();
  }

  /// Trains a lease, or ends the program.
  std::vector<stop_report> run_lease(
    const lease& x, checkpoint_store& store,
    const std::function<std::uint64_t()>& clock = now_ns) {
    lease_control control{x.stops};
    lease_progress progress;
    std::vector<stop_report> result;
    parted_store states{x, store, tables_};
    const auto end =
      run(*work_, present_, kept_, x, states, name_, control, progress, clock,
          [&](const stop_report& report) { result.push_back(report); });
    if (end.failure) {
      std::fprintf(stderr, "%s\n", end.failure->message.c_str());
      std::exit(1);
    }
    return result;
  }

private:
  std::unique_ptr<workload> work_;
  std::string name_;
  std::optional<checkpoint> present_;
  recent_states kept_{kept_bytes_max};
  part_tables tables_;
};

/// What it takes to start from a checkpoint that `store` has.
double load_ms(device_under_test& device, lease x, checkpoint_store& store,
               const checkpoint& start, std::uint64_t rounds) {
  x.start = start;
  x.stages = {x.stages.back()};
  x.stages.front().begin = x.stages.front().end;
  x.stops = {{x.stages.front().end, false, false, true}};
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    device.forget();
    result.push_back(device.run_lease(x, store).back().load_ns);
  }
  return median_ms(std::move(result));
}

/// What is between two stages of a path, of which the first one leaves a
/// checkpoint.
double between_ms(device_under_test& device, const lease& x,
                  checkpoint_store& store, checkpoint& last) {
  remembering_clock clock;
  const auto stops = device.run_lease(x, store, std::ref(clock));
  last = *stops.back().saved;
  const auto calls = clock.trainings(stops);
  std::vector<std::uint64_t> result;
  for (std::size_t i = 1; i < calls.size(); ++i)
    result.push_back(calls[i].first - calls[i - 1].second);
  return median_ms(std::move(result));
}

/// What it takes to fork: until a sibling trains that starts from a checkpoint
/// which this device has left on its way, and has trained on from since.
double fork_ms(device_under_test& device, const lease& path,
               checkpoint_store& store, checkpoint start,
               std::uint64_t rounds) {
  lease first = path, sibling = path;
  auto at = path.stages.back().end;
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    first.number = lease_id{number_of(sibling.number) + 1};
    first.start = start;
    first.stages = {{node_id{at}, at, at + 2, path.stages.back().config}};
    first.stops = {{at + 1, false, true}, {at + 2, false, true}};
    sibling.number = lease_id{number_of(first.number) + 1};
    sibling.start = *device.run_lease(first, store).front().saved;
    sibling.stages = {
      {node_id{at + 1}, at + 1, at + 2, path.stages.back().config}};
    sibling.stops = {{at + 2, false, true}};
    at += 2;
    remembering_clock clock;
    const auto begin = now_ns();
    const auto stops = device.run_lease(sibling, store, std::ref(clock));
    result.push_back(clock.trainings(stops).front().first - begin);
    start = *stops.back().saved;
  }
  return median_ms(std::move(result));
}

} // namespace

int main(int argc, char** argv) {
  const arguments args{
    argc, argv, 1,
    "stages WORKLOAD [ROUNDS [DEVICE [BATCH_SIZE [EXAMPLES]]]] "
    "[--option NAME=VALUE]... [--set NAME=VALUE]..."};
  const auto& name = args.words[0];
  const auto rounds
    = static_cast<std::uint64_t>(std::max(args.number(1, 11), 1.0));
  const auto where = args.word(2, "cpu");
  const auto config = plain(name, args.number(3, 64), args.values);
  device_under_test device{
    made(name, args.number(4, 1024), where, args.options), where};
  lease x;
  x.number = lease_id{1};
  for (step_t at = 0; at <= rounds; ++at) {
    x.stages.push_back({node_id{at}, at, at + 1, config});
    x.stops.push_back({at + 1, false, true});
  }
  checkpoint_places places;
  recent_checkpoints recent;
  const auto memory = recent.over(
    "near", std::make_unique<folder_store>(places.root + "/near"));
  checkpoint saved;
  const auto between = between_ms(device, x, *memory, saved);
  const auto fork = fork_ms(device, x, *memory, saved, rounds);
  const auto bytes = checked(read_whole(*memory, saved));
  const auto far = checked(places.far.write(saved.file, memory_source{bytes}));
  std::printf("{\"between\": %.4f, \"fork\": %.4f, \"memory\": %.4f, "
              "\"disk\": %.4f, \"network\": %.4f, \"mib\": %.2f}\n",
              between, fork, load_ms(device, x, *memory, saved, rounds),
              load_ms(device, x, places.near, saved, rounds),
              load_ms(device, x, places.far, far, rounds),
              static_cast<double>(saved.bytes) / (1 << 20));
}
