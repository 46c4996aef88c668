#include "run.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "child_process.hpp"
#include "hippo/core/hash.hpp"
#include "hippo/core/number.hpp"
#include "hippo/report/report.hpp"
#include "hippo/store/state_folder.hpp"
#include "journal.hpp"
#include "merger.hpp"
#include "outcome.hpp"
#include "pool.hpp"
#include "run_report.hpp"
#include "study.hpp"
#include "study_note.hpp"
#include "system_config.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// How often the view is drawn and the trainers are looked after.
constexpr auto redraw_interval = 250ms;

/// How long trainers may take to end their present step.
constexpr auto trainer_patience = 10s;

/// How long all of them together may take to end once there is no service.
constexpr auto farewell_patience = 2s;

/// How long an actor of this process may take to answer.
constexpr auto answer_timeout = 60s;

/// Lines of a dead trainer's log that are shown.
constexpr std::size_t last_words_lines = 5;

/// Lease numbers of one merger.
constexpr std::uint64_t leases_per_merger = 1ull << 40;

volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 1)
    ::_exit(exit_interrupted); // the journal has all; trainers die with us
}

/// Counts Ctrl-C and SIGTERM while it lives.
class interrupt_guard {
public:
  interrupt_guard() {
    interrupts = 0;
    struct sigaction act {};
    act.sa_handler = on_interrupt;
    ::sigemptyset(&act.sa_mask);
    ::sigaction(SIGINT, &act, &old_int_);
    ::sigaction(SIGTERM, &act, &old_term_);
  }
  ~interrupt_guard() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

/// The actors of a service, and the trainers that it has started.
class service {
public:
  service(run_options& options, std::shared_ptr<state_folder> store)
    : options_(options), store_(std::move(store)) {}

  ~service() { close(); }

  /// Loads what is known and starts everything but the leasing.
  std::optional<error> open();

  /// Ends every actor and every trainer.
  void close();

  /// Asks an actor of this process.
  template <class T, class Handle, class... Ts>
  expected<T> ask(const Handle& handle, Ts&&... xs) {
    expected<T> result{errc::io_failed, "no answer"};
    self_->request(handle, answer_timeout, std::forward<Ts>(xs)...)
      .receive([&](T& x) { result = std::move(x); },
               [&](caf::error& e) {
                 result = error{errc::io_failed, system_.render(e)};
               });
    return result;
  }

  /// Says which trainers have died. @returns whether any is left
  bool look_after_trainers(const std::function<void(const std::string&)>& say);

  expected<run_record> record(double wall_seconds);

  [[nodiscard]] progress_view view(double elapsed_seconds);

  caf::scoped_actor& self() { return self_; }
  [[nodiscard]] const std::vector<merger_actor>& mergers() const {
    return mergers_;
  }
  [[nodiscard]] const std::vector<study_actor>& studies() const {
    return studies_;
  }

  /// The best of each study, as progress is shown.
  std::map<std::string, best_so_far> best;

private:
  /// The weights of the studies that share a workload key, added up.
  [[nodiscard]] double weight_of(const std::string& key) const;
  std::optional<error> open_mergers();
  std::optional<error> start_trainers(std::uint16_t port);

