#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"
#include "service.hpp"
#include "train/temporary_folder.hpp"

namespace hippo::test {

inline const char* const sha_study = R"(
study: sha
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr:
    choice:
      - 0.1
      - multistep: {initial: 0.1, milestones: [3], gamma: {choice: [0.1, 0.5]}}
      - multistep: {initial: 0.2, milestones: [2, 5], gamma: 0.1}
      - exponential: {initial: 0.1, gamma: {choice: [0.8, 0.9]}}
  batch_size: {choice: [64, 128]}
algorithm: {sha: {eta: 3, min: 1}}
budget: {trials: 9}
)";

inline const char* const tpe_study = R"(
study: tpe
workload: {name: model}
objective: {metric: value, direction: minimize}
max_steps: 6
space:
  lr: {choice: [0.1, 0.2, {exponential: {initial: 0.1, gamma: 0.8}}]}
  batch_size: {choice: [64, 128]}
algorithm: {tpe: {startup: 3, max_concurrent: 3}}
budget: {trials: 7}
)";

/// Two that train the same.
inline std::vector<workload_descriptor> workloads() {
  std::vector<workload_descriptor> result(2, model_workload());
  result[1].name = "twin";
  return result;
}

/// A study of the other workload.
inline std::string of_twin(std::string study) {
  const std::string name = "{name: model}";
  return study.replace(study.find(name), name.size(), "{name: twin}");
}

/// A service on a state folder, until it dies.
class stored_service : public actor_test {
public:
  /// @param keeps whether it keeps studies that have ended, and has those alone
  ///              that are submitted to it
  explicit stored_service(const temporary_folder& where,
                          std::shared_ptr<fake_engine::folder> checkpoints
                          = std::make_shared<fake_engine::folder>(),
                          std::chrono::milliseconds retry = {},
                          std::uint64_t checkpoint_bytes_max = UINT64_MAX,
                          bool goes = true, bool keeps = false)
    : files(std::move(checkpoints)) {
    store = std::move(*state_writer::open(where.path));
    service_options options;
    options.store = store;
    options.store_retry = retry;
    options.detached = false;
    options.coordinator.workloads = workloads();
    options.coordinator.keep_ended = keeps;
    options.coordinator.restores = !keeps;
    options.coordinator.checkpoint_bytes_max = checkpoint_bytes_max;
    const auto actors = *spawn_service(sys, std::move(options),
                                       caf::actor_cast<observer_actor>(self));
    log = keep(actors.journal);
    trainers_pool = keep(actors.pool);
    boss = keep(actors.coordinator);
    run();
    if (goes)
      self->send(boss, go_atom::value);
    for (int i = 0; i < 2; ++i) {
      hello x;
      x.device = "model";
      for (const auto& y : workloads())
        x.workloads[y.name];
      devices.push_back(std::make_shared<fake_engine>(files));
      spawn(trainer, caf::actor_cast<registrar_actor>(trainers_pool), x,
            std::static_pointer_cast<engine>(devices.back()), nullptr);
    }
  }

  void TestBody() override {}

  study_id submit(const std::string& text,
                  std::optional<stored_study> stored = std::nullopt) {
    auto read = admit_study(text, "test.yaml", workloads(), {true, {}});
    EXPECT_TRUE(read.study) << to_text(read.errors.at(0));
    auto id = ask<study_id>(boss, submit_atom::value,
                                 study_submission{*read.study, stored});
    EXPECT_TRUE(id) << sys.render(id.error());
    return id ? *id : study_id{};
  }

  /// Goes on with what has not ended.
  void restore() {
    const auto studies = *store->load_studies();
    for (const auto& x : studies)
      if (!has_ended(x.state)) {
        const auto stored = *store->load_study(x.id);
        EXPECT_EQ(submit(stored.text, stored), x.id);
      }
  }

  /// Delivers all messages and lets every device go to its next stop, so often.
  void run_rounds(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      run();
      for (auto& x : devices)
        x->step();
    }
  }

  void run_all() {
    for (bool moved = true; moved;) {
      run();
      moved = false;
      for (auto& x : devices)
        moved = x->step() || moved;
    }
  }

  void expect_all_complete() {
    const auto studies = *store->load_studies();
    for (const auto& x : studies)
      EXPECT_EQ(x.state, study_phase::complete) << x.name;
  }

  coordinator_status status() {
    return *ask<coordinator_status>(boss, status_atom::value);
  }

  [[nodiscard]] std::uint64_t trained() const {
    std::uint64_t result = 0;
    for (const auto& x : devices)
      result += x->trained;
    return result;
  }

  std::shared_ptr<fake_engine::folder> files;
  std::shared_ptr<state_writer> store;
  journal_actor log;
  pool_actor trainers_pool;
  coordinator_actor boss;
  std::vector<std::shared_ptr<fake_engine>> devices;
};

/// What trials were and measured, for people to compare.
inline std::string outcome_of(state_reader& store, study_id study) {
  std::string result;
  const auto trials = *store.load_trials(study, 0, 1000);
  for (const auto& x : trials)
    result += std::to_string(x.trial) + ' ' + to_string(x.state) + ' '
              + x.params + ' ' + std::to_string(x.asked_to) + ' '
              + std::to_string(x.steps) + ' '
              + (x.best ? std::to_string(x.best->step) + ':'
                            + std::to_string(x.best->value)
                        : "-")
              + '\n';
  return result;
}

} // namespace hippo::test
