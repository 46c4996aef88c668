// What it costs that a result is durable before anybody hears of it: commits of
// the state folder against appending as many bytes to a file, each in groups
// of several sizes, in turns; and what the database takes and how fast it is
// read again. Prints a line of JSON.
//
//   store [RESULTS] [FOLDER]      default: 20000, the folder for temporary
//   files
//
// A result is what a merger writes for one measured step: two metrics, the
// event that its study hears, the trial's row; a node for every tenth, and a
// checkpoint. A group is what is committed together: 1 is a client that waits
// for each result.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checked.hpp"
#include "hippo/store/state_writer.hpp"

namespace {

using namespace hippo;
namespace fs = std::filesystem;
using clock_type = std::chrono::steady_clock;

const std::string key = "fashion-cnn;data.train=50000;seed=1";

/// Steps of a node, and results of a trial.
constexpr std::uint64_t steps_per_node = 10;

/// A result of 150 bytes: about what its rows take.
constexpr std::size_t bytes_per_result = 150;

double seconds(const std::function<void()>& f) {
  const auto begin = clock_type::now();
  f();
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Adds what one measured step writes.
void add_result(std::vector<journal_record>& out, std::uint64_t number) {
  const node_id node{number / steps_per_node + 1};
  const auto step = number % steps_per_node + 1;
  const auto trial = number / steps_per_node;
  if (step == 1) {
    configuration config;
    config["lr"] = form::constant(0.001 * static_cast<double>(number_of(node)));
    config["batch_size"] = form::constant(64);
    config["momentum"] = form::constant(0.9);
    out.emplace_back(
      node_added{key, {node, root_node, 0, 0, std::move(config)}});
  }
  const metrics values{{"val_accuracy", 0.9 + 1e-6 * static_cast<double>(step)},
                       {"val_loss", 1e-3 * static_cast<double>(number)}};
  out.emplace_back(result_added{key, {node, step, values, "cpu amd avx512"}});
  out.emplace_back(
    event_added{study_id{1}, key, trial_measured{trial, node, step, values}});
  stored_trial row;
  row.trial = trial;
  row.state = trial_state::running;
  row.params = step == 1 ? R"({"lr": 0.1, "batch_size": 64})" : "";
  row.asked_to = steps_per_node;
  row.steps = step;
  row.best = stored_best{step, values.begin()->second};
  out.emplace_back(trial_saved{study_id{1}, std::move(row)});
  if (step == steps_per_node)
    out.emplace_back(checkpoint_added{
      key, {node, step, {"n" + to_string(node), 1'000'000,
                         number}}});
}

/// @returns results per second
double commit_all(state_writer& store, std::uint64_t results,
                  std::uint64_t group) {
  const auto spent = seconds([&] {
    for (std::uint64_t i = 0; i < results; i += group) {
      std::vector<journal_record> records;
      for (auto k = i; k < std::min(i + group, results); ++k)
        add_result(records, k);
      checked(store.commit(records));
    }
  });
  return static_cast<double>(results) / spent;
}

/// @returns results per second of a file that is synced after each group
double append_all(const std::string& path, std::uint64_t results,
                  std::uint64_t group) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0)
    std::exit(1);
  const std::string bytes(bytes_per_result * group, 'x');
  const auto spent = seconds([&] {
    for (std::uint64_t i = 0; i < results; i += group)
      if (::write(fd, bytes.data(), bytes.size()) < 0 || ::fdatasync(fd) != 0)
        std::exit(1);
  });
  ::close(fd);
  return static_cast<double>(results) / spent;
}

std::unique_ptr<state_writer> open_with_study(const std::string& path) {
  auto store = checked(state_writer::open(path));
  stored_study study;
  study.id = study_id{1};
  study.name = "bench";
  study.metric = "val_accuracy";
  checked(store->commit({study_saved{study}}));
  return store;
}

} // namespace

int main(int argc, char** argv) {
  const auto results = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  auto root =
    (argc > 2 ? fs::path{argv[2]} : fs::temp_directory_path()).string()
    + "/hippo_XXXXXX";
  if (::mkdtemp(root.data()) == nullptr || results == 0) {
    std::fprintf(stderr, "usage: store [RESULTS] [FOLDER]\n");
    return 2;
  }
  std::printf("{\"groups\": [");
  for (const std::uint64_t group : {1, 10, 100, 1000}) {
    // Small groups are slow: fewer results say as much.
    const auto count = std::min<std::uint64_t>(results, group * 500);
    const auto name = root + '/' + std::to_string(group);
    double rate = 0;
    {
      const auto store = open_with_study(name);
      rate = commit_all(*store, count, group);
    }
    const auto bound = append_all(name + ".txt", count, group);
    std::printf("%s{\"group\": %llu, \"results_per_second\": %.0f, "
                "\"file_results_per_second\": %.0f}",
                group == 1 ? "" : ", ", static_cast<unsigned long long>(group),
                rate, bound);
  }
  const auto whole = root + "/whole";
  {
    const auto store = open_with_study(whole);
    commit_all(*store, results, 1000);
  }
  const auto bytes = fs::file_size(whole + "/hippo.db");
  const auto store = checked(state_writer::open(whole));
  const auto rate = [&](double spent) {
    return static_cast<double>(results) / spent;
  };
  const auto loaded = rate(seconds([&] { checked(store->load_plan(key)); }));
  const auto heard = rate(seconds([&] {
    for (std::uint64_t after = 0;;) {
      const auto x = checked(store->load_events(study_id{1}, after, 10'000));
      if (x.empty())
        return;
      after = x.back().id;
    }
  }));
  std::printf("], \"bytes\": %.0f, \"plan_results_per_second\": %.0f, "
              "\"events_per_second\": %.0f}\n",
              static_cast<double>(bytes) / static_cast<double>(results), loaded,
              heard);
  fs::remove_all(root);
}
