#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common_options.hpp"
#include "event_trace.hpp"
#include "graceful_shutdown.hpp"
#include "hippo/base/devices.hpp"
#include "hippo/base/number.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/run_figures.hpp"
#include "hippo/search/think/thinking_pool.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/store/state_writer.hpp"
#include "interrupts.hpp"
#include "local_trainers.hpp"
#include "log_format.hpp"
#include "machine_list.hpp"
#include "network/trainer_port.hpp"
#include "object_place.hpp"
#include "outcome.hpp"
#include "page.hpp"
#include "run_console.hpp"
#include "service.hpp"
#include "stored_studies.hpp"
#include "studies.hpp"
#include "study_waits.hpp"
#include "system_config.hpp"
#include "terminal.hpp"
#include "verbs/study_files.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// How often the view is drawn and the trainers are looked after.
constexpr auto redraw_interval = 250ms;

/// How long nobody may be there who can train a study, while others are.
constexpr auto stuck_patience = 10s;

/// What `hippo run` was asked for.
struct run_options {
  std::vector<accepted_study> studies;
  workload_catalogue catalogue;
  std::string state = "hippo-state"; ///< folder for everything that must last
  std::string report;                ///< folder; empty: in the state folder
  local_trainer_options trainers;
  std::optional<fleet> machines; ///< that trainers are on; nothing: not known
  std::shared_ptr<trace_log> trace; ///< of the service's events; null: none
  std::string no_prices;         ///< as of `admission`
  hippo::policy policy = hippo::policy::critical_path;
  placement_rule placement = placement_rule::advantage;
  bool merge = true;
  std::uint64_t checkpoint_bytes_max = 20ull << 30; ///< of all workloads
  object_options objects; ///< where checkpoints are
  double grace_seconds = grace_seconds_usual;
  bool quiet = false;
  bool open = false; ///< whether to show the page
  /// The studies' numbers in the state folder, where they go on, ended or not;
  /// empty: they are given as files.
  std::vector<std::string> resumed;
};

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

/// A service and the trainer processes that it has started on this machine.
class local_service {
public:
  /// @param objects where checkpoints are; nothing: in the state folder
  local_service(run_options& options, std::shared_ptr<state_writer> store,
                std::optional<object_location> objects)
    : options_(options),
      store_(std::move(store)),
      objects_(std::move(objects)),
      actors_(system_, options_of(options, store_, objects_, where_)) {}

  ~local_service() { close(); }

  /// Starts everything.
  std::optional<error> open();

  /// Ends every actor and every trainer.
  void close();

  [[nodiscard]] progress_view view(double elapsed_seconds,
                                   const study_waits& waits);

  service& actors() { return actors_; }
  local_trainers& trainers() { return trainers_; }

private:
  static service_options
  options_of(const run_options& x, std::shared_ptr<state_writer> store,
             const std::optional<object_location>& objects,
             std::shared_ptr<thinking> where) {
    service_options result;
    result.coordinator.workloads = x.catalogue.workloads;
    result.coordinator.policy = x.policy;
    result.pool.placement = x.placement;
    result.pool.machines = x.machines;
    result.coordinator.merge = x.merge;
    result.coordinator.cold_folder = x.state;
    result.coordinator.where = std::move(where);
    result.coordinator.checkpoint_bytes_max = x.checkpoint_bytes_max;
    if (objects)
      keep_in_objects(result, *objects, store->checkpoints());
    result.store = std::move(store);
    result.trace = x.trace;
    return result;
  }

  [[nodiscard]] query_sources sources() const;
  std::optional<error> submit_all();
  std::optional<error> tell_left_alone(const std::set<study_id>& mine);
  std::optional<error> resume(study_id study);

  run_options& options_;
  std::shared_ptr<state_writer> store_;
  std::optional<object_location> objects_;
  std::shared_ptr<thinking_pool> where_ = std::make_shared<thinking_pool>();
  system_config config_;
  caf::actor_system system_{config_};
  service actors_;
  std::optional<gateway> depot_; ///< for what is in no object store
  std::optional<own_page> page_;
  std::optional<trainer_port> trainer_port_; ///< once it is open
  local_trainers trainers_;
  bool closed_ = false;
};

