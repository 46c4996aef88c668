#include "simulation.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>
#include <string>
#include <utility>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "outcome.hpp"
#include "service.hpp"
#include "simulated_engine.hpp"
#include "trainer.hpp"
#include "virtual_time.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

/// Simulated trainers do not fall silent: they need not heartbeat often.
pool_options quiet_watch() {
  pool_options result;
  result.heartbeat_interval = 1h;
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
  explicit simulated_service(const simulation& x)
    : seed_(x.seed),
      studies_(x.studies),
      actors_(system_, options_of(x), [this] { settle(); }) {
    for (const auto& profile : x.profiles)
      profiles_->emplace(profile.workload.name, profile);
  }

  ~simulated_service() {
    for (const auto& x : trainers_)
      actors_.self()->send_exit(x, caf::exit_reason::user_shutdown);
    settle();
    actors_.close();
  }

  expected<run_record> run(unsigned trainers) {
    if (auto why = actors_.open())
      return *why;
    for (const auto& x : studies_)
      if (auto id = actors_.submit({x, {}}); !id)
        return id.failure();
    for (unsigned i = 0; i < trainers; ++i)
      add_trainer();
    settle();
    actors_.go();
    // Nothing that matters to a simulation waits for a timeout alone.
    if (!clock_.run_until([this] { return all_ended(); }, 0s))
      return why_stuck();
    return actors_.record(std::chrono::duration<double>(clock_.now()).count());
  }

private:
  static service_options options_of(const simulation& x) {
    service_options result;
    result.coordinator.workloads = x.catalogue.workloads;
    result.coordinator.policy = x.policy;
    result.coordinator.merge = x.merge;
    result.pool = quiet_watch();
    return result;
  }

  void settle() { clock_.settle(); }

  void add_trainer() {
    hello x;
    x.host = "simulated";
    x.process_id = trainers_.size() + 1;
    x.device = device_of_all();
    x.threads = 1;
    for (const auto& [name, profile] : *profiles_)
      x.workloads.emplace(name, profile.workload.version);
    trainers_.push_back(system_.spawn(
      trainer, caf::actor_cast<registrar_actor>(actors_.pool()), x,
      std::shared_ptr<engine>(std::make_shared<simulated_engine>(
        timeline_, profiles_, store_, seed_)),
      nullptr));
  }

  /// What the times of all profiles stand for: a trainer is of one kind.
  [[nodiscard]] std::string device_of_all() const {
    std::set<std::string> all;
    for (const auto& kvp : *profiles_)
      all.insert(kvp.second.device);
    std::string result;
    for (const auto& x : all)
      result += (result.empty() ? "" : " / ") + x;
    return result;
  }

  /// Says what the service waits for although nothing more will happen.
  error why_stuck() {
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
              + unended + "; leases that no trainer works on: "
              + std::to_string(idle_leases)};
  }

  bool all_ended() {
    // To wait for a message takes longer than most of what happens.
    for (bool more = actors_.self()->has_next_message(); more;)
      actors_.self()->receive(
        [](notify_atom, const trial_event&) {},
        [this](notify_atom, const study_end&) { ++ended_; },
        [](const caf::down_msg&) {}, caf::after(0s) >> [&] { more = false; });
    return ended_ == studies_.size();
  }

  std::uint64_t seed_;
  const std::vector<accepted_study>& studies_;
  std::shared_ptr<virtual_timeline> timeline_
    = std::make_shared<virtual_timeline>();
  std::shared_ptr<simulation_profiles> profiles_
    = std::make_shared<simulation_profiles>();
  std::shared_ptr<simulated_store> store_
    = std::make_shared<simulated_store>();
  virtual_config config_;
  caf::actor_system system_{config_};
  virtual_time clock_{system_, timeline_};
  service actors_;
  std::vector<training_actor> trainers_;
  std::size_t ended_ = 0;
};

/// What trainers do is no news here, and failures are in the report.
void log_to_stderr() {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
    "hippo", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("%v");
  spdlog::set_level(spdlog::level::err);
}

} // namespace

expected<run_record> simulate(const simulation& x) {
  log_to_stderr();
  auto result = simulated_service{x}.run(x.trainers);
  if (result)
    result->simulated = true;
  return result;
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
    if (!read.profile) {
      good = false;
      continue;
    }
    const auto& name = read.profile->workload.name;
    const auto same = [&](const auto& x) { return x.workload.name == name; };
    if (std::any_of(result.begin(), result.end(), same)) {
      print({{file, 0, 0, "workload",
              "'" + name + "' has a profile already: give one for each"}},
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
    if (std::any_of(profiles.begin(), profiles.end(), [&](const auto& y) {
          return y.workload.name == name;
        }))
      continue;
    errors.push_back({x.spec().file, 0, 0, "workload",
                      "'" + name
                        + "' has no profile: give --profile with one that "
                          "describes a workload of that name"});
  }
  print(errors, "error");
  return errors.empty();
}

} // namespace hippo
