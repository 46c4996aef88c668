#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "caf/all.hpp"
#include "caf/scheduler/test_coordinator.hpp"

#include "hippo/forecast/simulate/virtual_timeline.hpp"
#include "hippo/service/trace/trace_log.hpp"
#include "hippo/store/state_writer.hpp"
#include "service.hpp"
#include "simulation/connection.hpp"
#include "simulation/hash_training.hpp"
#include "simulation/memory_disk.hpp"
#include "simulation/scenario.hpp"
#include "simulation/slow_thinking.hpp"
#include "trainer.hpp"

namespace hippo {
class study_core;
}

namespace hippo::simulation {

/// What a service holds of what trainers send again for nobody.
inline constexpr std::uint64_t pool_room = 64 << 10;

/// What came of a scenario.
/// With this begins what is said of a study that is not admitted.
inline const std::string refused_study = "a study is refused: ";

struct outcome {
  std::string violation; ///< empty: all that must hold held
  std::uint64_t messages = 0;
  std::uint64_t trained = 0; ///< steps
  std::uint64_t studies = 0;
  std::uint64_t results = 0; ///< that were compared with training alone
  std::uint64_t lives = 0;   ///< of the service
  double seconds = 0;        ///< of virtual time
};

/// A whole service with its trainers, clients and disk, on one thread and in
/// virtual time: every choice, which message is next, what fails and when, is
/// drawn from the scenario's seed.
///
/// First faults come, and what must always hold is checked; then they end, and
/// all studies must come to their end.
class world {
public:
  using duration = virtual_timeline::duration;

  /// @param disk under all databases; cleared
  /// @param folder for the names of files; must not exist
  /// @param trace is told what happens, if it is there
  world(scenario what, memory_disk& disk, std::string folder,
        std::function<void(const std::string&)> trace = {});
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// Has the cores of the service write their events. Before `run`.
  void record_to(std::shared_ptr<trace_log> log) { record_ = std::move(log); }

  outcome run();

private:
  // -- world.cpp: time and messages -------------------------------------------

  struct config : caf::actor_system_config {
    config();
  };

  bool step();
  void deliver(std::size_t job);
  void note_grant(caf::scheduled_actor& to);
  void tell_message(caf::scheduled_actor& to);
  bool advance();
  void after(duration delay, std::function<void()> what);
  void note_outside(const caf::actor& actor) { outside_.insert(actor->id()); }
  [[nodiscard]] caf::scheduled_actor* actor_of(std::size_t job) const;
  void fail(const std::string& why);
  /// Says in the trace what happens.
  void tell(const std::string& what) const;
  std::uint64_t below(std::uint64_t count) { return random_() % count; }
  duration seconds_below(std::uint64_t count);

  // -- service.cpp: its lives -------------------------------------------------

  void boot();
  void boot_later(duration delay);
  void restore(std::vector<stored_study> studies, std::size_t next);
  void go();
  void kill(bool power);
  static void end(const caf::strong_actor_ptr& actor, caf::error why);
  void note_told();
  void note_standing();
  void check_kept(state_reader& store);
  void check_standing();
  [[nodiscard]] bool is_quiet() const;
  /// The actors of the service of type `State` that live.
  template <class State, class Handle>
  [[nodiscard]] std::vector<State*> states() const {
    std::vector<State*> result;
    for (const auto& [id, x] : inside_) {
      using actor = typename Handle::template stateful_base<State>;
      auto* const y = dynamic_cast<actor*>(
        caf::actor_cast<caf::abstract_actor*>(x));
      if (y && !y->getf(caf::abstract_actor::is_terminated_flag))
        result.push_back(&y->state);
    }
    return result;
  }

  [[nodiscard]] std::vector<const study_core*> cores() const;

  // -- people.cpp: trainers and clients ---------------------------------------

  struct node {
    std::uint64_t number = 0;
    training_actor handle;
    std::shared_ptr<hash_engine> device;
    std::shared_ptr<connection> link;
    bool is_hung = false;
    bool is_leaving = false; ///< or has left
  };

