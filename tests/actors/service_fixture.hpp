#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/actor_fixture.hpp"
#include "engine.hpp"
#include "hippo/model/workload_seed.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/sampler/pbt_explore.hpp"
#include "hippo/sequence/family.hpp"
#include "journal.hpp"
#include "merger.hpp"
#include "plan/workload_model.hpp"
#include "pool.hpp"
#include "study.hpp"
#include "trainer.hpp"

namespace hippo::test {

/// An engine that goes from stop to stop when the test says so. It trains the
/// hash model, so that a wrong order or a wrong checkpoint shows in the values.
class fake_engine final : public engine {
public:
  using folder = std::map<std::string, model_state>;

  explicit fake_engine(std::shared_ptr<folder> files)
    : files_(std::move(files)) {}

  void start(const lease& lease, engine_sink sink) override {
    for (const auto& [number, y] : tasks_) {
      ASSERT_NE(y.work.lane, lease.lane);
      ASSERT_EQ(key_of(without_seed(y.work.workload)),
                key_of(without_seed(lease.workload)));
    }
    ASSERT_LT(lease.lane, at_once);
    task next;
    next.work = lease;
    next.sink = std::move(sink);
    next.at = lease.stages.front().begin;
    if (const auto i = files_->find(lease.start.file); i != files_->end())
      next.state = i->second;
    else
      next.lacks_file = !lease.start.file.empty();
    tasks_.emplace(lease.number, std::move(next));
  }

  void add_stop(lease_id lease, const stop_point& stop) override {
    const auto found = tasks_.find(lease);
    if (found == tasks_.end())
      return;
    auto& stops = found->second.work.stops;
    auto i = std::find_if(stops.begin(), stops.end(),
                          [&](auto& y) { return y.at >= stop.at; });
    const auto passed
      = stops.begin() + static_cast<std::ptrdiff_t>(found->second.next);
    if (i < passed || i == stops.end())
      return;
    if (i->at == stop.at) {
      i->evaluate |= stop.evaluate;
      i->save |= stop.save;
    } else {
      i = stops.insert(i, stop);
    }
    if (stop.last)
      stops.erase(i + 1, stops.end());
  }

  void cancel(lease_id lease) override {
    if (const auto i = tasks_.find(lease); i != tasks_.end())
      i->second.cancelled = true;
  }

  [[nodiscard]] step_t reached(lease_id lease) const override {
    const auto i = tasks_.find(lease);
    return i == tasks_.end() ? 0 : i->second.at;
  }

  [[nodiscard]] bool busy() const { return !tasks_.empty(); }

  std::uint32_t at_once = 1; ///< leases of its trainer

  /// The lanes that train.
  [[nodiscard]] std::set<std::uint32_t> lanes() const {
    std::set<std::uint32_t> result;
    for (const auto& kvp : tasks_)
      result.insert(kvp.second.work.lane);
    return result;
  }

  /// Goes to the next stop of every lease and reports it. @returns whether it
  /// was training
  bool step() {
    const auto numbers = leases();
    for (auto number : numbers)
      step(number);
    return !numbers.empty();
  }

  /// The leases that run.
  [[nodiscard]] std::vector<lease_id> leases() const {
    std::vector<lease_id> result;
    for (const auto& kvp : tasks_)
      result.push_back(kvp.first);
    return result;
  }

