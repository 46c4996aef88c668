// hippo-simulation: whole services in virtual time, each from a seed.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "hippo/service/trace/replay.hpp"
#include "simulation/world.hpp"
#include "train/temporary_folder.hpp"

namespace hippo::simulation {
namespace {

struct arguments {
  std::uint64_t first = 1;
  std::uint64_t last = 0; ///< 0: only the first
  std::uint64_t jobs = 1;
  std::vector<std::string> settings;
  std::string record; ///< file for the events of cores; empty: none
  std::string replay; ///< likewise, that are done again
  bool trace = false;
  bool shrink = true;
  bool check_replay = false; ///< whether each seed's events are done again
};

/// What the processes that work on the seeds say of themselves.
struct progress {
  std::atomic<std::uint64_t> now;      ///< seed
  std::atomic<std::uint64_t> done;
  std::atomic<std::uint64_t> failed;
  std::atomic<std::uint64_t> messages;
  std::atomic<std::uint64_t> results;
  std::atomic<std::uint64_t> lives;
  std::atomic<std::uint64_t> replayed; ///< events
};

/// Where the processes of this run have their folders.
std::string folders;

std::string folder_of(pid_t process) {
  return folders + '/' + std::to_string(process);
}

std::string scratch() {
  return folder_of(::getpid());
}

scenario scenario_of(std::uint64_t seed, const arguments& x) {
  auto result = scenario::draw(seed);
  for (const auto& y : x.settings)
    result.set(y);
  return result;
}

/// @param record where the cores' events are written; empty: nowhere
outcome simulate(const scenario& x, memory_disk& disk, bool trace,
                 const std::string& record = {}) {
  std::function<void(const std::string&)> out;
  if (trace)
    out = [](const std::string& text) { std::cout << text << '\n'; };
  world simulated{x, disk, scratch(), out};
  if (record.empty())
    return simulated.run();
  auto log = trace_log::open(record);
  if (!log)
    return {.violation = log.failure().message};
  simulated.record_to(std::move(*log));
  return simulated.run();
}

/// Replays a trace. @returns the first difference, or why it cannot be read;
/// empty: none
std::string replay(const std::string& path, trace_replay& came) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return "cannot read " + path;
  auto done = replay_trace(in);
  if (!done)
    return path + ", " + done.failure().message;
  came = std::move(*done);
  return came.difference.empty() ? std::string{}
                                 : path + ", " + came.difference;
}

int replay_one(const std::string& path) {
  trace_replay came;
  const auto why = replay(path, came);
  std::printf("%llu lines, %llu cores, %llu events with equal effects, %llu "
              "left out\n",
              static_cast<unsigned long long>(came.lines),
              static_cast<unsigned long long>(came.cores),
              static_cast<unsigned long long>(came.events),
              static_cast<unsigned long long>(came.left_out));
  if (why.empty())
    return 0;
  std::cout << why << '\n';
  return 1;
}

/// Whether a scenario fails, or takes its process along. One that was made so
/// small that a study is none any more shows nothing.
bool fails(const scenario& x) {
  const auto child = ::fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stderr))
      std::_Exit(2);
    memory_disk disk;
    const auto why = simulate(x, disk, false).violation;
    std::_Exit(why.empty() || why.starts_with(refused_study) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::filesystem::remove_all(folder_of(child));
  return status != 0;
}

void show_failure(const scenario& x, const std::string& why, bool shrink) {
  std::cout << "seed " << x.seed << ": " << why << '\n';
  const auto smaller = shrink && fails(x) ? shrunk(x, fails) : x;
  std::cout << "  see it by: hippo-simulation " << smaller.options()
            << " --trace" << std::endl;
}

/// Works on the seeds `first`, `first + jobs`, ...
int work(const arguments& x, std::uint64_t first, progress& told) {
  memory_disk disk;
  for (auto seed = first; seed <= x.last; seed += x.jobs) {
    told.now = seed;
    const auto what = scenario_of(seed, x);
    const auto record = x.check_replay ? scratch() + ".trace" : std::string{};
    auto came = simulate(what, disk, false, record);
    if (trace_replay again; x.check_replay) {
      if (came.violation.empty())
        came.violation = replay(record, again);
      told.replayed += again.events;
      std::filesystem::remove(record);
    }
    ++told.done;
    told.messages += came.messages;
    told.results += came.results;
    told.lives += came.lives;
    if (came.violation.empty())
      continue;
    ++told.failed;
    show_failure(what, came.violation, x.shrink);
  }
  return 0;
}

