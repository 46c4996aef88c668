#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common_options.hpp"
#include "hippo/base/devices.hpp"
#include "hippo/base/number.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/run_figures.hpp"
#include "hippo/space/own_workload.hpp"
#include "machine_list.hpp"
#include "outcome.hpp"
#include "packing.hpp"
#include "page.hpp"
#include "run_console.hpp"
#include "service_node.hpp"
#include "stored_studies.hpp"
#include "studies.hpp"
#include "terminal.hpp"
#include "verbs/initial_states.hpp"
#include "verbs/study_files.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// How long nobody may be there who can train a study, while others are.
constexpr auto stuck_patience = 10s;

/// How long the end waits for clients that have yet to leave.
constexpr auto clients_patience = 3s;
constexpr auto clients_interval = 20ms;

/// What `hippo run` was asked for.
struct run_options {
  node_options node;
  std::vector<accepted_study> studies;
  std::string report; ///< folder; empty: in the state folder
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

/// Returns which numerics studies ask for, each once.
std::vector<std::string> numerics_of(const std::vector<accepted_study>& all) {
  std::set<std::string> result;
  for (const auto& x : all)
    if (auto word = numerics_of(x.spec().workload); !word.empty())
      result.insert(std::move(word));
  return {result.begin(), result.end()};
}

/// Returns how many ranks trials of the studies have, each number once.
std::vector<std::uint32_t> ranks_of(const std::vector<accepted_study>& all) {
  std::set<std::uint32_t> result;
  for (const auto& x : all)
    result.insert(ranks_of(x.spec().workload));
  return {result.begin(), result.end()};
}

// -- submitting ---------------------------------------------------------------

/// Returns the folder of a state folder that holds the files of initial states.
std::string initial_files_of(const std::string& state) {
  return state_reader::checkpoints_of(state) + '/' + initial_folder_name;
}

/// Lets a study go on that was paused, or has paused by itself.
std::optional<error> resume(service& actors, study_id study) {
  study_command what;
  what.what = study_command::verb::resume;
  for (const auto& x : actors.status().studies)
    if (x.id == study)
      if (auto done =
            actors.ask<command_answer>(x.handle, command_atom::value, what);
          !done)
        return done.failure();
  return std::nullopt;
}

/// Says which studies of the folder have not ended and are not of this run.
std::optional<error> tell_left_alone(const run_options& options,
                                     const std::set<study_id>& mine) {
  const auto& folder = options.node.state;
  const auto known = load_stored_studies(folder, continued::unended);
  if (!known)
    return known.failure();
  std::string names;
  for (const auto& x : *known)
    if (!mine.contains(x.id))
      names +=
        (names.empty() ? "" : ", ") + to_string(x.id) + " (" + x.name + ')';
  if (!names.empty())
    say(folder + " has studies that have not ended and are left alone: " + names
        + "; hippo run --resume " + folder
        + " --study NUMBER goes on with one, hippo serve with all");
  return std::nullopt;
}

/// Submits the studies of a run. @returns why one is not taken
std::optional<error> submit_all(service& actors, const run_options& options) {
  const auto& folder = options.node.state;
  const auto& resumed = options.resumed;
  const auto known = resumed.empty()
                       ? load_stored_studies(folder, continued::latest)
                       : find_stored_studies(folder, resumed);
  if (!known)
    return known.failure();
  std::set<study_id> mine;
  for (const auto& x : options.studies) {
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
    if (const auto state = stored ? std::nullopt : initial_state_in(x.text()))
      if (auto why = place_initial_state(*state, initial_files_of(folder)))
        return why;
    auto study = x;
    if (stored) { // goes on by the rules by which it began
      auto read = admit_study(stored->text, stored->name,
                              options.node.catalogue.workloads,
                              as_before(stored->algorithm, stored->typed));
      if (!read.study)
        return error{errc::invalid_argument,
                     "study " + stored->name + ": "
                       + read.errors.front().message};
      study = std::move(*read.study);
    }
    const auto id = actors.submit({std::move(study), std::move(stored)});
    if (!id)
      return id.failure();
    mine.insert(*id);
    if (was_paused)
      if (auto why = resume(actors, *id))
        return why;
  }
  return options.quiet ? std::nullopt : tell_left_alone(options, mine);
}

/// Submits the studies, and says where the run can be met.
std::optional<error> begin(service_node& node, const run_options& options) {
  auto usage = node.store().load_usage();
  if (!usage)
    return usage.failure();
  std::uint64_t known_results = 0;
  for (const auto& x : *usage)
    known_results += x.results;
  if (auto why = submit_all(node.actors(), options))
    return why;
  if (auto why = node.announce())
    return why;
  if (known_results > 0 && !options.quiet)
    say(options.node.state + " holds " + std::to_string(known_results)
        + " results of earlier runs; they are not trained again");
  if (!options.quiet)
    say("page " + node.page() + ", other verbs take --server "
        + node.client_address());
  node.actors().go();
  if (options.open)
    show_page(node.page(), options.quiet);
  return std::nullopt;
}

// -- following ----------------------------------------------------------------

/// A run on its way.
class followed_run {
public:
  followed_run(service_node& node, run_console& out, const run_options& options)
    : node_(node), out_(out), options_(options) {}