  /// Goes to the next stop of a lease. REQUIRES: it runs
  void step(lease_id lease) {
    auto& t = tasks_.at(lease);
    if (t.cancelled || t.lacks_file) {
      end(lease, t.cancelled ? error{errc::cancelled, "cancelled"}
                             : error{errc::bad_checkpoint, "it is missing"});
      return;
    }
    const auto stop = t.work.stops.at(t.next);
    for (auto& s : t.work.stages)
      for (; t.at < std::min(stop.at, s.end) && s.begin <= t.at; ++t.at) {
        t.state.train(s.config, t.at, t.at + 1);
        ++trained;
        if (const auto* bad = poison(s.config)) {
          end(lease, *bad);
          return;
        }
      }
    stop_report x;
    x.lease = lease;
    x.at = stop.at;
    x.device = "model";
    x.trained_steps = stop.at - (t.next == 0 ? t.work.stages.front().begin
                                             : t.work.stops[t.next - 1].at);
    x.train_ns = 1'000'000 * x.trained_steps;
    if (stop.evaluate)
      x.values = t.state.evaluate();
    if (diverges(x.values)) {
      x.values.clear();
      t.sink(x);
      end(lease, error{errc::diverged, "not finite"});
      return;
    }
    if (stop.save) {
      const auto* where = stage_reaching(t.work, stop.at);
      const auto name = checkpoint_name(where ? where->node : root_node,
                                        stop.at, lease);
      (*files_)[name] = t.state;
      x.saved = checkpoint{name, 1, 1};
    }
    t.sink(x);
    if (++t.next == t.work.stops.size())
      end(lease, {});
  }

  /// Whether what was measured stands for something that is not finite.
  std::function<bool(const metrics&)> diverges
    = [](const metrics&) { return false; };
  std::uint64_t trained = 0; ///< steps, lost ones included
  /// Returns a failure for configurations that cannot be trained.
  std::function<const error*(const configuration&)> poison
    = [](const configuration&) { return nullptr; };

private:
  /// A lease that runs.
  struct task {
    lease work;
    engine_sink sink;
    model_state state;
    std::size_t next = 0; ///< of its stops
    step_t at = 0;
    bool cancelled = false;
    bool lacks_file = false; ///< what it starts from is not there
  };

  void end(lease_id lease, std::optional<error> why) {
    const auto t = tasks_.extract(lease);
    t.mapped().sink(lease_end{lease, t.mapped().at, std::move(why)});
  }

  std::shared_ptr<folder> files_;
  std::map<lease_id, task> tasks_;
};

/// The workload that studies of these tests name.
inline workload_descriptor model_workload() {
  workload_descriptor result;
  result.name = "model";
  result.metrics = {{"value", direction::maximize, "a hash of the training"}};
  parameter_descriptor lr;
  lr.name = "lr";
  lr.fallback = 0.1;
  lr.min = 0;
  auto batch = lr;
  batch.name = "batch_size";
  batch.fallback = 64.0;
  batch.integer = true;
  batch.affects_speed = true;
  result.hyper_parameters = {lr, batch};
  return result;
}

/// What outlives a service.
struct remains {
  std::vector<journal_record> records;
  fake_engine::folder files;

  /// What a study has heard, in its order.
  [[nodiscard]] std::vector<stored_event> history(study_id study) const {
    std::vector<stored_event> result;
    for (const auto& x : records)
      if (const auto* event = std::get_if<event_added>(&x);
          event != nullptr && event->study == study)
        result.push_back({result.size() + 1, study, 0, event->what});
    return result;
  }

  /// The study as it was saved last, if it was.
  [[nodiscard]] std::optional<stored_study> study(study_id id) const {
    std::optional<stored_study> result;
    for (const auto& x : records)
      if (const auto* saved = std::get_if<study_saved>(&x);
          saved != nullptr && saved->study.id == id)
        result = saved->study;
    return result;
  }

  /// The trials of a study as they were saved last, by number.
  [[nodiscard]] std::map<trial_no, stored_trial>
  trials(study_id study) const {
    std::map<trial_no, stored_trial> result;
    for (const auto& x : records)
      if (const auto* saved = std::get_if<trial_saved>(&x);
          saved != nullptr && saved->study == study) {
        auto params = saved->trial.params.empty()
                        ? result[saved->trial.trial].params
                        : saved->trial.params;
        result[saved->trial.trial] = saved->trial;
        result[saved->trial.trial].params = std::move(params);
      }
    return result;
  }