/// Returns which numerics studies ask for, each once.
std::vector<std::string> numerics_of(const std::vector<accepted_study>& all) {
  std::set<std::string> result;
  for (const auto& x : all)
    if (auto word = numerics_of(x.spec().workload); !word.empty())
      result.insert(std::move(word));
  return {result.begin(), result.end()};
}

std::optional<error> local_service::submit_all() {
  const auto& resumed = options_.resumed;
  const auto known
    = resumed.empty()
        ? load_stored_studies(store_->path(), continued::latest)
        : find_stored_studies(store_->path(), resumed);
  if (!known)
    return known.failure();
  std::set<study_id> mine;
  for (const auto& x : options_.studies) {
    // The same study goes on with what an earlier run has left of its name;
    // another, or one that has ended once more, is a new one.
    const auto found = std::ranges::find_if(*known, [&](const auto& y) {
      return y.name == x.spec().name
             && (!resumed.empty()
                 || (!has_ended(y.state) && y.text == x.text()));
    });
    auto stored
      = found == known->end() ? std::nullopt : std::optional{*found};
    const bool was_paused = stored && stored->state == study_phase::paused;
    auto study = x;
    if (stored) { // goes on by the rules by which it began
      auto read = admit_study(stored->text, stored->name,
                              options_.catalogue.workloads,
                              as_before(stored->algorithm, stored->typed));
      if (!read.study)
        return error{errc::invalid_argument,
                     "study " + stored->name + ": "
                       + read.errors.front().message};
      study = std::move(*read.study);
    }
    const auto id = actors_.submit({std::move(study), std::move(stored)});
    if (!id)
      return id.failure();
    mine.insert(*id);
    if (was_paused)
      if (auto why = resume(*id))
        return why;
  }
  return options_.quiet ? std::nullopt : tell_left_alone(mine);
}

/// Says which studies of the folder have not ended and are not of this run.
std::optional<error>
local_service::tell_left_alone(const std::set<study_id>& mine) {
  const auto known = load_stored_studies(store_->path(), continued::unended);
  if (!known)
    return known.failure();
  std::string names;
  for (const auto& x : *known)
    if (!mine.contains(x.id))
      names += (names.empty() ? "" : ", ") + to_string(x.id) + " ("
               + x.name + ')';
  if (!names.empty())
    std::cerr << "hippo: " << options_.state
              << " has studies that have not ended and are left alone: "
              << names << "; hippo run --resume " << options_.state
              << " --study NUMBER goes on with one, hippo serve with all\n";
  return std::nullopt;
}

/// Lets a study go on that was paused, or has paused by itself.
std::optional<error> local_service::resume(study_id study) {
  study_command what;
  what.what = study_command::verb::resume;
  for (const auto& x : actors_.status().studies)
    if (x.id == study)
      if (auto done
          = actors_.ask<command_answer>(x.handle, command_atom::value, what);
          !done)
        return done.failure();
  return std::nullopt;
}

std::optional<error> local_service::open() {
  auto usage = store_->load_usage();
  if (!usage)
    return usage.failure();
  std::uint64_t known_results = 0;
  for (const auto& x : *usage)
    known_results += x.results;
  if (auto why = actors_.open())
    return why;
  if (objects_) {
    gateway_options nearby;
    nearby.sources = sources();
    depot_.emplace(system_, std::move(nearby));
    if (auto why = depot_->open())
      return why;
    actors_.self()->send(actors_.coordinator(), depot_atom::value,
                         std::uint16_t{depot_->rpc_port()});
  }
  trainer_port_.emplace(system_,
                        caf::actor_cast<registrar_actor>(actors_.pool()),
                        trainer_port_options{});
  const auto port = trainer_port_->open();
  if (!port)
    return port.failure();
  // Trainers take a while to start: they do so while trials are merged.
  auto& numerics = options_.trainers.numerics;
  numerics = numerics_of(options_.studies);
  const auto& devices = options_.trainers.devices;
  if (numerics.size() > 1 && devices.size() == 1 && devices.front() == "cpu")
    return error{errc::invalid_argument,
                 "studies with numerics: native and studies with numerics: "
                 "portable need a trainer each: give --trainers 2"};
  if (auto why = trainers_.start(options_.catalogue, options_.trainers, *port,
                                 options_.state + "/logs"))
    return why;
  if (auto why = submit_all())
    return why;
  if (known_results > 0 && !options_.quiet)
    std::cerr << "hippo: " << options_.state << " holds " << known_results
              << " results of earlier runs; they are not trained again\n";
  actors_.go();
  if (!options_.open)
    return std::nullopt;
  page_.emplace(system_, sources());
  if (auto why = page_->open())
    return why;
  show_page(page_->address(), options_.quiet);
  return std::nullopt;
}

