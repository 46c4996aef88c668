#include "simulation.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "engine.hpp"
#include "hippo/base/number.hpp"
#include "hippo/forecast/simulate/draw.hpp"
#include "hippo/report/csv_row.hpp"
#include "hippo/service/merge/collecting.hpp"
#include "hippo/space/trial_defaults.hpp"
#include "outcome.hpp"
#include "service.hpp"
#include "simulated_engine.hpp"
#include "trainer.hpp"
#include "virtual_time.hpp"
#include "watched_engine.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

bool has_ranks(const simulation& what) {
  return std::ranges::any_of(what.studies, [](const auto& x) {
    return ranks_of(x.spec().workload) > 1;
  });
}

/// Simulated trainers do not fall silent: they need not heartbeat often. But
/// mergers that hold trainers, too few for all ranks, look at the time then.
pool_options quiet_watch(const simulation& what) {
  pool_options result;
  result.heartbeat_interval = 1h;
  if (has_ranks(what))
    result.heartbeat_interval = collecting::held_max;
  result.silence_max = 10h;
  return result;
}

/// An actor system on which time passes only when it is told to. It has no
/// network.
struct virtual_config : caf::actor_system_config {
  virtual_config() {
    hippo::add_error_names(*this);
    use_virtual_time(*this);
    set("logger.file-verbosity", caf::atom("quiet"));
    set("logger.console-verbosity", caf::atom("quiet"));
  }
};

/// A service with simulated trainers.
class simulated_service {
public:
  simulated_service(const simulation& x,
                    std::vector<simulated_measurement>* measured,
                    estimate_watch* estimates)
    : what_(x),
      measured_(measured),
      estimates_(estimates),
      actors_(system_, options_of(x), [this] { settle(); }) {}

  ~simulated_service() {
    for (const auto& x : machines_)
      end(x, caf::exit_reason::user_shutdown);
    settle();
    actors_.close();
  }

  expected<run_record> run() {
    if (auto why = actors_.open())
      return *why;
    for (const auto& x : what_.studies)
      if (auto id = actors_.submit({x, {}}); !id)
        return id.failure();
    make_machines();
    for (auto& x : machines_)
      start(x);
    settle();
    actors_.go();
    // Nothing that matters to a simulation waits for a timeout alone, but
    // trainers that are too few for the ranks of a trial, and are given back.
    const auto idle_max = has_ranks(what_) ? ranks_idle_max : 0s;
    const bool happens = clock_.run_until(
      [this] {
        if (estimates_ != nullptr)
          estimates_->look(actors_, seconds_now());
        return all_ended() || is_hopeless();
      },
      idle_max);
    if (!happens || is_hopeless())
      return why_stuck();
    auto result
      = actors_.record(std::chrono::duration<double>(clock_.now()).count());
    if (result)
      note_work(*result);
    return result;
  }

  /// What the machines were there for; nothing without any.
  [[nodiscard]] const std::vector<machine_life>& lives() const {
    return lives_;
  }

private:
  static service_options options_of(const simulation& x) {
    service_options result;
    result.coordinator.workloads = x.catalogue.workloads;
    result.coordinator.policy = x.policy;
    result.coordinator.merge = x.merge;
    result.coordinator.gangs = x.gangs;
    result.coordinator.gang_key = "simulated"; // nobody listens
    result.pool = quiet_watch(x);
    result.pool.placement = x.placement;
    if (x.machines.empty())
      return result;
    auto& machines = result.pool.machines.emplace();
    for (const auto& group : x.machines)
      machines.kinds.push_back(group.kind);
    return result;
  }

  /// A machine, and those that have replaced it.
  struct machine {
    std::size_t place = 0;
    machine_kind kind;
    std::shared_ptr<simulation_profiles> profiles;
    std::uint64_t lives = 0; ///< that have begun
    std::vector<training_actor> trainers; ///< of the present life
    std::vector<std::shared_ptr<watched_engine>> engines{}; ///< likewise
    std::size_t life = 0; ///< of `lives_`
  };

  [[nodiscard]] double seconds_now() const {
    return std::chrono::duration<double>(timeline_->now()).count();
  }

  /// Adds to the lives of machines what their trainers did.
  void note_work(const run_record& x) {
    std::map<std::uint64_t, machine_life*> by_trainer;
    for (const auto& trainer : x.trainers) {
      const auto process = std::stoull(
        trainer.name.substr(trainer.name.rfind(':') + 1));
      by_trainer[trainer.number] = &lives_[life_of_process_[process - 1]];
    }
    for (const auto& busy : x.timeline) {
      const auto i = by_trainer.find(busy.trainer);
      if (i == by_trainer.end())
        continue; // the pool has forgotten it
      auto& life = *i->second;
      life.last_lease_end
        = std::max(life.last_lease_end.value_or(0), busy.end);
      if (busy.lane == 0) // the others are at work at the same time
        life.busy_seconds += busy.end - busy.begin;
    }
  }

