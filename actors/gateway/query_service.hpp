#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <kj/async.h>
#include <kj/timer.h>

#include "gateway/actor_caller.hpp"
#include "gateway/archive.hpp"
#include "gateway/client_work.hpp"
#include "gateway/commit_watcher.hpp"
#include "gateway/http_body.hpp"
#include "gateway/study_forecast.hpp"
#include "hippo/search/accepted_study.hpp"
#include "messages.hpp"

namespace hippo {

/// What a query_service answers from.
struct query_sources {
  std::string state;    ///< the state folder
  std::string log_file; ///< of the service; empty: there is none
  std::vector<workload_descriptor> workloads;
  /// The actors of the service; none: the folder is only looked at, and what
  /// would change something is refused.
  coordinator_actor coordinator{};
  pool_actor pool{};
  journal_actor journal{};
  /// Where what clients ask for is worked out; null: on threads of its own.
  std::shared_ptr<thinking> where{};
  /// What checkpoints may take; nothing: no limit, or it is not known.
  std::optional<std::uint64_t> checkpoint_bytes_max{};
  std::string no_prices{}; ///< as of `admission`
  /// Where in an object store checkpoints are; empty: in the state folder.
  std::string objects{};
  /// The workloads of which clients may submit studies that bring code;
  /// nothing: any.
  std::optional<std::vector<workload_spec>> code_allowed{};
};

/// What a service keeps, and what merging has come to.
struct service_view {
  std::vector<checkpoints_view> checkpoints;
  std::optional<std::uint64_t> checkpoint_bytes_max; ///< nothing: no limit
  /// What the books of studies and plans take in memory, about.
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> memory_bytes_max; ///< nothing: no limit
  // Of the plans in memory; nothing if nothing was delivered.
  std::optional<double> merge_rate;        ///< p: docs/sharing.md
  std::optional<double> k_wise_merge_rate; ///< q
};

/// What the actors say of what runs now.
struct live_view {
  pool_status pool;
  journal_status journal;
  std::map<study_id, study_status> studies; ///< by id
  std::vector<merger_status> mergers;
  std::map<std::string, std::size_t> merger_of; ///< place, by workload key
  std::map<study_id, study_forecast> ahead;     ///< of `studies`
  std::map<study_id, std::string> absent; ///< as of `coordinator_status`
  /// Where no service is in this process, for what studies wait, as one says
  /// that works in the state folder.
  std::map<study_id, std::string> told;
  /// What studies and plans may take in memory; nothing: no limit.
  std::optional<std::uint64_t> memory_bytes_max;
};

/// As fleet_demand.hpp has it.
demand_view demand_of(const live_view& now);

/// A study, and the file that it came from.
struct described_study {
  study_view view;
  std::string text;
};

/// Says to a client that nobody is there who could change something.
kj::Exception no_service();

/// The same as an error.
error looked_at_only();

/// Answers the questions of all clients, however they come. Nothing blocks:
/// what is stored is read by one thread, what takes long is worked out in turns
/// with others (`client_work`), and the actors are asked. Every promise may
/// fail with an exception whose text is for clients.
///
/// Belongs to the thread of an event loop.
class query_service : private kj::TaskSet::ErrorHandler {
public:
  /// @returns `errc` as of `state_reader::open`
  static expected<std::unique_ptr<query_service>>
  open(caf::actor_system& system, query_sources sources, kj::Timer& timer);

  /// Fails whatever is yet to be answered. Any thread may call it.
  void close();

  /// Why clients may not send files of initial states; nothing: they may.
  [[nodiscard]] std::optional<error> refusal_of_files() const;

  // -- what is stored ---------------------------------------------------------

  kj::Promise<stored_study> find(std::string id_or_name);
  kj::Promise<described_study> describe(study_id id);
  /// @param removed whether hidden studies are wanted as well
  kj::Promise<std::vector<study_view>> list(bool removed);
  kj::Promise<std::vector<trial_view>>
  trials(study_id study, std::uint64_t first, std::size_t most);
  kj::Promise<trial_view> best(study_id study);
  /// As of `archive::export_part`.
  kj::Promise<exported_part> export_part(client_work& client, study_id study,
                                         std::string after);
  /// Measured times, by workload.
  kj::Promise<std::vector<workload_timings_view>> timings();

