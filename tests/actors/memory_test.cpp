// A service whose studies and plans may take only so much memory.

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"
#include "service.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verb = study_command::verb;

/// A study that a client drives, or one that decides by itself.
std::string study_of(const std::string& name, const std::string& workload,
                     const std::string& algorithm = "client") {
  return "study: " + name + "\nworkload: {name: " + workload
         + "}\nobjective: {metric: value}\nmax_steps: 1\n"
           "space: {lr: {uniform: [0, 1]}}\nalgorithm: "
         + algorithm + "\nbudget: {trials: 1000000}\n";
}

/// A service without trainers on a state folder.
class limited_service : public test::actor_test {
public:
  limited_service(const temporary_folder& where,
                  std::optional<std::uint64_t> limit)
    : workloads(2, test::model_workload()),
      store(std::move(*state_writer::open(where.path))) {
    workloads[1].name = "twin";
    service_options options;
    options.store = store;
    options.detached = false;
    options.coordinator.workloads = workloads;
    options.coordinator.keep_ended = false;
    options.coordinator.memory_bytes_max = limit;
    const auto actors = *spawn_service(sys, std::move(options),
                                       caf::actor_cast<observer_actor>(self));
    keep(actors.journal);
    keep(actors.pool);
    boss = keep(actors.coordinator);
    run();
    self->send(boss, go_atom::value);
  }

  void TestBody() override {}

  caf::expected<study_id>
  submit(const std::string& text,
         std::optional<stored_study> stored = std::nullopt) {
    auto read = admit_study(text, "test.yaml", workloads, {true, {}});
    EXPECT_TRUE(read.study) << to_text(read.errors.at(0));
    return ask<study_id>(boss, submit_atom::value,
                              study_submission{*read.study, std::move(stored)});
  }

  caf::expected<command_answer> command(study_id study, verb what) {
    const auto found = ask<study_actor>(boss, find_atom::value, study);
    EXPECT_TRUE(found);
    return ask<command_answer>(*found, command_atom::value,
                               study_command{what, 0, 0, "", 0});
  }

  /// Time for the service to look, and then to tell.
  void look() {
    for (int i = 0; i < 2; ++i) {
      sched.advance_time(1s);
      run();
    }
  }

  /// Asks for trials until that is refused. @returns why
  std::string ask_until_full(study_id study) {
    for (int i = 0; i < 10'000; ++i) {
      const auto answer = command(study, verb::ask);
      if (!answer) {
        EXPECT_EQ(answer.error(), errc::resource_exhausted);
        return sys.render(answer.error());
      }
      if (i % 50 == 0)
        look();
    }
    return "it is never full";
  }

  std::vector<workload_descriptor> workloads;
  std::shared_ptr<state_writer> store;
  coordinator_actor boss;
};

constexpr std::uint64_t mib = 1 << 20;