  [[nodiscard]] stored_plan plan() const {
    stored_plan result;
    for (const auto& x : records)
      if (const auto* node = std::get_if<node_added>(&x))
        result.nodes.push_back(node->node);
      else if (const auto* measured = std::get_if<result_added>(&x))
        result.results.push_back(measured->result);
      else if (const auto* saved = std::get_if<checkpoint_added>(&x))
        result.checkpoints.push_back(saved->checkpoint);
    const auto by_node = [](const auto& x, const auto& y) {
      return std::pair{x.node, x.step} < std::pair{y.node, y.step};
    };
    std::sort(result.results.begin(), result.results.end(), by_node);
    std::sort(result.checkpoints.begin(), result.checkpoints.end(), by_node);
    return result;
  }

  /// The plan, for the next merger.
  [[nodiscard]] std::shared_ptr<kept_plan> restored() const {
    auto result = std::make_shared<kept_plan>();
    result->restore(plan());
    return result;
  }
};

/// A journal that writes into `kept`.
inline journal_actor::behavior_type
keeping_journal(journal_actor::pointer self, std::shared_ptr<remains> kept) {
  return {
    [self, kept](commit_atom, const journal_entry& x) {
      kept->records.insert(kept->records.end(), x.records.begin(),
                           x.records.end());
      for (const auto& [owner, news] : x.news)
        self->send(owner, outcome_atom::value, news);
      for (const auto& file : x.files)
        std::filesystem::remove(file);
      return std::uint64_t{x.records.size()};
    },
    [](flush_atom) {},
    [](status_atom) { return journal_status{}; },
  };
}

/// A service with studies and trainers that a test moves by hand.
class service_test : public actor_test {
public:
  std::shared_ptr<remains> kept = std::make_shared<remains>();
  std::shared_ptr<fake_engine::folder> files{kept, &kept->files};
  pool_options watching;
  pool_actor trainers_pool;
  journal_actor log;
  merger_actor merging;
  std::vector<study_spec> specs;
  std::vector<study_actor> studies;
  /// Where studies decide that are added from now on.
  std::shared_ptr<thinking> where = std::make_shared<thinking_at_once>();
  /// Of the trainers that are added from now on.
  std::function<bool(const metrics&)> diverges
    = [](const metrics&) { return false; };

  struct trainer_entry {
    training_actor handle;
    std::shared_ptr<fake_engine> device;
  };
  std::vector<trainer_entry> trainers;

  void open(merger_options options = {}) {
    trainers_pool = spawn(pool, watching);
    if (!log)
      log = spawn(keeping_journal, kept);
    options.workload.name = "model";
    options.speed_names = {"batch_size"};
    merging = spawn(merger, std::move(options), trainers_pool, log);
  }

  void add_study(const std::string& text) {
    auto read = read_study(text, "test.yaml", {model_workload()});
    ASSERT_TRUE(read.study) << to_text(read.errors.at(0));
    study_options opts;
    opts.spec = *read.study;
    opts.search = read_search(opts.spec);
    opts.workload = model_workload();
    specs.push_back(*read.study);
    const study_id id{specs.size()};
    if (const auto known = kept->study(id))
      opts.stored = *known;
    opts.stored.id = id;
    opts.stored.name = read.study->name;
    opts.history = kept->history(id);
    studies.push_back(
      spawn(study,
            study_setup{opts, where}, merging,
            log, caf::actor_cast<observer_actor>(self)));
    auto started = ask<study_no>(studies.back(), start_atom::value);
    ASSERT_TRUE(started) << sys.render(started.error());
  }

  void go() { self->send(merging, go_atom::value); }

  /// Asks a study for something.
  caf::expected<command_answer> command(std::size_t index,
                                        study_command::verb what,
                                        std::string text = {},
                                        trial_no trial = 0, step_t at = 0) {
    return ask<command_answer>(
      studies[index], command_atom::value,
      study_command{what, trial, at, std::move(text), 0});
  }

