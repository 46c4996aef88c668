// Memory runs out, or an actor dies, at any step of a study's start: whoever
// has submitted it is told, others notice nothing, and it can be tried again.

#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "actors/stored_service.hpp"
#include "fault.hpp"

namespace {

/// While it is above 0, so many allocations are left before one fails.
std::size_t allocations_left = 0;
/// Smaller ones are not counted: the actor system's own.
constexpr std::size_t counted_bytes_min = 512;

void* allocate(std::size_t bytes) {
  if (allocations_left > 0 && bytes >= counted_bytes_min
      && --allocations_left == 0)
    throw std::bad_alloc{};
  if (auto* result = std::malloc(bytes == 0 ? 1 : bytes))
    return result;
  throw std::bad_alloc{};
}

} // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* x) noexcept { std::free(x); }
void operator delete[](void* x) noexcept { std::free(x); }
void operator delete(void* x, std::size_t) noexcept { std::free(x); }
void operator delete[](void* x, std::size_t) noexcept { std::free(x); }

namespace hippo {
namespace {

using namespace test;
using namespace std::chrono_literals;

/// Trials of many pieces, so that something of its start is large.
std::string wide_study(const std::string& workload) {
  std::string pieces = "[0, {choice: [0.3, 0.4, 0.5, 0.6]}]";
  for (int i = 1; i < 9; ++i)
    pieces += ", [" + std::to_string(i) + ", 0." + std::to_string(i) + "1]";
  return "study: wide\nworkload: {name: " + workload
         + "}\nobjective: {metric: value}\nmax_steps: 9\n"
           "space: {lr: {piecewise: ["
         + pieces + "]}}\nalgorithm: grid\n";
}

enum class part { study, merger };

/// Whether a job is of that part of the service.
bool is_of(caf::resumable* job, part what) {
  auto* const x = static_cast<caf::scheduled_actor*>(job);
  switch (what) {
    case part::study: {
      auto* const y
        = dynamic_cast<study_actor::stateful_base<study_state>*>(x);
      return y != nullptr && y->state.told.id() != study_id{1};
    }
    case part::merger:
      return dynamic_cast<merger_actor::stateful_base<merger_state>*>(x)
             != nullptr;
  }
  return false;
}

/// What is done instead of the n-th message of that part, or in it.
struct mishap {
  part whose = part::study;
  bool memory_runs_out = false; ///< else it dies before it has the message
  std::size_t at = 0;           ///< which message, or which allocation
};

/// Delivers all messages. @returns whether the mishap came
bool run_with(stored_service& x, mishap what) {
  bool came = false;
  while (x.sched.has_job()) {
    if (came || !is_of(x.sched.jobs[0], what.whose)) {
      x.sched.run_once();
      continue;
    }
    if (what.memory_runs_out) {
      allocations_left = what.at;
      x.sched.run_once();
      came = what.at > 0 && allocations_left == 0;
      what.at = std::exchange(allocations_left, 0);
    } else if (--what.at == 0) {
      came = true;
      auto* const who = static_cast<caf::scheduled_actor*>(x.sched.jobs[0]);
      const auto why
        = fault_of(std::make_exception_ptr(std::bad_alloc{}), study_id{2});
      who->enqueue(nullptr,
                   caf::make_message_id(caf::message_priority::high),
                   caf::make_message(caf::exit_msg{who->address(), why}),
                   nullptr);
      x.sched.run_once();
    } else {
      x.sched.run_once();
    }
  }
  return came;
}

/// A victim is half through when a study begins to which that happens.
/// @returns whether it came to it
bool try_start(const std::string& workload, const mishap& what,
               const std::string& victim_alone) {
  SCOPED_TRACE("workload " + workload + ", part "
               + std::to_string(static_cast<int>(what.whose))
               + (what.memory_runs_out ? ", allocation " : ", message ")
               + std::to_string(what.at));
  const temporary_folder where;
  stored_service x{where};
  EXPECT_EQ(x.submit(sha_study), study_id{1});
  x.run_rounds(4);
  auto read = admit_study(wide_study(workload), "test.yaml", workloads(),
                          {true, {}});
  EXPECT_TRUE(read.study);
  auto asked = x.self->request(x.boss, caf::infinite, submit_atom::value,
                               study_submission{*read.study, {}});
  const bool came = run_with(x, what);
  x.run();
  bool is_answered = false, is_accepted = false;
  std::string said;
  asked.receive(
    [&](study_id id) {
      is_answered = is_accepted = true;
      EXPECT_EQ(id, study_id{2});
    },
    [&](const caf::error& why) {
      is_answered = true;
      said = x.sys.render(why);
    });
  EXPECT_TRUE(is_answered);
  x.run_all();
  EXPECT_EQ(outcome_of(*x.store, study_id{1}), victim_alone);
  EXPECT_EQ(x.store->load_study("1")->state, study_phase::complete);
  if (!came)
    return false;
  const auto row = x.store->load_study("wide");
  if (!is_accepted) {
    EXPECT_NE(said.find("memory ran out"), std::string::npos) << said;
  }
  if (!row || row->state == study_phase::complete)
    return true;
  EXPECT_EQ(row->state, study_phase::failed);
  EXPECT_NE(row->reason.find("memory ran out"), std::string::npos)
    << row->reason;
  // Nobody waits for it any more, and it can be tried again.
  auto again = admit_study(row->text, "test.yaml", workloads(),
                           {true, row->algorithm});
  const auto done = x.ask<command_answer>(
    x.boss, command_atom::value, study_submission{*again.study, *row},
    study_command{study_command::verb::retry, 0, 0, "{\"all\": true}", 0});
  EXPECT_TRUE(done) << x.sys.render(done.error());
  x.run_all();
  EXPECT_EQ(x.store->load_study("wide")->state, study_phase::complete);
  EXPECT_TRUE(x.status().studies.empty());
  return true;
}

using start_parameters = std::tuple<const char*, part, bool>;

struct StartTest : testing::TestWithParam<start_parameters> {};

TEST_P(StartTest, WhateverFailsInItFailsAloneAndIsTold) {
  const auto [workload, whose, memory_runs_out] = GetParam();
  const temporary_folder where;
  stored_service alone{where};
  alone.submit(sha_study);
  alone.run_all();
  const auto expected = outcome_of(*alone.store, study_id{1});
  constexpr std::size_t most = 10'000; // it starts by then
  std::size_t at = 1;
  while (at < most
         && try_start(workload, {whose, memory_runs_out, at}, expected))
    at += 1 + at / 16; // the first ones all
  EXPECT_LT(at, most);
  EXPECT_GT(at, 2u) << "nothing was tried";
}

/// Memory runs out in a study's actor some time after it has started: in the
/// n-th of its allocations from its n-th message on.
/// @returns whether it came to it
bool try_later(const mishap& what, std::size_t rounds,
               const std::string& victim_alone) {
  SCOPED_TRACE(std::string{what.memory_runs_out ? "allocation " : "message "}
               + std::to_string(what.at) + " after round "
               + std::to_string(rounds));
  const temporary_folder where;
  stored_service x{where};
  EXPECT_EQ(x.submit(sha_study), study_id{1});
  EXPECT_EQ(x.submit(wide_study("twin")), study_id{2});
  bool came = false;
  for (std::size_t i = 0; !came; ++i) {
    if (i < rounds)
      x.run();
    else
      came = run_with(x, what);
    bool moved = false;
    for (auto& device : x.devices)
      moved = device->step() || moved;
    if (!moved && !x.sched.has_job())
      break;
  }
  x.run_all();
  EXPECT_EQ(outcome_of(*x.store, study_id{1}), victim_alone);
  EXPECT_EQ(x.store->load_study("1")->state, study_phase::complete);
  const auto row = *x.store->load_study("wide");
  EXPECT_TRUE(x.status().studies.empty());
  if (row.state == study_phase::complete)
    return came;
  EXPECT_EQ(row.state, study_phase::failed);
  EXPECT_NE(row.reason.find("memory ran out"), std::string::npos)
    << row.reason;
  const auto trials = *x.store->load_trials(study_id{2}, 0, 1000);
  for (const auto& trial : trials)
    EXPECT_TRUE(has_ended(trial.state)) << trial.trial;
  return came;
}

TEST(RunningTest, AStudyWhoseMemoryRunsOutFailsAlone) {
  const temporary_folder where;
  stored_service alone{where};
  alone.submit(sha_study);
  alone.run_all();
  const auto expected = outcome_of(*alone.store, study_id{1});
  std::size_t tried = 0;
  for (const bool runs_out : {false, true})
    for (const std::size_t rounds : {1, 6})
      for (std::size_t at = 1; at < 30; at += 1 + at / 2)
        tried += try_later({part::study, runs_out, at}, rounds, expected);
  EXPECT_GT(tried, 10u);
}

INSTANTIATE_TEST_SUITE_P(
  Seeds, StartTest,
  testing::Combine(testing::Values("model", "twin"),
                   testing::Values(part::study, part::merger),
                   testing::Bool()));

} // namespace
} // namespace hippo