  void settle() { clock_.settle(); }

  /// Profiles by the names of their workloads, all of them of one device: a
  /// trainer is of one kind.
  static std::shared_ptr<simulation_profiles>
  by_workload(const std::vector<simulation_profile>& xs,
              const std::string& device) {
    auto result = std::make_shared<simulation_profiles>();
    for (const auto& x : xs)
      (*result)[x.workload.name] = x;
    for (auto& kvp : *result)
      kvp.second.device = device;
    return result;
  }

  void make_machines() {
    if (what_.machines.empty()) {
      machine x;
      x.kind.device = device_of_all();
      x.kind.trainers = what_.trainers;
      x.profiles = by_workload(what_.profiles, x.kind.device);
      machines_.push_back(std::move(x));
    }
    for (const auto& x : what_.machines) {
      const auto profiles = by_workload(x.profiles, x.kind.device);
      for (unsigned i = 0; i < x.machines; ++i)
        machines_.push_back({machines_.size(), x.kind, profiles, 0, {}});
    }
  }

  /// Lets a machine begin a life.
  void start(machine& x) {
    x.trainers.clear();
    x.engines.clear();
    lives_.push_back({x.kind, seconds_now(), {}, {}, 0});
    x.life = lives_.size() - 1;
    for (unsigned i = 0; i < x.kind.trainers; ++i)
      x.trainers.push_back(new_trainer(x));
    const auto life = x.lives++;
    if (x.kind.interruptions == 0)
      return;
    const auto hours = -std::log(uniform_at(hash_numbers({seed_of_lives,
                                 what_.seed, x.place, life})))
                       / x.kind.interruptions;
    in_seconds(hours * 3600, [this, &x] { interrupt(x); });
  }

  training_actor new_trainer(machine& x) {
    hello result;
    result.host = "simulated";
    life_of_process_.push_back(x.life);
    result.process_id = life_of_process_.size();
    result.device = x.kind.device;
    result.machine = x.kind.name;
    result.threads = 1;
    result.gang = "simulated:" + std::to_string(result.process_id % 65535 + 1);
    result.at_once = what_.at_once;
    result.notice_seconds = static_cast<std::uint32_t>(x.kind.notice_seconds);
    for (const auto& [name, profile] : *x.profiles)
      result.workloads.emplace(name, profile.workload.version);
    return system_.spawn(
      trainer, caf::actor_cast<registrar_actor>(actors_.pool()), result,
      make_engine(x), nullptr);
  }

  std::shared_ptr<engine> make_engine(machine& x) {
    return x.engines.emplace_back(std::make_shared<watched_engine>(
      std::make_shared<simulated_engine>(timeline_, x.profiles, store_,
                                         what_.seed),
      timeline_, measured_));
  }

  /// A machine is told to go, is gone, and another one takes its place.
  void interrupt(machine& x) {
    note_interruption();
    if (x.kind.notice_seconds > 0)
      for (const auto& y : x.trainers)
        actors_.self()->send(y, leave_atom::value);
    in_seconds(x.kind.notice_seconds, [this, &x] {
      for (const auto& y : x.engines)
        lives_[x.life].lost_seconds += y->unkept_seconds();
      end(x, caf::exit_reason::kill);
      lives_[x.life].end = seconds_now();
      const auto left = x.kind.start_seconds - x.kind.notice_seconds;
      in_seconds(std::max(left, 0.0), [this, &x] { start(x); });
    });
  }

  void end(const machine& x, caf::exit_reason why) {
    for (const auto& y : x.trainers)
      actors_.self()->send_exit(y, why);
  }

  template <class F>
  void in_seconds(double seconds, F what) {
    // Beyond what a simulation covers nothing happens.
    const auto span = std::chrono::duration<double>(std::min(seconds, 4e9));
    timeline_->schedule_at(
      timeline_->now()
        + std::chrono::duration_cast<virtual_timeline::duration>(span),
      std::move(what));
  }

  /// Follows whether anything is kept from one interruption to the next.
  void note_interruption() {
    if (std::exchange(kept_, store_->size() + ended_)
        == store_->size() + ended_)
      ++fruitless_;
    else
      fruitless_ = 0;
  }