query_sources local_service::sources() const {
  query_sources result{
    options_.state, options_.state + "/hippo.log", options_.catalogue.workloads,
    actors_.coordinator(), actors_.pool(), actors_.journal(), where_,
    options_.checkpoint_bytes_max, options_.no_prices};
  result.objects = text_of(objects_);
  return result;
}

void local_service::close() {
  if (std::exchange(closed_, true))
    return;
  page_.reset();
  depot_.reset();
  actors_.close();
  trainers_.wait();
}

progress_view local_service::view(double elapsed_seconds,
                                  const study_waits& waits) {
  progress_view result;
  result.elapsed_seconds = elapsed_seconds;
  const auto known = actors_.status();
  std::map<std::uint64_t, trainer_progress> trainers;
  if (auto pool = actors_.ask<pool_status>(actors_.pool(), status_atom::value))
    for (const auto& x : pool->trainers)
      if (x.is_there())
        trainers[x.number].number = x.number;
  std::map<std::string, work_left> plans; // what their studies have in common
  for (const auto& x : known.mergers) {
    auto status = actors_.ask<merger_status>(x.handle, status_atom::value);
    if (!status)
      continue;
    const auto& figures = status->figures;
    result.asked_steps += figures.asked_steps;
    result.unique_steps += figures.unique_steps;
    result.trained_steps += status->trained_steps + status->reused_steps;
    result.saved_device_seconds += status->saved_seconds;
    auto& plan = plans[x.workload_key];
    plan.step_seconds = status->step_seconds;
    plan.set_shares(figures);
    for (const auto& y : status->running) {
      auto& trainer = trainers[number_of(y.trainer)];
      trainer.number = number_of(y.trainer);
      trainer.busy = true;
      ++trainer.lanes;
      trainer.stage = "step " + std::to_string(y.at) + " of "
                      + std::to_string(y.to);
      trainer.steps_per_second += y.steps_per_second;
      plan.running = std::max(plan.running, y.to - std::min(y.at, y.to));
    }
  }
  std::vector<work_left> left;
  for (const auto& x : known.studies) {
    auto status = actors_.ask<study_status>(x.handle, status_atom::value);
    if (!status)
      continue;
    result.studies.push_back(waits.progress_of(*status));
    auto& work = left.emplace_back(plans[x.workload_key]);
    work.waiting_steps = status->waiting_steps;
    work.steps_to_come = status->to_come.steps;
    work.longest_to_come = status->to_come.longest;
    if (status->seconds_max)
      work.seconds_max
        = std::max(0.0, *status->seconds_max - status->view.active_seconds);
  }
  for (const auto& [number, x] : trainers)
    result.trainers.push_back(x);
  result.seconds_left
    = seconds_left(left, static_cast<double>(trainers.size()));
  return result;
}

