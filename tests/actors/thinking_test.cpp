// Studies that take long to decide.

#include <deque>
#include <random>

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"
#include "actors/studies.hpp"
#include "hippo/report/report.hpp"
#include "hippo/search/registry.hpp"

namespace hippo {
namespace {

using verb = study_command::verb;

/// Jobs that wait until a test has them run.
class held_thinking final : public thinking {
public:
  bool holds = false; ///< else they run at once
  unsigned steps = 1; ///< events that a job works through in a turn

  party_no join(job_kind kind) override { return turns_.join(kind); }
  void leave(party_no party) override {
    for (const auto no : turns_.leave(party).dropped)
      jobs_.erase(no);
  }
  void post(party_no party, job work) override {
    ++posted;
    jobs_.emplace(turns_.add(party), std::move(work));
    if (!holds)
      run_one();
  }
  [[nodiscard]] std::size_t waiting(party_no party) const override {
    return turns_.waiting(party);
  }

  bool run_one() {
    const auto next = turns_.take();
    if (!next)
      return false;
    const auto what = std::move(jobs_.extract(next->job).mapped());
    what(counted{steps});
    turns_.end(next->job);
    return true;
  }
  [[nodiscard]] std::size_t held() const { return jobs_.size(); }

  std::uint64_t posted = 0;

private:
  class counted final : public job_turn {
  public:
    explicit counted(unsigned left) : left_(left) {}
    [[nodiscard]] bool is_over() const override {
      return left_ == 0 || --left_ == 0;
    }
    [[nodiscard]] bool is_cancelled() const override { return false; }

  private:
    mutable unsigned left_;
  };

  fair_turns turns_{job_kinds + 1};
  std::map<job_no, job> jobs_;
};

struct ThinkingStudy : test::service_test {
  std::shared_ptr<held_thinking> held = std::make_shared<held_thinking>();

  ThinkingStudy() { where = held; }

  /// Everything moves, jobs last.
  void run_with_jobs() {
    for (bool moved = true; moved;) {
      run_all();
      moved = held->run_one();
    }
  }
};

const char* const client_study = R"(
study: driven
workload: {name: model}
objective: {metric: value}
max_steps: 9
space: {lr: {uniform: [0.1, 0.2]}}
algorithm: client
)";

TEST_F(ThinkingStudy, AnswersWhileItThinks) {
  open();
  add_study(client_study);
  held->holds = true;
  auto first = self->request(studies[0], caf::infinite, command_atom::value,
                             study_command{verb::ask, 0, 0, {}, 0});
  auto second = self->request(studies[0], caf::infinite, command_atom::value,
                              study_command{verb::ask, 0, 0, {}, 0});
  run();
  EXPECT_EQ(held->held(), 1u); // a study has one job at a time
  EXPECT_EQ(phase_of(0), study_phase::running);
  run_with_jobs();
  trial_no one = 9, two = 9;
  first.receive([&](const command_answer& x) { one = x.trial; },
                [](const caf::error&) { ADD_FAILURE(); });
  second.receive([&](const command_answer& x) { two = x.trial; },
                 [](const caf::error&) { ADD_FAILURE(); });
  EXPECT_EQ(one, 0u);
  EXPECT_EQ(two, 1u);
}

TEST_F(ThinkingStudy, SaysHowFarItIsWithCatchingUp) {
  open();
  add_study(test::sha_study);
  go();
  add_trainer();
  run_all();
  const auto before = record_of(0);
  crash();
  open();
  held->holds = true;
  const auto text = std::string{test::sha_study};
  auto read = read_study(text, "test.yaml", {test::model_workload()});
  study_options opts;
  opts.spec = *read.study;
  opts.search = read_search(opts.spec);
  opts.workload = test::model_workload();
  opts.stored = *kept->study(study_id{1});
  opts.history = kept->history(study_id{1});
  specs.push_back(*read.study);
  studies.push_back(spawn(study, study_setup{opts, where}, merging, log,
                          caf::actor_cast<observer_actor>(self)));
  auto started
    = self->request(studies[0], caf::infinite, start_atom::value);
  run();
  double last = -1;
  bool was_between = false;
  for (;;) {
    auto status = ask<study_status>(studies[0], status_atom::value);
    ASSERT_TRUE(status);
    ASSERT_GE(status->caught_up, last);
    last = status->caught_up;
    was_between = was_between || (last > 0.2 && last < 0.8);
    run();
    if (!held->run_one())
      break;
  }
  EXPECT_TRUE(was_between);
  run();
  EXPECT_EQ(ask<study_status>(studies[0], status_atom::value)->caught_up, 1);
  started.receive([](study_no) {},
                  [](const caf::error&) { ADD_FAILURE(); });
  held->holds = false;
  EXPECT_EQ(study_json(record_of(0)), study_json(before));
}

TEST_F(ThinkingStudy, IsForgottenWithItsJobs) {
  open();
  add_study(client_study);
  held->holds = true;
  self->send(studies[0], command_atom::value,
             study_command{verb::ask, 0, 0, {}, 0});
  run();
  EXPECT_EQ(held->held(), 1u);
  caf::anon_send_exit(studies[0], caf::exit_reason::kill);
  run();
  EXPECT_EQ(held->held(), 0u);
  EXPECT_FALSE(held->run_one());
}

/// Two studies that think now and then, in any order with all that happens.
struct ThinkingSeeds : ThinkingStudy, testing::WithParamInterface<unsigned> {};

TEST_P(ThinkingSeeds, ResultsAreWhatTrainingAloneGives) {
  std::mt19937 rng{GetParam()};
  open();
  const std::string tpe = R"(
study: tpe
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr:
    choice: [0.1, 0.2, {multistep: {initial: 0.1, milestones: [3], gamma: 0.1}}]
  batch_size: {choice: [64, 128]}
algorithm: {tpe: {startup: 2, max_concurrent: auto}}
budget: {trials: 5}
)";
  add_study(test::sha_study);
  add_study(tpe);
  held->holds = true;
  held->steps = 1 + static_cast<unsigned>(rng() % 3);
  go();
  add_trainer();
  add_trainer();
  for (int i = 0; i < 200; ++i) {
    if (!run_one(rng) || rng() % 3 == 0)
      trainers[rng() % 2].device->step();
    if (rng() % 4 == 0)
      held->run_one();
    if (rng() % 10 == 0)
      sched.trigger_timeouts();
  }
  run_with_jobs();
  held->holds = false;
  run_all();
  expect_results_as_alone(0);
  expect_results_as_alone(1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ThinkingSeeds, test::seeds(40));

} // namespace
} // namespace hippo