  study_phase phase_of(std::size_t index) {
    auto result = ask<study_status>(studies[index], status_atom::value);
    EXPECT_TRUE(result) << sys.render(result.error());
    return result ? result->state : study_phase::running;
  }

  std::uint32_t at_once = 1; ///< leases of each trainer that is added

  trainer_entry& add_trainer() {
    hello x;
    x.device = "model";
    x.workloads["model"];
    x.at_once = at_once;
    auto device = std::make_shared<fake_engine>(files);
    device->diverges = diverges;
    device->at_once = at_once;
    auto handle = spawn(trainer,
                        caf::actor_cast<registrar_actor>(trainers_pool), x,
                        std::static_pointer_cast<engine>(device),
                        [begins = false]() mutable {
                          begins = !begins;
                          return std::string{begins ? "it began\n"
                                                    : "it began\n"
                                                      "the last words"};
                        });
    trainers.push_back({handle, device});
    return trainers.back();
  }

  /// A trainer whose every word the test says itself.
  struct manual_trainer {
    trainer_actor handle;
    trainer_id number{};
    std::shared_ptr<std::vector<lease>> leases; ///< that it was given
    std::shared_ptr<lease_owner_actor> owner;   ///< of the last one
    std::shared_ptr<std::vector<ack>> acks;
    std::shared_ptr<int> given_up; ///< how often the pool has
  };

  /// Registers a trainer that knows these workloads, and says that it is idle.
  manual_trainer join_by_hand(std::map<std::string, std::string> workloads
                              = {{"model", ""}}) {
    manual_trainer result;
    auto leases = result.leases = std::make_shared<std::vector<lease>>();
    auto owner = result.owner = std::make_shared<lease_owner_actor>();
    auto acks = result.acks = std::make_shared<std::vector<ack>>();
    auto given_up = result.given_up = std::make_shared<int>(0);
    result.handle = spawn(
      [=](trainer_actor::pointer) -> trainer_actor::behavior_type {
        return {
          [=](lease_atom, const lease_wire& x, const lease_owner_actor& who) {
            leases->push_back(*decode(x));
            *owner = who;
          },
          [](stop_atom, const stop_wire&) {},
          [](cancel_atom, const cancel_wire&) {},
          [=](ack_atom, const ack_wire& x) { acks->push_back(*decode(x)); },
          [=](lost_atom) { ++*given_up; },
        };
      });
    register_by_hand(result, std::move(workloads));
    heartbeat_by_hand(result);
    return result;
  }

  void register_by_hand(manual_trainer& trainer,
                        std::map<std::string, std::string> workloads = {
                          {"model", ""}}) {
    hello greeting;
    greeting.device = "model";
    greeting.workloads = std::move(workloads);
    auto answer = ask<welcome_wire>(trainers_pool, register_atom::value,
                                    encode(greeting), trainer.handle);
    ASSERT_TRUE(answer) << sys.render(answer.error());
    trainer.number = decode(*answer)->trainer;
  }

  void heartbeat_by_hand(const manual_trainer& trainer, lease_id lease = {},
                         step_t at = 0) {
    heartbeat message;
    message.trainer = trainer.number;
    message.lease = lease;
    message.at = at;
    self->send(trainers_pool, heartbeat_atom::value, encode(message));
    run();
  }

  pool_status pool_now() {
    auto result = ask<pool_status>(trainers_pool, status_atom::value);
    EXPECT_TRUE(result) << sys.render(result.error());
    return result ? *result : pool_status{};
  }

  /// The service dies; the trainers live on. What is on its way to it is lost.
  void crash() {
    for (const auto& x : studies)
      caf::anon_send_exit(x, caf::exit_reason::kill);
    caf::anon_send_exit(merging, caf::exit_reason::kill);
    caf::anon_send_exit(trainers_pool, caf::exit_reason::kill);
    caf::anon_send_exit(log, caf::exit_reason::kill);
    studies.clear();
    specs.clear();
    merging = nullptr;
    trainers_pool = nullptr;
    log = nullptr;
  }