  /// @param ranks of a trial, that it holds; 0: as its number has it
  void add_trainer(std::uint32_t ranks = 0);
  void connect(node& peer);
  void end_trainer(std::uint64_t number);
  void limit_time(std::uint64_t number, hello& self);
  node* pick_trainer();
  void submit_study();
  void command_study();
  void command(study_id study, study_command what);
  void reopen(study_id id, const study_command& what);
  std::string some_values(const std::string& study);
  std::string some_trials(const std::string& study);
  std::string some_space();
  void drive_clients();
  void heal();

  // -- faults.cpp -------------------------------------------------------------

  void plan_faults();
  void inject(scenario::field field);
  void ail(bool ailments::*what);
  void run_out_of_memory();

  // -- checks.cpp -------------------------------------------------------------

  void check_store();
  void check_study(state_reader& store, const stored_study& study);
  bool all_ended();
  void note_health();
  void check_returns();
  void check_collected();
  void note_fruitless(const lease& work, const stop_point& next);
  void check_held();

  scenario what_;
  memory_disk& disk_;
  std::string folder_;
  std::function<void(const std::string&)> trace_;
  std::shared_ptr<trace_log> record_;
  std::mt19937_64 random_;  ///< of the order of messages and of delays
  std::mt19937_64 faults_;  ///< of what fails
  std::mt19937_64 studies_; ///< of what is submitted
  std::string violation_;
  /// Since when mergers hold trainers without a lease that others wait for.
  std::map<std::pair<const void*, trainer_id>, virtual_timeline::duration>
    kept_from_others_;
  std::uint64_t messages_ = 0;
  std::uint64_t compared_ = 0;

  std::shared_ptr<virtual_timeline> timeline_
    = std::make_shared<virtual_timeline>();
  std::shared_ptr<gang_room> gangs_ = std::make_shared<gang_room>();
  std::shared_ptr<hash_folder> files_ = std::make_shared<hash_folder>();
  config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_;
  caf::actor_clock::time_point begin_;

  std::set<caf::actor_id> outside_; ///< actors that are not the service's
  std::map<caf::actor_id, caf::strong_actor_ptr> inside_;
  std::set<caf::actor_id> frozen_;  ///< whose messages wait

  // The service of now.
  std::uint64_t life_ = 0;
  bool is_up_ = false;
  bool is_restored_ = false;
  service_actors actors_;
  caf::actor observer_;
  std::shared_ptr<state_writer> store_;
  std::shared_ptr<slow_thinking> thinking_;
  bool may_end_ = false; ///< the service has a reason to end by itself

  std::map<std::uint64_t, node> nodes_;
  std::uint64_t last_node_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t submissions_under_way_ = 0;

  /// After so many messages memory runs out in an actor; 0: in none.
  std::uint64_t memory_left_ = 0;
  /// The studies of which that may be said.
  std::set<study_id> out_of_memory_;

  std::vector<scenario::field> planned_; ///< faults to come, the last one first
  std::uint64_t next_fault_ = 0;         ///< at this message
  bool is_healing_ = false;
  bool had_healthy_ = true; ///< trainers, at least one at any time
  std::set<std::uint64_t> ever_sick_; ///< trainers
  struct attempts {
    std::uint64_t times = 0;
    std::uint64_t first_node = 0; ///< the last trainer at the first of them
  };
  /// How often training has failed by itself before a state was reported, by
  /// the identity of its node, the step and the settings.
  std::map<std::tuple<std::uint64_t, step_t, std::map<std::string, scalar>>,
           attempts>
    fruitless_;

  // What the service has told.
  std::map<study_id, std::string> accepted_; ///< texts by study
  std::set<study_id> ended_;                 ///< studies
  std::map<study_id, std::map<std::string, std::uint64_t>>
    answered_; ///< commands by study and verb
  struct told_result {
    trial_no trial = 0;
    step_t at = 0;
    metrics values;
  };
  std::map<study_id, std::vector<told_result>> heard_; ///< by study

  /// Where studies stood when the service was killed with nothing under way.
  struct standing {
    study_phase phase{};
    double weight = 1;
    std::size_t results = 0;
    std::vector<std::tuple<trial_state, step_t, std::string>> trials;
    friend bool operator==(const standing&, const standing&) = default;
  };
  [[nodiscard]] std::map<study_id, standing> standings() const;
  static std::string text_of(const standing& place);
  std::map<study_id, standing> stood_; ///< by study
};

} // namespace hippo::simulation
