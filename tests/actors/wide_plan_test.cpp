// What studies of many pieces take of a service whose memory is limited.

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"
#include "base/resident.hpp"
#include "service.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using test::resident_kb;

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t limit = 96 * mib;

/// A study of trials with so many pieces each, no two alike.
std::string wide_study(const std::string& name, const std::string& workload,
                       int pieces) {
  std::string list = "[0, {uniform: [0.1, 0.9]}]";
  for (int i = 1; i < pieces; ++i)
    list += ", [" + std::to_string(i) + ", 0." + std::to_string(1 + i % 2)
            + "]";
  const auto steps = std::to_string(pieces);
  return "study: " + name + "\nworkload: {name: " + workload
         + "}\nobjective: {metric: value}\neval_every: " + steps
         + "\nmax_steps: " + steps + "\nspace: {lr: {piecewise: [" + list
         + "]}}\nalgorithm: random\nbudget: {trials: 5000}\n";
}

struct WidePlan : test::actor_test {
  WidePlan() : workloads(3, test::model_workload()) {
    workloads[1].name = "second";
    workloads[2].name = "third";
    store = std::move(*state_writer::open(where.path));
    service_options options;
    options.store = store;
    options.detached = false;
    options.coordinator.workloads = workloads;
    options.coordinator.keep_ended = false;
    options.coordinator.memory_bytes_max = limit;
    options.coordinator.cold_folder = where.path;
    const auto actors = *spawn_service(sys, std::move(options),
                                       caf::actor_cast<observer_actor>(self));
    keep(actors.journal);
    keep(actors.pool);
    boss = keep(actors.coordinator);
    run();
    self->send(boss, go_atom::value);
    run();
    std::ofstream{"/proc/self/clear_refs"} << 5; // the peak begins here
    before = resident_kb("VmRSS");
  }

  caf::expected<study_id> submit(const std::string& text) {
    auto read = admit_study(text, "test.yaml", workloads);
    EXPECT_TRUE(read.study) << to_text(read.errors.at(0));
    return ask<study_id>(boss, submit_atom::value,
                         study_submission{*read.study, {}});
  }

  void look() {
    for (int i = 0; i < 3; ++i) {
      sched.advance_time(1s);
      run();
    }
  }

  /// In MiB.
  [[nodiscard]] long taken(const char* field) const {
    return (resident_kb(field) - before) / 1024;
  }

  const temporary_folder where;
  std::vector<workload_descriptor> workloads;
  std::shared_ptr<state_writer> store;
  coordinator_actor boss;
  long before = 0;
};

TEST_F(WidePlan, AllTogetherStayWithinTheLimitAndGiveBackWhatTheyTook) {
  int accepted = 0;
  std::string refused;
  for (const auto* workload : {"model", "second", "third"})
    for (int i = 0; i < 2; ++i) {
      const auto id = submit(wide_study("wide" + std::to_string(accepted),
                                        workload, 4000));
      if (id)
        ++accepted;
      else
        refused = sys.render(id.error());
      look();
    }
  std::printf("%d studies of 4000 pieces take %ld MiB, %ld at most, of %llu\n",
              accepted, taken("VmRSS"), taken("VmHWM"),
              static_cast<unsigned long long>(limit / mib));
  EXPECT_GE(accepted, 3);
  EXPECT_NE(refused.find("--memory-limit"), std::string::npos) << refused;
  EXPECT_LE(taken("VmHWM"), static_cast<long>(limit / mib) + 100);
  EXPECT_LE(taken("VmRSS"), static_cast<long>(limit / mib));
  for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(accepted); ++i) {
    const auto study = ask<study_actor>(boss, find_atom::value, study_id{i});
    ASSERT_TRUE(study);
    EXPECT_TRUE(ask<command_answer>(
      *study, command_atom::value,
      study_command{study_command::verb::cancel, 0, 0, "", 0}));
  }
  // What is idle goes when memory is short.
  look();
  EXPECT_TRUE(submit(wide_study("again", "model", 4000)));
  look();
  std::printf("after all were cancelled and one has come again: %ld MiB\n",
              taken("VmRSS"));
  EXPECT_LE(taken("VmRSS"), static_cast<long>(limit / mib) / 2);
}

} // namespace
} // namespace hippo