int run_many(const arguments& x) {
  const auto begin = std::chrono::steady_clock::now();
  auto* const shared = static_cast<progress*>(
    ::mmap(nullptr, sizeof(progress) * x.jobs, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  const auto start = [&](std::uint64_t i, std::uint64_t first) {
    const auto child = ::fork();
    if (child == 0)
      std::_Exit(work(x, first, shared[i]));
    children[i] = child;
  };
  children.resize(x.jobs);
  for (std::uint64_t i = 0; i < x.jobs; ++i)
    start(i, x.first + i);
  for (auto left = x.jobs; left > 0;) {
    int status = 0;
    const auto ended = ::wait(&status);
    const auto i = static_cast<std::uint64_t>(
      std::find(children.begin(), children.end(), ended) - children.begin());
    if (status == 0) {
      --left;
      continue;
    }
    // A seed has taken the process along: it goes on with the next one. What
    // it has left is not to be found by another with its number.
    std::filesystem::remove_all(folder_of(ended));
    auto& told = shared[i];
    ++told.done;
    ++told.failed;
    show_failure(scenario_of(told.now, x),
                 "the process ended with signal "
                   + std::to_string(WTERMSIG(status)),
                 x.shrink);
    start(i, told.now + x.jobs);
  }
  std::uint64_t done = 0, failed = 0, messages = 0, results = 0, lives = 0;
  std::uint64_t replayed = 0;
  for (std::uint64_t i = 0; i < x.jobs; ++i) {
    done += shared[i].done;
    failed += shared[i].failed;
    messages += shared[i].messages;
    results += shared[i].results;
    lives += shared[i].lives;
    replayed += shared[i].replayed;
  }
  const std::chrono::duration<double> took
    = std::chrono::steady_clock::now() - begin;
  std::printf("%llu seeds, %llu failed; %llu messages, %llu results equal to "
              "training alone, %llu lives of services; %.1f s, %.0f seeds/s\n",
              static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(failed),
              static_cast<unsigned long long>(messages),
              static_cast<unsigned long long>(results),
              static_cast<unsigned long long>(lives), took.count(),
              static_cast<double>(done) / took.count());
  if (x.check_replay)
    std::printf("%llu events done again with equal effects\n",
                static_cast<unsigned long long>(replayed));
  return failed == 0 ? 0 : 1;
}

int run_one(const arguments& x) {
  if (x.trace) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "", std::make_shared<spdlog::sinks::stdout_sink_mt>()));
    spdlog::set_pattern("             [%l] %v");
  }
  memory_disk disk;
  const auto what = scenario_of(x.first, x);
  if (x.trace)
    for (const auto& field : scenario::fields())
      if (what.*field.value != 0)
        std::cout << field.name << '=' << what.*field.value << ' ';
  std::cout << std::endl;
  const auto came = simulate(what, disk, x.trace, x.record);
  std::printf("%llu messages, %llu studies, %llu results, %llu lives, %.1f "
              "virtual seconds\n",
              static_cast<unsigned long long>(came.messages),
              static_cast<unsigned long long>(came.studies),
              static_cast<unsigned long long>(came.results),
              static_cast<unsigned long long>(came.lives), came.seconds);
  if (came.violation.empty())
    return 0;
  show_failure(what, came.violation, false);
  return 1;
}

constexpr auto help = R"(hippo-simulation: whole services in virtual time

  --seed N          one seed
  --trace           shows what happens, in order (with --seed)
  --seeds A..B      many
  --jobs N          by so many processes (1)
  --record FILE     writes the events of the cores (with --seed)
  --check-replay    does the events of each seed again (with --seeds)
  --replay FILE     does the events of a file again, one of --record or of
                    HIPPO_TRACE, and names the first line that differs
  --set NAME=VALUE  a number of the scenario that is not drawn, see below
  --no-shrink       leaves seeds that fail as large as they are

What a seed draws, and what may be set:
)";

int usage(const std::string& why) {
  std::cerr << "hippo-simulation: " << why << "; --help says more\n";
  return 2;
}

int run(int argc, char** argv) {
  arguments x;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help") {
      std::cout << help;
      for (const auto& field : scenario::fields())
        std::cout << "  " << field.name
                  << std::string(16 - std::string{field.name}.size(), ' ')
                  << field.meaning << '\n';
      return 0;
    }
    if (option == "--trace") {
      x.trace = true;
      continue;
    }
    if (option == "--check-replay") {
      x.check_replay = true;
      continue;
    }
    if (option == "--no-shrink") {
      x.shrink = false;
      continue;
    }
    if (i + 1 == argc)
      return usage(option + " lacks a value");
    const std::string value = argv[++i];
    if (option == "--seed") {
      x.first = std::stoull(value);
    } else if (option == "--seeds") {
      const auto dots = value.find("..");
      if (dots == std::string::npos)
        return usage("--seeds wants A..B");
      x.first = std::stoull(value.substr(0, dots));
      x.last = std::stoull(value.substr(dots + 2));
    } else if (option == "--jobs") {
      x.jobs = std::max<std::uint64_t>(1, std::stoull(value));
    } else if (option == "--record") {
      x.record = value;
    } else if (option == "--replay") {
      x.replay = value;
    } else if (option == "--set") {
      if (auto why = scenario{}.set(value))
        return usage(*why);
      x.settings.push_back(value);
    } else {
      return usage("there is no " + option);
    }
  }
  spdlog::set_level(x.trace ? spdlog::level::info : spdlog::level::off);
  if (!x.replay.empty())
    return replay_one(x.replay);
  const temporary_folder own{std::filesystem::exists("/dev/shm")
                               ? "/dev/shm"
                               : std::filesystem::temp_directory_path()};
  folders = own.path;
  return x.last == 0 ? run_one(x) : run_many(x);
}

} // namespace
} // namespace hippo::simulation

int main(int argc, char** argv) { return hippo::simulation::run(argc, argv); }