  kj::Promise<events_view> events(study_id study, std::uint64_t after,
                                  std::size_t most);
  /// Returns events of a trial.
  kj::Promise<events_view> events_of(study_id study, trial_no trial,
                                     std::uint64_t after, std::size_t most);

  /// A part of the log, and where the next one begins.
  struct log_part {
    std::string text;
    std::uint64_t next = 0;
  };
  kj::Promise<log_part> logs(std::uint64_t after);
  kj::Promise<trial_output> output(study_id study,
                                           trial_no trial, step_t first);

  kj::Promise<weights_recipe> weights(study_id study, trial_no trial,
                                      step_t step,
                                      std::set<std::string> without);
  kj::Promise<std::string> checkpoint_part(study_id study,
                                           std::string file,
                                           std::uint64_t offset);

  /// What a page shows of a study: `table`, `curves`, `tree`,
  /// `front`, `sharing`, `schedules` or `work` of study_history.hpp.
  kj::Promise<packed_body> columns(study_id study, std::string what,
                                   std::uint64_t after,
                                   std::string metric = {});

  /// What the best tenth of a study's trials have in common:
  /// study_importance.hpp.
  kj::Promise<importance_view> importance(client_work& client, study_id study,
                                          step_t step, std::string metric);

  /// Returns a number that changes whenever something was stored.
  std::uint64_t news() { return watch_.version(); }

  /// Returns once something was stored since `version`, or it is `deadline`.
  kj::Promise<void> news_after(std::uint64_t version, kj::TimePoint deadline) {
    return watch_.after(version, deadline);
  }

  kj::Promise<archive::totals> count();

  // -- what runs --------------------------------------------------------------

  kj::Promise<live_view> live();
  kj::Promise<std::vector<trainer_view>> trainers();
  /// The trainers that could be used: fleet_demand.hpp.
  kj::Promise<demand_view> demand() {
    return live().then([](const live_view& now) { return demand_of(now); });
  }

  /// The stage trees of the mergers in memory.
  kj::Promise<std::vector<merger_overview>> trees();

  /// How the journal does, or did when it last said so: while it waits for the
  /// disk it does not answer, and nobody is to wait for that.
  kj::Promise<journal_status> journal_lately();

  /// What a client would find that comes now: what is stored is read and
  /// written, the coordinator and the pool are asked. At most a second old, and
  /// told at once.
  /// @returns what is wrong, in one sentence; empty: nothing
  kj::Promise<std::string> health();

  /// What the service keeps.
  kj::Promise<service_view> keeps();

  // -- what changes something -------------------------------------------------

  struct submitted {
    study_id id{};
    std::vector<std::string> warnings;
    std::vector<std::string> notes; ///< what was decided for it, and why
  };
  kj::Promise<submitted> submit(client_work& client, std::string text,
                                std::string name);

  /// Returns what a study would train.
  /// @param stages_max so many stages of its tree are wanted at most
  kj::Promise<preview_view> preview(client_work& client, std::string text,
                                    std::string name, std::size_t stages_max);

  kj::Promise<command_answer> command(client_work& client, study_id study,
                                      study_command what);

  /// Trains a trial. Those who want the same wait together.
  kj::Promise<trained_trial> train(study_id study, trial_no trial, step_t to);

  // ---------------------------------------------------------------------------

  /// Where a client's work is done that has just come; it outlives the calls
  /// that are given it.
  [[nodiscard]] kj::Own<client_work> enter() const {
    return kj::heap<client_work>(where_);
  }