/// Follows the run until every study has ended or paused, it is interrupted, or
/// nobody is left who could train. What runs then is saved.
/// @param failed set to the name of a study that has failed, if one has
std::optional<error> follow(local_service& svc, run_console& out,
                            const run_options& options, study_waits& waits,
                            clock::time_point begin, std::string& failed) {
  auto left = options.studies.size();
  auto next_look = clock::now();
  auto could_train_at = clock::now();
  std::optional<graceful_shutdown> halted;
  std::optional<error> broken;
  const auto say = [&](const std::string& text) { out.say(text); };
  const auto wind_down = [&](std::optional<error> why) {
    broken = std::move(why);
    halted.emplace(svc.actors(), options.grace_seconds);
  };
  while (left > 0) {
    bool has_died = false;
    svc.actors().self()->receive(
      [&](notify_atom, trial_event& x) { out.tell(std::move(x)); },
      [&](notify_atom, const study_end& x) {
        --left;
        if (x.state == study_phase::failed)
          failed = x.name;
      },
      [&](const caf::down_msg& x) {
        has_died = true;
        broken = error{errc::io_failed, "the state could not be written: "
                                          + caf::to_string(x.reason)};
      },
      caf::after(redraw_interval) >> [] {});
    if (has_died)
      return broken;
    if (clock::now() < next_look)
      continue;
    next_look = clock::now() + redraw_interval;
    if (interrupt_guard::is_asked() && !halted) {
      say("interrupted: the trainers finish their present steps and save them; "
          "Ctrl-C again to exit at once");
      wind_down({});
    }
    if (halted) {
      if (halted->is_over()) {
        if (halted->was_cut_off())
          say("a step took longer than " + to_text(options.grace_seconds)
              + " s (--grace-seconds): it is trained again");
        return broken;
      }
    } else if (!svc.trainers().look_after(say)) {
      return error{errc::training_failed,
                   "no trainer is left; what is done is kept"};
    } else {
      waits.look(svc.actors(), say);
      if (waits.stuck().empty())
        could_train_at = clock::now();
      else if (clock::now() - could_train_at > stuck_patience)
        wind_down(error{errc::training_failed, waits.stuck()});
      if (!halted && !waits.paused().empty())
        wind_down(error{errc::training_failed, waits.paused()});
    }
    if (out.wants_view())
      out.show(svc.view(seconds_since(begin), waits));
  }
  return broken;
}

/// Runs studies to their end with trainers on this machine, and writes the
/// report. Results that the state folder holds already are not trained again.
/// @returns the exit code: 0 done, 1 failed, 2 bad input, 130 interrupted
int run(run_options options) {
  if (!check_workloads(options.studies, options.catalogue,
                       options.trainers.devices))
    return exit_bad_input;
  for (const auto& x : options.studies)
    warn_unchecked(x.spec());
  if (!options.quiet)
    warn_of_sharing(options.studies, options.catalogue);
  auto store = state_writer::open(options.state);
  if (!store)
    return fail(store.failure(), exit_bad_input);
  log_to(make_log_files(options.state + "/hippo.log"), "hippo", {});
  if (auto why = open_trace(options.trace))
    return fail(*why, exit_bad_input);
  const interrupt_guard guard;
  auto objects = find_object_place(options.state, options.objects);
  if (!objects)
    return fail(objects.failure(), exit_bad_input);
  if (auto why = leave_object_place(options.state, *objects))
    return fail(*why, exit_failed);
  auto board = waiting_board::make(options.state);
  if (!board)
    return fail(board.failure(), exit_failed);
  study_waits waits{std::move(*board)};
  const auto default_report = (*store)->report();
  local_service svc{options, std::shared_ptr<state_writer>(std::move(*store)),
                    std::move(*objects)};
  const auto begin = clock::now();
  if (auto why = svc.open())
    return fail(*why, exit_failed);
  run_console out{options.quiet, options.studies.size() == 1};
  std::string failed;
  const auto broken = follow(svc, out, options, waits, begin, failed);
  const auto wall_seconds = seconds_since(begin);
  auto record = svc.actors().record(wall_seconds);
  svc.close();
  if (!record)
    return fail(broken ? *broken : record.failure(), exit_failed);
  record->interrupted = interrupt_guard::is_asked() || broken;
  const auto folder
    = options.report.empty()
        ? write_dated_report(*record, default_report, std::time(nullptr))
        : write_report(*record, options.report);
  if (!folder)
    return fail(folder.failure(), exit_failed);
  out.clear();
  std::cout << summary_text(*record, 5, has_colour(STDOUT_FILENO))
            << "report: " << *folder << '\n';
  for (const auto& x : options.studies)
    if (!is_exact(x.spec().workload))
      std::cout << "study " << x.spec().name << " is not exact, as it says: "
                << (may_share(x.spec().workload)
                      ? "its results depend on which trials shared training\n"
                      : "its results depend on how training was cut, and no "
                        "two trials shared any\n");
  if (broken)
    return fail(*broken, exit_failed);
  if (interrupt_guard::is_asked()) {
    std::cerr << "interrupted; go on with: hippo run --resume "
              << options.state;
    for (const auto& x : options.resumed)
      std::cerr << " --study " << x;
    std::cerr << '\n';
    return exit_interrupted;
  }
  if (const auto why = find_hopeless(*record))
    return fail(*why, exit_failed);
  if (!failed.empty())
    return fail({errc::training_failed,
                 "study '" + failed + "' has failed: see " + options.state
                   + "/hippo.log"},
                exit_failed);
  return exit_done;
}