  run_options& options_;
  std::shared_ptr<state_folder> store_;
  system_config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor self_{system_};
  journal_actor journal_;
  pool_actor pool_;
  std::vector<merger_actor> mergers_;
  std::vector<study_actor> studies_;
  std::vector<std::size_t> merger_of_study_;
  std::vector<std::size_t> no_of_study_;
  std::vector<child_process> trainers_;
  std::vector<bool> mourned_; ///< trainers whose death was told
  bool closed_ = false;
};

double service::weight_of(const std::string& key) const {
  double result = 0;
  for (const auto& x : options_.studies)
    if (key_of(x.spec.workload) == key)
      result += x.spec.weight;
  return result;
}

std::optional<error> service::open_mergers() {
  std::map<std::string, std::size_t> by_key;
  std::vector<std::size_t> studies_of_merger;
  for (const auto& x : options_.studies) {
    const auto key = key_of(x.spec.workload);
    const auto [i, added] = by_key.emplace(key, mergers_.size());
    if (added) {
      merger_options opts;
      opts.workload = x.spec.workload;
      opts.folder = store_->checkpoints() + '/' + hash_text(key);
      std::error_code failed;
      std::filesystem::create_directories(opts.folder, failed);
      if (failed)
        return error{errc::io_failed, opts.folder + ": " + failed.message()};
      opts.policy = options_.policy;
      opts.merge = options_.merge;
      opts.weight = weight_of(key);
      opts.checkpoint_bytes_max = options_.checkpoint_bytes_max;
      for (const auto& p :
           options_.catalogue.at(x.spec.workload.name).hyper_parameters)
        if (p.affects_speed)
          opts.speed_names.push_back(p.name);
      opts.first_lease = mergers_.size() * leases_per_merger + 1;
      auto known = store_->load_plan(key);
      if (!known)
        return known.failure();
      if (!known->results.empty() && !options_.quiet)
        std::cerr << "hippo: " << options_.state << " holds "
                  << known->results.size()
                  << " results of earlier runs; they are not trained again\n";
      opts.known = std::move(*known);
      mergers_.push_back(system_.spawn(merger, std::move(opts), pool_,
                                       journal_));
      self_->monitor(mergers_.back());
      studies_of_merger.push_back(0);
    }
    merger_of_study_.push_back(i->second);
    no_of_study_.push_back(studies_of_merger[i->second]++);
  }
  return std::nullopt;
}

std::optional<error> service::start_trainers(std::uint16_t port) {
  const auto logs = options_.state + "/logs";
  std::error_code failed;
  std::filesystem::create_directories(logs, failed);
  if (failed)
    return error{errc::io_failed, logs + ": " + failed.message()};
  for (unsigned i = 1; i <= options_.trainers; ++i) {
    auto command = options_.catalogue.trainer_command();
    command.insert(command.end(),
                   {"--connect", "127.0.0.1:" + std::to_string(port),
                    "--parent", std::to_string(::getpid())});
    auto started = child_process::start(
      command, logs + "/trainer-" + std::to_string(i) + ".log");
    if (!started)
      return started.failure();
    trainers_.push_back(std::move(*started));
    mourned_.push_back(false);
  }
  return std::nullopt;
}

std::optional<error> service::open() {
  journal_ = system_.spawn<caf::detached>(journal, store_);
  pool_ = system_.spawn(pool, pool_options{});
  auto port = system_.middleman().publish(
    caf::actor_cast<registrar_actor>(pool_), 0, "127.0.0.1");
  if (!port)
    return error{errc::io_failed,
                 "cannot listen on 127.0.0.1: " + system_.render(port.error())};
  // Trainers take a while to start: they do so while trials are merged.
  if (auto why = start_trainers(*port))
    return why;
  if (auto why = open_mergers())
    return why;
  std::vector<journal_record> notes;
  for (std::size_t i = 0; i < options_.studies.size(); ++i) {
    const auto& x = options_.studies[i];
    notes.push_back(study_saved{note_study(x, i)});
    study_options opts;
    opts.spec = x.spec;
    opts.defaults = defaults_of(options_.catalogue.at(x.spec.workload.name));
    studies_.push_back(system_.spawn(study, std::move(opts),
                                     mergers_[merger_of_study_[i]],
                                     caf::actor_cast<observer_actor>(self_)));
    if (auto started = ask<std::uint64_t>(studies_.back(), start_atom::value);
        !started)
      return started.failure();
  }
  if (auto noted = ask<std::uint64_t>(journal_, commit_atom::value, notes);
      !noted)
    return noted.failure();
  for (const auto& x : mergers_)
    self_->send(x, go_atom::value);
  return std::nullopt;
}

void service::close() {
  if (std::exchange(closed_, true))
    return;
  // Trainers end when the pool does.
  for (const auto& x : studies_)
    self_->send_exit(x, caf::exit_reason::user_shutdown);
  for (const auto& x : mergers_) {
    self_->demonitor(x.address());
    self_->send_exit(x, caf::exit_reason::user_shutdown);
  }
  if (pool_)
    self_->send_exit(pool_, caf::exit_reason::user_shutdown);
  if (journal_)
    self_->send_exit(journal_, caf::exit_reason::user_shutdown);
  const auto deadline = clock::now() + farewell_patience;
  for (auto& x : trainers_)
    x.wait(std::max(std::chrono::duration_cast<std::chrono::milliseconds>(
                      deadline - clock::now()),
                    0ms));
}

bool service::look_after_trainers(
  const std::function<void(const std::string&)>& say) {
  const bool any_left
    = std::any_of(trainers_.begin(), trainers_.end(),
                  [](auto& x) { return !x.ended(); });
  for (std::size_t i = 0; i < trainers_.size(); ++i) {
    const auto end = trainers_[i].ended();
    if (!end || mourned_[i])
      continue;
    mourned_[i] = true;
    auto words = trainers_[i].last_words(last_words_lines);
    if (!words.empty())
      words = "\n" + words;
    if (!words.empty() && words.back() == '\n')
      words.pop_back();
    say("trainer " + std::to_string(i + 1) + " died with " + *end
        + (any_left ? "; the others take over its work" : "") + words);
  }
  return any_left;
}

expected<run_record> service::record(double wall_seconds) {
  std::vector<merger_overview> mergers;
  for (const auto& x : mergers_) {
    auto overview
      = ask<merger_overview>(x, status_atom::value, told_atom::value);
    if (!overview)
      return overview.failure();
    mergers.push_back(std::move(*overview));
  }
  std::vector<reported_study> studies;
  std::vector<journal_record> notes;
  for (std::size_t i = 0; i < studies_.size(); ++i) {
    auto record
      = ask<study_record>(studies_[i], status_atom::value, told_atom::value);
    if (!record)
      return record.failure();
    const auto& merger = mergers[merger_of_study_[i]];
    notes.push_back(study_saved{
      note_study(options_.studies[i], i, &*record,
                 options_.merge ? std::nullopt
                                : std::optional{
                                  merger.first_trial[no_of_study_[i]] + 1})});
    studies.push_back(
      {std::move(*record), merger_of_study_[i], no_of_study_[i]});
  }
  if (auto noted = ask<std::uint64_t>(journal_, commit_atom::value, notes);
      !noted)
    return noted.failure();
  auto pool = ask<pool_status>(pool_, status_atom::value);
  if (!pool)
    return pool.failure();
  auto result
    = make_run_record(std::move(studies), mergers, *pool, wall_seconds);
  result.merge = options_.merge;
  result.scheduler = to_string(options_.policy);
  return result;
}

progress_view service::view(double elapsed_seconds) {
  progress_view result;
  result.elapsed_seconds = elapsed_seconds;
  for (const auto& x : studies_) {
    auto status = ask<study_status>(x, status_atom::value);
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
  if (auto pool = ask<pool_status>(pool_, status_atom::value))
    for (const auto& x : pool->trainers)
      if (x.lost.empty())
        trainers[x.number].number = x.number;
  double seconds_to_train = 0;
  for (const auto& x : mergers_) {
    auto status = ask<merger_status>(x, status_atom::value);
    if (!status)
      continue;
    result.asked_steps += status->figures.asked_steps;
    result.unique_steps += status->figures.unique_steps;
    result.trained_steps += status->trained_steps + status->reused_steps;
    result.saved_device_seconds += status->saved_seconds;
    const auto known = status->trained_steps + status->reused_steps;
    if (status->figures.unique_steps > known)
      seconds_to_train
        += static_cast<double>(status->figures.unique_steps - known)
           * status->step_seconds;
    for (const auto& y : status->running) {
      auto& trainer = trainers[y.trainer];
      trainer.number = y.trainer;
      trainer.busy = true;
      trainer.stage = "step " + std::to_string(y.at) + " of "
                      + std::to_string(y.to);
      trainer.steps_per_second = y.steps_per_second;
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
      terminal_(!quiet_ && ::isatty(STDERR_FILENO) == 1),
      colour_(terminal_ && std::getenv("NO_COLOR") == nullptr),
      one_study_(options.studies.size() == 1) {}

  [[nodiscard]] bool colour() const noexcept { return colour_; }
  [[nodiscard]] bool wants_view() const noexcept { return terminal_; }

  void show(const progress_view& x) {
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    const std::size_t columns = known && size.ws_col > 0 ? size.ws_col : 80;
    display_.show(render_progress(x, columns, colour_));
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

/// Follows the run until every study has ended, it is interrupted, or nobody is
/// left to train.
std::optional<error> follow(service& svc, console& out,
                            clock::time_point begin) {
  auto left = svc.studies().size();
  auto next_look = clock::now();
  bool halted = false;
  std::optional<error> broken;
  clock::time_point halted_at;
  while (left > 0 && !broken) {
    svc.self()->receive(
      [&](told_atom, trial_event& x) { out.tell(std::move(x)); },
      [&](told_atom, const std::string&) { --left; },
      [&](const caf::down_msg&) {
        broken = error{errc::io_failed,
                       "the state could not be written: see the log"};
      },
      caf::after(redraw_interval) >> [] {});
    if (clock::now() < next_look)
      continue;
    next_look = clock::now() + redraw_interval;
    const auto say = [&](const std::string& text) { out.say(text); };
    if (!svc.look_after_trainers(say))
      return error{errc::training_failed,
                   "no trainer is left; what is done is kept"};
    if (out.wants_view())
      out.show(svc.view(seconds_since(begin)));
    if (interrupts > 0 && !halted) {
      halted = true;
      halted_at = clock::now();
      out.say("interrupted: the trainers finish their present steps; "
              "Ctrl-C again to exit at once");
      for (const auto& x : svc.mergers())
        svc.self()->send(x, halt_atom::value);
    }
    if (!halted)
      continue;
    bool running = false;
    for (const auto& x : svc.mergers())
      if (auto status = svc.ask<merger_status>(x, status_atom::value))
        running = running || !status->running.empty();
    if (!running || clock::now() - halted_at > trainer_patience)
      return std::nullopt;
  }
  return broken;
}

/// Says which study has nothing to show because all of its trials failed.
std::optional<error> find_hopeless(const run_record& x) {
  for (const auto& study : x.studies)
    if (!study.trials.empty()
        && std::all_of(study.trials.begin(), study.trials.end(),
                       [](const auto& y) {
                         return y.state == trial_state::failed;
                       }))
      return error{errc::training_failed,
                   "every trial of study '" + study.name + "' failed"};
  return std::nullopt;
}

void log_to(const std::string& file) {
  spdlog::set_default_logger(spdlog::basic_logger_mt("hippo", file));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  spdlog::flush_on(spdlog::level::warn);
}

} // namespace

int run(run_options options) {
  if (!check_workloads(options.studies, options.catalogue))
    return exit_bad_input;
  auto store = state_folder::open(options.state);
  if (!store)
    return fail(store.failure(), exit_bad_input);
  log_to(options.state + "/hippo.log");
  const interrupt_guard guard;
  const auto default_report = (*store)->report();
  service svc{options, std::shared_ptr<state_folder>(std::move(*store))};
  const auto begin = clock::now();
  if (auto why = svc.open())
    return fail(*why, exit_failed);
  console out{options};
  const auto broken = follow(svc, out, begin);
  const auto wall_seconds = seconds_since(begin);
  auto record = svc.record(wall_seconds);
  svc.close();
  if (!record)
    return fail(broken ? *broken : record.failure(), exit_failed);
  record->interrupted = interrupts > 0 || broken;
  const auto folder
    = options.report.empty() ? default_report : options.report;
  if (auto written = write_report(*record, folder); !written)
    return fail(written.failure(), exit_failed);
  out.clear();
  std::cout << summary_text(*record, 5,
                            ::isatty(STDOUT_FILENO) == 1
                              && std::getenv("NO_COLOR") == nullptr)
            << "report: " << folder << '\n';
  if (broken)
    return fail(*broken, exit_failed);
  if (interrupts > 0) {
    std::cerr << "interrupted; go on with: hippo run --resume "
              << options.state << '\n';
    return exit_interrupted;
  }
  if (const auto why = find_hopeless(*record))
    return fail(*why, exit_failed);
  return exit_done;
}

} // namespace hippo
