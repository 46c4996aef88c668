#include "run.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>
#include <utility>

#include <spdlog/sinks/basic_file_sink.h>

#include "hippo/core/number.hpp"
#include "hippo/report/report.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/store/state_writer.hpp"
#include "interrupts.hpp"
#include "local_trainers.hpp"
#include "log_format.hpp"
#include "network.hpp"
#include "outcome.hpp"
#include "run_report.hpp"
#include "service.hpp"
#include "system_config.hpp"
#include "terminal.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// How often the view is drawn and the trainers are looked after.
constexpr auto redraw_interval = 250ms;

/// How long nobody may be there who can train a study, while others are.
constexpr auto stuck_patience = 10s;

/// How long trainers may take to end their present step.
constexpr auto trainer_patience = 10s;

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

/// A service and the trainer processes that it has started on this machine.
class local_service {
public:
  local_service(run_options& options, std::shared_ptr<state_writer> store)
    : options_(options),
      store_(std::move(store)),
      actors_(system_, options_of(options, store_)) {}

  ~local_service() { close(); }

  /// Starts everything.
  std::optional<error> open();

  /// Ends every actor and every trainer.
  void close();

  [[nodiscard]] progress_view view(double elapsed_seconds);

  service& actors() { return actors_; }
  local_trainers& trainers() { return trainers_; }

private:
  static service_options
  options_of(const run_options& x, std::shared_ptr<state_writer> store) {
    service_options result;
    result.coordinator.workloads = x.catalogue.workloads;
    result.coordinator.policy = x.policy;
    result.coordinator.merge = x.merge;
    result.coordinator.checkpoint_bytes_max = x.checkpoint_bytes_max;
    result.store = std::move(store);
    return result;
  }

  expected<std::optional<stored_study>> find_stored(const loaded_study& x);

  run_options& options_;
  std::shared_ptr<state_writer> store_;
  system_config config_;
  caf::actor_system system_{config_};
  service actors_;
  local_trainers trainers_;
  bool closed_ = false;
};

/// Returns which numerics studies ask for, each once.
std::vector<std::string>
numerics_of(const std::vector<loaded_study>& studies) {
  std::set<std::string> result;
  for (const auto& x : studies)
    if (auto word = numerics_of(x.spec.workload); !word.empty())
      result.insert(std::move(word));
  return {result.begin(), result.end()};
}

/// Finds where a study stands that an earlier run has left.
expected<std::optional<stored_study>>
local_service::find_stored(const loaded_study& x) {
  auto folder = state_reader::open(store_->path());
  if (!folder)
    return folder.failure();
  auto studies = (*folder)->load_studies();
  if (!studies)
    return studies.failure();
  std::optional<stored_study> result;
  for (const auto& y : *studies)
    if (y.name == x.spec.name)
      result = y; // the last one of that name
  if (!result || options_.resume)
    return result;
  auto whole = (*folder)->load_study(std::to_string(result->id));
  if (!whole)
    return whole.failure();
  // The same study goes on; another, or the same once more, is a new one.
  if (has_ended(whole->state) || whole->text != x.text)
    result.reset();
  return result;
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
  auto port
    = publish(system_, caf::actor_cast<registrar_actor>(actors_.pool()), 0,
              "127.0.0.1");
  if (!port)
    return error{errc::io_failed,
                 "cannot listen on 127.0.0.1: " + system_.render(port.error())};
  // Trainers take a while to start: they do so while trials are merged.
  const auto numerics = numerics_of(options_.studies);
  if (numerics.size() > 1 && options_.devices.size() == 1
      && options_.devices.front() == "cpu")
    return error{errc::invalid_argument,
                 "studies with numerics: native and studies with numerics: "
                 "portable need a trainer each: give --trainers 2"};
  if (auto why = trainers_.start(options_.catalogue, options_.devices, numerics,
                                 *port, options_.state + "/logs"))
    return why;
  for (const auto& x : options_.studies) {
    auto stored = find_stored(x);
    if (!stored)
      return stored.failure();
    if (auto id = actors_.submit({x, std::move(*stored)}); !id)
      return id.failure();
  }
  if (known_results > 0 && !options_.quiet)
    std::cerr << "hippo: " << options_.state << " holds " << known_results
              << " results of earlier runs; they are not trained again\n";
  actors_.go();
  return std::nullopt;
}