struct run_arguments {
  common_options common;
  study_files studies;
  std::string resume;
  std::vector<std::string> resumed;
  schedule_options schedule;
  std::vector<std::string> devices{"cpu"};
  std::optional<unsigned> trainers;
  machine_list machines;
  run_options run;
};

int run(run_arguments& x) {
  if (x.studies.files.empty() == x.resume.empty())
    return fail({errc::invalid_argument,
                 "give study files, or --resume with a state folder"},
                exit_bad_input);
  if (!x.machines.load(x.run.machines))
    return exit_bad_input;
  x.run.no_prices = x.machines.why_no_prices();
  auto devices = devices_of_trainers(x.devices, x.trainers, machine_cores());
  if (!devices)
    return fail(devices.failure(), exit_bad_input);
  x.run.trainers.devices = std::move(*devices);
  const auto sources = x.resume.empty()
                         ? x.studies.read()
                         : sources_in(x.resume, x.resumed, x.run.resumed);
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  auto known = load_workloads(x.common);
  if (!known)
    return exit_bad_input;
  auto how = x.resume.empty() ? new_study() : admission{};
  if (!x.resume.empty())
    how.names = name_rules::of_before;
  how.no_prices = x.run.no_prices;
  how.trainers = x.run.trainers.devices.size();
  auto studies = load_studies(*sources, known->catalogue, how);
  if (!studies)
    return exit_bad_input;
  if (!x.resume.empty())
    x.run.state = x.resume;
  x.run.catalogue = std::move(known->catalogue);
  x.run.studies = std::move(*studies);
  x.run.merge = x.schedule.merges();
  x.run.policy = x.schedule.policy();
  x.run.placement = x.schedule.places();
  return run(std::move(x.run));
}

} // namespace

void add_run(verb_table& verbs) {
  const auto x = std::make_shared<run_arguments>();
  auto* verb = verbs.add(local_group, "run", "Run studies on this machine",
                         "hippo run a.yaml b.yaml --trainers 2",
                         [x] { return run(*x); });
  x->studies.add_to(*verb);
  verb->add_option("--device", x->devices,
                   "cpu, cuda:N (repeatable) or all: every GPU, else the CPU")
    ->check(check_device_name)
    ->allow_extra_args(false)
    ->capture_default_str();
  verb->add_option("--trainers", x->trainers,
                   "Trainer processes on the CPU")
    ->check(CLI::Range(1u, trainers_max))
    ->default_str(std::to_string(machine_cores()));
  add_threads(*verb, x->run.trainers.threads);
  add_at_once(*verb, x->run.trainers.at_once);
  verb->add_option("--state", x->run.state,
                   "Folder for results and checkpoints")
    ->capture_default_str();
  verb->add_option("--resume", x->resume,
                   "Go on with the studies of this state folder");
  verb->add_option("--study", x->resumed,
                   "With --resume: go on with this one, a number or a name "
                   "(repeatable; default: the last of each name)")
    ->needs("--resume")
    ->allow_extra_args(false);
  verb->add_option("--report", x->run.report,
                   "Folder for the report (default: in the state folder)");
  x->machines.add_to(*verb);
  x->schedule.add_to(*verb);
  add_checkpoint_budget(*verb, x->run.checkpoint_bytes_max, "20GB");
  x->run.objects.add_to(*verb);
  add_grace(*verb, x->run.grace_seconds);
  add_call_grace(*verb, x->run.trainers.grace_seconds);
  verb->add_flag("--quiet", x->run.quiet, "Show no progress");
  verb->add_flag("--open", x->run.open,
                 "Show the page while it runs; with --quiet, say where it is");
  x->common.add_to(*verb);
}

} // namespace hippo