  /// Lets the trainers know the service that is there now.
  void connect_trainers() {
    for (const auto& x : trainers)
      self->send(x.handle, connect_atom::value,
                 caf::actor_cast<registrar_actor>(trainers_pool));
  }

  /// Moves everything until nothing moves any more.
  void run_all() {
    for (bool moved = true; moved;) {
      run();
      moved = false;
      for (auto& x : trainers)
        moved = x.device->step() || moved;
    }
  }

  study_record record_of(std::size_t index) {
    auto result = ask<study_record>(studies[index], overview_atom::value);
    EXPECT_TRUE(result) << sys.render(result.error());
    return result ? *result : study_record{};
  }

  merger_status status() {
    auto result = ask<merger_status>(merging, status_atom::value);
    EXPECT_TRUE(result) << sys.render(result.error());
    return result ? *result : merger_status{};
  }

  std::uint64_t trained() const {
    std::uint64_t result = 0;
    for (const auto& x : trainers)
      result += x.device->trained;
    return result;
  }

  /// What a trial was trained with, by all that the record shows of it: its
  /// parameters, where it comes from, and what it has measured.
  std::map<std::string, sequence>
  values_of(std::size_t index, const study_record& record, trial_no no) {
    const auto& trial = record.trials.at(no);
    observations seen{specs[index].objective.direction, {}};
    for (const auto& x : trial.results)
      seen.values.push_back({x.step, x.values.at("value")});
    const auto split = trial.params.find("forked");
    std::map<std::string, sequence> before, result;
    if (split != trial.params.end())
      before = values_of(index, record, split->at("from"));
    for (const auto& [name, shown] : trial.params.items())
      if (name != "forked") {
        result[name] = make_sequence(shown, specs[index].max_steps, seen).value;
        if (!before.empty())
          result[name] = spliced(before.at(name), result[name],
                                 split->at("at"));
      }
    return result;
  }

  /// Every result of every trial must be what training it alone gives, there
  /// must be one for each state that is measured, up to where it diverges, and
  /// every trial must have ended.
  void expect_results_as_alone(std::size_t index) {
    const auto record = record_of(index);
    const measuring when{
      specs[index].objective.every,
      make_algorithm(specs[index], read_search(specs[index]))->rungs()};
    for (const auto& trial : record.trials) {
      EXPECT_NE(trial.state, trial_state::running) << trial.id;
      EXPECT_NE(trial.state, trial_state::pending) << trial.id;
      model_trial alone;
      auto sequences = values_of(index, record, trial.id);
      sequences.emplace("lr", sequence{form::constant(0.1)});
      sequences.emplace("batch_size", sequence{form::constant(64)});
      alone.segments = join(sequences, specs[index].max_steps);
      model_state state;
      step_t at = 0;
      for (const auto& x : trial.results) {
        EXPECT_EQ(x.step, when.next(at)) << trial.id;
        for (; at < x.step; ++at)
          state.train(alone.at(at), at, at + 1);
        EXPECT_EQ(x.values, state.evaluate())
          << "trial " << trial.id << " at " << at;
        EXPECT_FALSE(diverges(x.values)) << trial.id << " at " << at;
      }
      EXPECT_EQ(at, trial.steps) << trial.id;
      if (trial.failure.find("not finite") == std::string::npos)
        continue;
      for (const auto next = when.next(at); at < next; ++at)
        state.train(alone.at(at), at, at + 1);
      EXPECT_TRUE(diverges(state.evaluate())) << trial.id << " at " << at;
    }
    auto ended = ask<study_status>(studies[index], status_atom::value);
    ASSERT_TRUE(ended);
    EXPECT_TRUE(has_ended(ended->state)) << specs[index].name;
  }
};

} // namespace hippo::test