  /// Follows it until all studies have ended, those of clients too, or none can
  /// go on, or it is interrupted. What runs then is saved.
  /// @returns why it has ended before its time, but for an interrupt
  std::optional<error> follow();

  /// How a study has ended that was not to end so; empty: none has.
  [[nodiscard]] const std::string& failed() const { return failed_; }

private:
  void say(const std::string& text) { out_.say(text); }
  std::optional<error> look();
  void tell_rest();
  std::optional<error> wind_down(std::optional<error> why);

  service_node& node_;
  run_console& out_;
  const run_options& options_;
  const clock::time_point begin_ = clock::now();
  clock::time_point could_train_at_ = begin_;
  std::string failed_;
  std::string told_rest_;
  const service_node::listener listener_{
    [this](trial_event& x) { out_.tell(std::move(x)); },
    [this](const study_end& x) {
      if (x.state == study_phase::failed)
        failed_ = "study '" + x.name + "' has failed: see "
                  + options_.node.state + "/hippo.log";
      else if (x.state == study_phase::cancelled)
        failed_ = "study '" + x.name + "' was cancelled";
    }};
};

std::optional<error> followed_run::follow() {
  for (;;) {
    if (auto why = node_.hear(listener_))
      return why;
    if (node_.actors().retire())
      return node_.hear_rest(listener_); // the ends of studies, say
    if (interrupt_guard::is_asked()) {
      say("interrupted: the trainers finish their present steps and save them; "
          "Ctrl-C again to exit at once");
      return wind_down({});
    }
    if (!node_.trainers().look_after([this](const auto& x) { say(x); }))
      return error{errc::training_failed,
                   "no trainer is left; what is done is kept"};
    if (auto why = look())
      return wind_down(std::move(why));
    out_.draw();
  }
}

/// Looks for what studies wait. @returns why they cannot go on
std::optional<error> followed_run::look() {
  auto& waits = node_.waits();
  waits.look(node_.actors(), [this](const auto& x) { say(x); });
  out_.follow(waits.all(), waits.at_work());
  if (waits.stuck().empty())
    could_train_at_ = clock::now();
  else if (clock::now() - could_train_at_ > stuck_patience)
    return error{errc::training_failed, waits.stuck()};
  if (!waits.failing().empty())
    return error{errc::training_failed, waits.failing()};
  tell_rest();
  return std::nullopt;
}

/// Says that nothing goes on because somebody has paused it.
void followed_run::tell_rest() {
  std::string text;
  for (const auto& x : node_.waits().paused())
    text += (text.empty() ? "" : "\n") + std::string{"study "} + x.name
            + " is paused: hippo resume " + to_string(x.id) + " --server "
            + node_.client_address() + " goes on with it";
  if (text != told_rest_ && !text.empty())
    say(text);
  told_rest_ = std::move(text);
}

std::optional<error> followed_run::wind_down(std::optional<error> why) {
  const auto rest =
    node_.wind_down(options_.grace_seconds, listener_, [this] { out_.draw(); });
  if (rest.broken)
    return rest.broken;
  if (rest.was_cut_off)
    say("a step took longer than " + to_text(options_.grace_seconds)
        + " s (--grace-seconds): it is trained again");
  return why;
}

// -- the verb -----------------------------------------------------------------

/// Writes the report of a run, and prints its summary.
/// @returns nothing, or why it cannot be written
std::optional<error> tell_results(const run_record& record,
                                  const run_options& options) {
  const auto folder =
    options.report.empty() ? write_dated_report(
      record, options.node.state + "/report", std::time(nullptr))
                           : write_report(record, options.report);
  if (!folder)
    return folder.failure();
  std::cout << summary_text(record, 5, has_colour(STDOUT_FILENO))
            << "report: " << *folder << '\n';
  for (const auto& x : options.studies)
    if (!is_exact(x.spec().workload))
      std::cout << "study " << x.spec().name << " is not exact, as it says: "
                << (may_share(x.spec().workload)
                      ? "its results depend on which trials shared training\n"
                      : "its results depend on how training was cut, and no "
                        "two trials shared any\n");
  return std::nullopt;
}

/// Gives clients that follow the run time to hear how it ends, and to leave.
void await_clients(const service_node& node) {
  const auto until = clock::now() + clients_patience;
  while (node.entry().clients() > 0 && clock::now() < until
         && !interrupt_guard::is_asked())
    std::this_thread::sleep_for(clients_interval);
}

int tell_interrupt(const run_options& options) {
  std::cerr << "interrupted; go on with: hippo run --resume "
            << options.node.state;
  for (const auto& x : options.resumed)
    std::cerr << " --study " << x;
  std::cerr << '\n';
  return exit_interrupted;
}

/// Runs studies to their end with trainers on this machine, and writes the
/// report. Results that the state folder holds already are not trained again.
/// @returns the exit code: 0 done, 1 failed, 130 interrupted
int run(service_node& node, const run_options& options) {
  if (auto why = begin(node, options))
    return fail(*why, exit_failed);
  const auto begun = clock::now();
  run_console out{options.quiet, node.client_address(),
                  options.studies.size() == 1
                    ? options.studies.front().spec().name
                    : std::string{}};
  followed_run studies{node, out, options};
  const auto broken = studies.follow();
  auto record = node.actors().record(seconds_since(begun));
  out.close();
  await_clients(node);
  node.close();
  if (!record)
    return fail(broken ? *broken : record.failure(), exit_failed);
  record->interrupted = interrupt_guard::is_asked() || broken;
  if (const auto why = tell_results(*record, options))
    return fail(*why, exit_failed);
  if (broken)
    return fail(*broken, exit_failed);
  if (interrupt_guard::is_asked())
    return tell_interrupt(options);
  if (const auto why = find_hopeless(*record))
    return fail(*why, exit_failed);
  if (!studies.failed().empty())
    return fail({errc::training_failed, studies.failed()}, exit_failed);
  return exit_done;
}

/// @returns the exit code: that of the run, or 2 for bad input
int run(run_options options) {
  auto& local = options.node.local;
  if (!check_workloads(options.studies, options.node.catalogue, local.devices,
                       initial_files_of(options.node.state)))
    return exit_bad_input;
  for (const auto& x : options.studies)
    warn_unchecked(x.spec());
  if (!options.quiet)
    warn_of_sharing(options.studies, options.node.catalogue);
  // On a CPU float32 and tf32 are one; a resumed study cannot choose any more.
  if (!options.quiet && options.resumed.empty()
      && local.devices.front() != "cpu")
    warn_of_precision(options.studies);
  auto& allowed = options.node.code_allowed.emplace();
  for (const auto& x : options.studies)
    allowed.push_back(x.spec().workload);
  local.numerics = numerics_of(options.studies);
  if (local.numerics.size() > 1 && local.devices.size() == 1
      && local.devices.front() == "cpu")
    return fail({errc::invalid_argument,
                 "studies with numerics: native and studies with numerics: "
                 "portable need a trainer each: give --trainers 2"},
                exit_failed);
  local.ranks = ranks_of(options.studies);
  if (local.ranks.size() > local.devices.size())
    return fail(
      {errc::invalid_argument, "studies of different ranks ("
                                 + std::to_string(local.ranks.front()) + " and "
                                 + std::to_string(local.ranks.back())
                                 + ") need a trainer each: give --trainers "
                                 + std::to_string(local.ranks.size())
                                 + ", or run them one after the other"},
      exit_failed);
  return with_node(options.node,
                   [&](service_node& x) { return run(x, options); });
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
  if (!x.machines.load(x.run.node.machines))
    return exit_bad_input;
  x.run.node.no_prices = x.machines.why_no_prices();
  auto devices = devices_of_trainers(x.devices, x.trainers, machine_cores());
  if (!devices)
    return fail(devices.failure(), exit_bad_input);
  x.run.node.local.devices = std::move(*devices);
  service_address earlier; // studies of the state folder
  earlier.state = x.run.node.state;
  fetched_states states{std::move(earlier), {x.common}};
  const auto sources = x.resume.empty()
                         ? x.studies.read(states.fetcher())
                         : sources_in(x.resume, x.resumed, x.run.resumed);
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  states.disconnect();
  auto known = load_workloads(x.common);
  if (!known)
    return exit_bad_input;
  auto how = x.resume.empty() ? new_study() : admission{};
  if (!x.resume.empty())
    how.names = name_rules::of_before;
  how.no_prices = x.run.node.no_prices;
  how.trainers = x.run.node.local.devices.size();
  auto studies = load_studies(*sources, known->catalogue, how);
  if (!studies)
    return exit_bad_input;
  if (!x.resume.empty())
    x.run.node.state = x.resume;
  x.run.node.catalogue = std::move(known->catalogue);
  x.run.studies = std::move(*studies);
  x.run.node.merge = x.schedule.merges();
  x.run.node.gangs = x.schedule.joins();
  x.run.node.notifies_private = true; // the study files are its user's
  x.run.node.policy = x.schedule.policy();
  x.run.node.placement = x.schedule.places();
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
  add_threads(*verb, x->run.node.local.threads);
  add_at_once(*verb, x->run.node.local.at_once);
  add_prepare_threads(*verb, x->run.node.local.prepare_threads);
  add_data_memory(*verb, x->run.node.local.data_memory_bytes);
  add_members(*verb, x->run.node.local.members);
  verb
    ->add_option("--state", x->run.node.state,
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
  add_checkpoint_budget(*verb, x->run.node.checkpoint_bytes_max, "20GB");
  x->run.node.objects.add_to(*verb);
  add_grace(*verb, x->run.grace_seconds);
  add_call_grace(*verb, x->run.node.local.grace_seconds);
  verb->add_flag("--quiet", x->run.quiet, "Show no progress");
  verb->add_flag("--open", x->run.open,
                 "Show the page while it runs; with --quiet, say where it is");
  x->common.add_to(*verb);
}

} // namespace hippo