  /// Whether machines go before anything comes of their training.
  [[nodiscard]] bool is_hopeless() const {
    return fruitless_ > fruitless_max * machines_.size();
  }

  /// What the times of all profiles stand for.
  [[nodiscard]] std::string device_of_all() const {
    std::set<std::string> all;
    for (const auto& x : what_.profiles)
      all.insert(x.device);
    std::string result;
    for (const auto& x : all)
      result += (result.empty() ? "" : " / ") + x;
    return result;
  }

  /// Says what the service waits for although nothing more will happen.
  error why_stuck() {
    if (auto why = why_untrainable())
      return *why;
    const auto known = actors_.status();
    std::string unended;
    for (const auto& x : known.studies)
      if (!x.ended)
        unended += (unended.empty() ? "'" : ", '") + x.name + '\'';
    std::size_t idle_leases = 0;
    for (const auto& x : known.mergers)
      if (auto status
          = actors_.ask<merger_status>(x.handle, status_atom::value))
        idle_leases += status->running.size();
    return {errc::training_failed,
            "nothing more can happen in the simulation, but these studies "
            "have not ended: "
              + unended
              + (is_hopeless()
                   ? "; machines are interrupted before a checkpoint is saved"
                   : "; leases that no trainer works on: "
                       + std::to_string(idle_leases))};
  }

  /// Says what no trainer can train, as a service does; nothing: one can.
  std::optional<error> why_untrainable() {
    const auto pool =
      actors_.ask<pool_status>(actors_.pool(), status_atom::value);
    if (!pool)
      return pool.failure();
    for (const auto& stuck : pool->stuck)
      for (const auto& x : what_.studies)
        if (key_of(x.spec().workload) == stuck.key)
          return error{errc::training_failed,
                       "study '" + x.spec().name + "' waits: " + stuck.why};
    return std::nullopt;
  }

  bool all_ended() {
    // To wait for a message takes longer than most of what happens.
    for (bool more = actors_.self()->has_next_message(); more;)
      actors_.self()->receive(
        [](notify_atom, const trial_event&) {},
        [this](notify_atom, const study_end&) { ++ended_; },
        [](const caf::down_msg&) {}, caf::after(0s) >> [&] { more = false; });
    return ended_ == what_.studies.size();
  }

  /// So long a merger holds trainers and, once it has given them back, rests.
  static constexpr auto ranks_idle_max =
    collecting::held_max + collecting::rest_last;
  /// Tells what is drawn for lives from what is drawn for training.
  static constexpr std::uint64_t seed_of_lives = 0x6c69766573;
  /// So many interruptions of each machine without a checkpoint are no chance.
  static constexpr std::uint64_t fruitless_max = 100;

  const simulation& what_;
  std::vector<simulated_measurement>* measured_;
  estimate_watch* estimates_;
  std::shared_ptr<virtual_timeline> timeline_
    = std::make_shared<virtual_timeline>();
  std::shared_ptr<simulated_store> store_
    = std::make_shared<simulated_store>();
  virtual_config config_;
  caf::actor_system system_{config_};
  virtual_time clock_{system_, timeline_};
  service actors_;
  std::deque<machine> machines_; ///< which do not move
  std::vector<machine_life> lives_; ///< of all machines that there were
  std::vector<std::size_t> life_of_process_; ///< by the number of the trainer
  std::size_t ended_ = 0;
  std::size_t kept_ = 0; ///< checkpoints and ended studies, when last looked at
  std::uint64_t fruitless_ = 0; ///< interruptions since that has grown
};

/// Reads the table that a profile names, which lies where the profile says
/// from its own folder; prints what is wrong.
/// @returns whether the profile has what it needs
bool load_table(const std::string& profile_file, simulation_profile& x) {
  if (x.table_file.empty())
    return true;
  const auto path
    = std::filesystem::path{profile_file}.parent_path() / x.table_file;
  errno = 0;
  std::ifstream in{path, std::ios::binary};
  // One byte more than allowed tells that a file is too large.
  std::string text(result_table_bytes_max + 1, '\0');
  if (in)
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.gcount() == 0) {
    print({{profile_file, 0, 0, "curve.table",
            path.string() + " cannot be read: "
              + (errno == 0 ? "it is empty"
                          : std::system_category().message(errno))}},
          "error");
    return false;
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  auto read = read_result_table(text, path.string(), x.workload);
  print(read.errors, "error");
  if (!read.table)
    return false;
  x.table = std::make_shared<const result_table>(std::move(*read.table));
  return true;
}

/// So many combinations of a study are looked for in a table.
constexpr std::uint64_t looked_for_max = 10'000;