void local_service::close() {
  if (std::exchange(closed_, true))
    return;
  actors_.close();
  trainers_.wait();
}

progress_view local_service::view(double elapsed_seconds) {
  progress_view result;
  result.elapsed_seconds = elapsed_seconds;
  const auto known = actors_.status();
  for (const auto& x : known.studies) {
    auto status = actors_.ask<study_status>(x.handle, status_atom::value);
    if (!status)
      continue;
    study_progress y;
    y.name = status->name;
    y.done = status->finished;
    y.trials = status->trials;
    y.asked_steps = status->asked_steps;
    y.metric = status->metric;
    if (status->best)
      y.best = best_so_far{status->best->trial, status->best->value};
    result.studies.push_back(std::move(y));
  }
  std::map<std::uint64_t, trainer_progress> trainers;
  if (auto pool = actors_.ask<pool_status>(actors_.pool(), status_atom::value))
    for (const auto& x : pool->trainers)
      if (x.lost.empty() && !x.left)
        trainers[x.number].number = x.number;
  double seconds_to_train = 0;
  for (const auto& x : known.mergers) {
    auto status = actors_.ask<merger_status>(x.handle, status_atom::value);
    if (!status)
      continue;
    result.asked_steps += status->figures.asked_steps;
    result.unique_steps += status->figures.unique_steps;
    result.trained_steps += status->trained_steps + status->reused_steps;
    result.saved_device_seconds += status->saved_seconds;
    const auto done = status->trained_steps + status->reused_steps;
    if (status->figures.unique_steps > done)
      seconds_to_train
        += static_cast<double>(status->figures.unique_steps - done)
           * status->step_seconds;
    for (const auto& y : status->running) {
      auto& trainer = trainers[y.trainer];
      trainer.number = y.trainer;
      trainer.busy = true;
      ++trainer.lanes;
      trainer.stage = "step " + std::to_string(y.at) + " of "
                      + std::to_string(y.to);
      trainer.steps_per_second += y.steps_per_second;
    }
  }
  for (const auto& [number, x] : trainers)
    result.trainers.push_back(x);
  if (seconds_to_train > 0 && !trainers.empty())
    result.seconds_left
      = seconds_to_train / static_cast<double>(trainers.size());
  return result;
}

/// Shows how the run goes: in place on a terminal, line by line elsewhere.
class console {
public:
  explicit console(const run_options& options)
    : quiet_(options.quiet),
      terminal_(!quiet_ && is_terminal(STDERR_FILENO)),
      colour_(terminal_ && has_colour(STDERR_FILENO)),
      one_study_(options.studies.size() == 1) {}

  [[nodiscard]] bool colour() const noexcept { return colour_; }
  [[nodiscard]] bool wants_view() const noexcept { return terminal_; }

  void show(const progress_view& x) {
    display_.show(render_progress(
      x, size_of_terminal(STDERR_FILENO).columns, colour_));
  }

  void clear() {
    if (terminal_)
      display_.clear();
  }

  void tell(trial_event x) {
    if (quiet_ || terminal_)
      return;
    if (one_study_)
      x.study.clear();
    std::cerr << trial_line(x) << std::endl;
  }

  void say(const std::string& text) {
    if (terminal_)
      display_.print(text);
    else
      std::cerr << text << std::endl;
  }

private:
  bool quiet_;
  bool terminal_;
  bool colour_;
  bool one_study_;
  live_display display_{std::cerr};
};

/// Says why something can be trained by none of the trainers that are there;
/// empty: all can.
std::string why_stuck(service& actors) {
  const auto status
    = actors.ask<pool_status>(actors.pool(), status_atom::value);
  const auto is_there
    = [](const trainer_record& x) { return x.lost.empty() && !x.left; };
  if (!status || status->stuck.empty()
      || std::ranges::none_of(status->trainers, is_there))
    return {};
  return status->stuck.front().why;
}