TEST(MemoryLimit, AStudyMayTakeHalfAndAllTogetherTheLimitUntilSomeHaveEnded) {
  const temporary_folder where;
  limited_service x{where, mib / 4};
  const auto first = *x.submit(study_of("first", "model"));
  const auto second = *x.submit(study_of("second", "twin"));
  EXPECT_NE(x.ask_until_full(first).find("one study may take 0.1 MiB"),
            std::string::npos);
  EXPECT_TRUE(x.command(second, verb::ask)) << "it has its own half";
  const auto why = x.ask_until_full(second);
  EXPECT_NE(why.find("no new trial: the studies in work take"),
            std::string::npos)
    << why;
  const auto refused = x.submit(study_of("third", "model"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::resource_exhausted);
  EXPECT_NE(x.sys.render(refused.error()).find("--memory-limit"),
            std::string::npos);
  EXPECT_EQ(x.store->load_studies()->size(), 2u) << "it was stored";
  // What has begun goes on, and can be ended: then there is room.
  EXPECT_TRUE(x.command(first, verb::pause));
  EXPECT_TRUE(x.command(first, verb::cancel));
  x.look(); // its plan goes, too
  x.look();
  EXPECT_TRUE(x.submit(study_of("fourth", "model")));
}

TEST(MemoryLimit, WhatWasJustSubmittedCounts) {
  const temporary_folder where;
  limited_service x{where, mib};
  // A quarter each, at most.
  for (const auto* name : {"first", "second", "third", "fourth"})
    EXPECT_TRUE(x.submit(study_of(name, "model", "random"))) << name;
  const auto refused = x.submit(study_of("fifth", "model", "random"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::resource_exhausted);
}

TEST(MemoryLimit, FewerTrialsAreOpenWhereThereIsLittleAndThatIsStored) {
  const temporary_folder where;
  std::uint64_t ahead = 0;
  {
    limited_service x{where, mib};
    ASSERT_TRUE(x.submit(study_of("first", "model", "random")));
    ahead = x.store->load_study("1")->trials_ahead;
    EXPECT_GT(ahead, 10u);
    EXPECT_LT(ahead, 200u);
    EXPECT_EQ(x.store->load_trials(study_id{1}, 0, 10'000)->size(), ahead);
    x.look();
    const auto known = x.ask<coordinator_status>(x.boss, status_atom::value);
    const auto books = *x.ask<merger_status>(known->mergers.at(0).handle,
                                             status_atom::value);
    EXPECT_LE(books.memory_bytes, mib / 4) << "more than it has reserved";
  }
  // Whatever the limit is later, it goes on by what it began with.
  limited_service x{where, std::nullopt};
  const auto stored = *x.store->load_study("1");
  ASSERT_TRUE(x.submit(stored.text, stored));
  EXPECT_EQ(x.store->load_study("1")->trials_ahead, ahead);
  EXPECT_EQ(x.store->load_trials(study_id{1}, 0, 10'000)->size(), ahead);
}

TEST(MemoryLimit, AStudyThatTakesMoreThanItsHalfRestsUntilThereIsRoom) {
  const temporary_folder where;
  {
    limited_service x{where, std::nullopt};
    ASSERT_TRUE(x.submit(study_of("first", "model", "random")));
    ASSERT_TRUE(x.submit(study_of("second", "twin")));
  }
  const auto state_of = [](limited_service& x, const char* id) {
    return x.store->load_study(id)->state;
  };
  {
    limited_service x{where, 4 * mib};
    for (const auto* id : {"1", "2"}) {
      const auto stored = *x.store->load_study(id);
      ASSERT_TRUE(x.submit(stored.text, stored));
    }
    x.look();
    EXPECT_EQ(state_of(x, "1"), study_phase::paused);
    EXPECT_NE(x.store->load_study("1")->reason.find("memory is short"),
              std::string::npos);
    EXPECT_EQ(state_of(x, "2"), study_phase::running) << "it pays for another";
    const auto asked = x.command(study_id{2}, verb::ask);
    EXPECT_TRUE(asked) << x.sys.render(asked.error());
  }
  limited_service x{where, 1024 * mib};
  const auto stored = *x.store->load_study("1");
  ASSERT_TRUE(x.submit(stored.text, stored));
  x.look();
  EXPECT_EQ(state_of(x, "1"), study_phase::running);
}

TEST(MemoryLimit, StudiesThatHaveBegunGoOnAfterARestart) {
  const temporary_folder where;
  {
    limited_service x{where, std::nullopt};
    ASSERT_TRUE(x.submit(study_of("first", "model", "random")));
  }
  limited_service x{where, 1};
  const auto stored = *x.store->load_study("1");
  const auto id = x.submit(stored.text, stored);
  ASSERT_TRUE(id) << x.sys.render(id.error());
  EXPECT_EQ(*id, study_id{1});
  EXPECT_FALSE(x.submit(study_of("second", "model")));
}

} // namespace
} // namespace hippo