  [[nodiscard]] const std::string& state() const { return sources_.state; }
  [[nodiscard]] kj::Timer& timer() const { return timer_; }
  /// Returns when a call that wants to wait so long has waited enough.
  [[nodiscard]] kj::TimePoint deadline(std::uint32_t wait_millis) const;

private:
  query_service(caf::actor_system& system, query_sources sources,
                kj::Timer& timer, std::unique_ptr<archive> stored,
                std::unique_ptr<state_reader> watched);

  /// Runs `function`, which is given the archive, on the reader's thread.
  template <class T, class F>
  kj::Promise<T> read(F function) {
    return reader_.run<T>([function = std::move(function), x = archive_.get()] {
      return function(*x);
    });
  }

  void taskFailed(kj::Exception&&) override {} // none can

  using workload_list = std::vector<workload_descriptor>;

  /// Looks how the service does.
  kj::Promise<std::string> examine();
  /// How the journal does now.
  kj::Promise<journal_status> journal();

  /// Reads and checks a study; its workloads are known.
  static expected<study_admission> load(const std::string& text,
                                        const std::string& name,
                                        const workload_list& workloads,
                                        const admission& how);
  /// Fails if a study was refused.
  struct only_admitted {
    kj::Promise<study_admission> operator()(study_admission admission) const;
  };
  /// Runs `function`, which is given an archive of its own, when it is its
  /// turn.
  template <class T, class F>
  kj::Promise<T> explore(client_work& client, F function);
  /// How a study comes in that is new.
  kj::Promise<admission> as_new();
  /// Says whether what it may cost is too little, if that can be worked out.
  kj::Promise<std::optional<diagnostic>>
  note_cost(client_work& client, const accepted_study& study);
  /// Whether there are actors to ask.
  [[nodiscard]] bool is_live() const {
    return static_cast<bool>(sources_.coordinator);
  }
  /// Previews a study in the tree of those that are there.
  /// @param running the stages of the plan in memory, if there is one
  kj::Promise<preview_view>
  preview_beside(client_work& client, accepted_study study,
                 std::size_t stages_max,
                 std::optional<std::vector<overview_stage>> running);
  /// The actor of a study, which may have ended since it was last asked for.
  kj::Promise<study_actor> find_live(study_id study);
  /// Asks the actor of a study. One that has gone may have been followed by
  /// another, which is asked then.
  /// @param timeout after which the answer is no longer waited for
  template <class T, class Timeout, class... Ts>
  kj::Promise<T> ask_study(study_id study, Timeout timeout, Ts... xs);
  /// Gives a command to a study that runs, or has ended meanwhile.
  kj::Promise<command_answer>
  command_running(client_work& client, study_id study, study_command what);
  /// Gives a command to a study that has ended.
  kj::Promise<command_answer> reopen(client_work& client, stored_study study,
                                     study_command what);
  kj::Promise<trained_trial> start_training(study_id study, trial_no trial,
                                            step_t to);

  const query_sources sources_;
  kj::Timer& timer_;
  std::unique_ptr<archive> archive_; ///< the reader's
  commit_watcher watch_;
  actor_caller asker_;
  actor_caller reader_;
  std::shared_ptr<thinking> where_;
  /// Jobs that run may outlive this.
  std::shared_ptr<const workload_list> workloads_;
  /// Those that were asked for, by number: to ask the coordinator each time
  /// changes threads four times more.
  std::map<study_id, study_actor> live_;

  using training_key = std::tuple<study_id, trial_no, step_t>;
  /// What is being trained for clients. It stays when they go: the study waits
  /// for it all the same.
  std::map<training_key, kj::ForkedPromise<trained_trial>> trainings_;
  /// The journal's last status, the request under way, and its start.
  journal_status journal_;
  kj::Maybe<kj::ForkedPromise<void>> asked_journal_;
  kj::TimePoint asked_journal_at_ = kj::origin<kj::TimePoint>();
  /// What was found of how the service does, or is being looked for.
  kj::Maybe<kj::ForkedPromise<std::string>> examined_;
  kj::TimePoint examined_at_ = kj::origin<kj::TimePoint>();
  std::optional<std::string> health_; ///< what was found last
  kj::TaskSet tasks_{*this};
};

} // namespace hippo