/// Follows the run until every study has ended, it is interrupted, or nobody is
/// left who could train.
std::optional<error> follow(local_service& svc, console& out,
                            std::size_t studies, clock::time_point begin) {
  auto left = studies;
  auto next_look = clock::now();
  auto could_train_at = clock::now();
  bool halted = false;
  std::optional<error> broken;
  clock::time_point halted_at;
  while (left > 0 && !broken) {
    svc.actors().self()->receive(
      [&](told_atom, trial_event& x) { out.tell(std::move(x)); },
      [&](told_atom, const study_end&) { --left; },
      [&](const caf::down_msg&) {
        broken = error{errc::io_failed,
                       "the state could not be written: see the log"};
      },
      caf::after(redraw_interval) >> [] {});
    if (clock::now() < next_look)
      continue;
    next_look = clock::now() + redraw_interval;
    const auto say = [&](const std::string& text) { out.say(text); };
    if (!svc.trainers().look_after(say))
      return error{errc::training_failed,
                   "no trainer is left; what is done is kept"};
    auto stuck = why_stuck(svc.actors());
    if (stuck.empty())
      could_train_at = clock::now();
    else if (clock::now() - could_train_at > stuck_patience)
      return error{errc::training_failed, std::move(stuck)};
    if (out.wants_view())
      out.show(svc.view(seconds_since(begin)));
    if (interrupt_guard::count() > 0 && !halted) {
      halted = true;
      halted_at = clock::now();
      out.say("interrupted: the trainers finish their present steps; "
              "Ctrl-C again to exit at once");
      svc.actors().halt();
    }
    if (!halted)
      continue;
    bool running = false;
    for (const auto& x : svc.actors().status().mergers)
      if (auto status
          = svc.actors().ask<merger_status>(x.handle, status_atom::value))
        running = running || !status->running.empty();
    if (!running || clock::now() - halted_at > trainer_patience)
      return std::nullopt;
  }
  return broken;
}

} // namespace

int run(run_options options) {
  if (!check_workloads(options.studies, options.catalogue,
                       options.devices))
    return exit_bad_input;
  for (const auto& x : options.studies)
    warn_unchecked(x.spec);
  auto store = state_writer::open(options.state);
  if (!store)
    return fail(store.failure(), exit_bad_input);
  log_to(std::make_shared<spdlog::sinks::basic_file_sink_mt>(
           options.state + "/hippo.log"),
         "hippo", log_format::text);
  const interrupt_guard guard;
  const auto default_report = (*store)->report();
  local_service svc{options, std::shared_ptr<state_writer>(std::move(*store))};
  const auto begin = clock::now();
  if (auto why = svc.open())
    return fail(*why, exit_failed);
  console out{options};
  const auto broken = follow(svc, out, options.studies.size(), begin);
  const auto wall_seconds = seconds_since(begin);
  auto record = svc.actors().record(wall_seconds);
  svc.close();
  if (!record)
    return fail(broken ? *broken : record.failure(), exit_failed);
  record->interrupted = interrupt_guard::count() > 0 || broken;
  const auto folder
    = options.report.empty() ? default_report : options.report;
  if (auto written = write_report(*record, folder); !written)
    return fail(written.failure(), exit_failed);
  out.clear();
  std::cout << summary_text(*record, 5, has_colour(STDOUT_FILENO))
            << "report: " << folder << '\n';
  for (const auto& x : options.studies)
    if (!is_exact(x.spec.workload))
      std::cout << "study " << x.spec.name << " is not exact, as it says: "
                << (may_share(x.spec.workload)
                      ? "its results depend on which trials shared training\n"
                      : "its results depend on how training was cut, and no "
                        "two trials shared any\n");
  if (broken)
    return fail(*broken, exit_failed);
  if (interrupt_guard::count() > 0) {
    std::cerr << "interrupted; go on with: hippo run --resume "
              << options.state << '\n';
    return exit_interrupted;
  }
  if (const auto why = find_hopeless(*record))
    return fail(*why, exit_failed);
  return exit_done;
}

} // namespace hippo