/// Says what a study may train that the profile's table does not have.
std::optional<diagnostic> missing_from_table(const study_spec& study,
                                             const simulation_profile& x) {
  const trial_defaults defaults{x.workload};
  const auto size = study.space.size();
  const auto count = std::min(size.value_or(looked_for_max), looked_for_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    // Spread over all of them where they are many.
    auto trial = size && *size == count ? study.space.at(i)
                                        : study.space.sample(study.seed, i);
    const auto length = std::min(trial.length, study.max_steps);
    if (const auto why =
          x.table->misses(defaults.complete(trial.sequences, length), length,
                          study.objective.every))
      return diagnostic{study.file, 0, 0, "space",
                        trial.shown.dump() + " is not in " + x.table_file
                          + ": " + *why};
  }
  return std::nullopt;
}

/// What trainers do is no news here, and failures are in the report.
void log_to_stderr() {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
    "hippo", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("%v");
  spdlog::set_level(spdlog::level::err);
}

} // namespace

expected<run_record> simulate(const simulation& simulation,
                              std::vector<machine_life>* lives,
                              std::vector<simulated_measurement>* measured,
                              estimate_watch* estimates) {
  log_to_stderr();
  simulated_service service{simulation, measured, estimates};
  auto result = service.run();
  if (result)
    result->simulated = true;
  if (lives != nullptr)
    *lives = service.lives();
  return result;
}

expected<std::monostate>
write_measurements(const std::vector<simulated_measurement>& xs,
                   const std::string& file) {
  std::set<std::string> names;
  for (const auto& x : xs)
    for (const auto& kvp : x.values)
      names.insert(kvp.first);
  std::vector<std::string> fields{"seconds", "workload", "step"};
  fields.insert(fields.end(), names.begin(), names.end());
  return write_csv(file, [&](std::ostream& out) {
    out << csv_row(fields);
    for (const auto& x : xs) {
      fields = {to_text(x.seconds), x.workload, std::to_string(x.step)};
      for (const auto& name : names) {
        const auto i = x.values.find(name);
        fields.push_back(i == x.values.end() ? "" : to_text(i->second));
      }
      out << csv_row(fields);
    }
  });
}

std::optional<std::vector<simulation_profile>>
load_profiles(const std::vector<std::string>& files,
              workload_catalogue& catalogue) {
  std::vector<simulation_profile> result;
  bool good = true;
  for (const auto& file : files) {
    auto text = read_study_text(file);
    if (!text) {
      fail(text.failure(), exit_bad_input);
      good = false;
      continue;
    }
    auto read = read_profile(*text, file, catalogue.workloads);
    print(read.errors, "error");
    if (!read.profile || !load_table(file, *read.profile)) {
      good = false;
      continue;
    }
    const auto& name = read.profile->workload.name;
    const auto& device = read.profile->device;
    const auto same = [&](const auto& x) {
      return x.workload.name == name && x.device == device;
    };
    if (std::any_of(result.begin(), result.end(), same)) {
      print({{file, 0, 0, "workload",
              "'" + name + "' has a profile already of device '" + device
                + "': give one for each"}},
            "error");
      good = false;
    }
    const auto known = std::find_if(
      catalogue.workloads.begin(), catalogue.workloads.end(),
      [&](const auto& x) { return x.name == name; });
    if (known == catalogue.workloads.end())
      catalogue.workloads.push_back(read.profile->workload);
    result.push_back(std::move(*read.profile));
  }
  if (!good)
    return std::nullopt;
  return result;
}

bool check_profiles(const std::vector<accepted_study>& studies,
                    const std::vector<simulation_profile>& profiles) {
  std::vector<diagnostic> errors;
  for (const auto& x : studies) {
    const auto& name = x.spec().workload.name;
    const auto found
      = std::count_if(profiles.begin(), profiles.end(), [&](const auto& y) {
          return y.workload.name == name;
        });
    for (const auto& profile : profiles)
      if (profile.workload.name == name && profile.table)
        if (auto why = missing_from_table(x.spec(), profile))
          errors.push_back(std::move(*why));
    if (found == 0)
      errors.push_back({x.spec().file, 0, 0, "workload",
                        "'" + name
                          + "' has no profile: give --profile with one that "
                            "describes a workload of that name"});
    else if (found > 1)
      errors.push_back({x.spec().file, 0, 0, "workload",
                        "'" + name + "' has " + std::to_string(found)
                          + " profiles, of several devices: say with "
                            "--machines and --use how many there are of each"});
  }
  print(errors, "error");
  return errors.empty();
}

} // namespace hippo
