#include "simulation.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "engine.hpp"
#include "hippo/core/number.hpp"
#include "hippo/report/csv_row.hpp"
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

/// A simulated engine of which somebody writes down what it measures.
class watched_engine final : public engine {
public:
  watched_engine(std::shared_ptr<engine> watched,
                 std::shared_ptr<virtual_timeline> timeline,
                 std::vector<simulated_measurement>& out)
    : watched_(std::move(watched)),
      timeline_(std::move(timeline)),
      out_(&out) {}

  void start(const lease& x, engine_sink sink) override {
    watched_->start(x, [this, workload = x.workload.name,
                        sink = std::move(sink)](const engine_event& told) {
      if (const auto* stop = std::get_if<stop_report>(&told);
          stop != nullptr && !stop->values.empty())
        out_->push_back(
          {std::chrono::duration<double>(timeline_->now()).count(), workload,
           stop->at, stop->values});
      sink(told);
    });
  }

  void add_stop(lease_id lease, const stop_point& stop) override {
    watched_->add_stop(lease, stop);
  }

  void cancel(lease_id lease) override { watched_->cancel(lease); }

  [[nodiscard]] step_t reached(lease_id lease) const override {
    return watched_->reached(lease);
  }

private:
  std::shared_ptr<engine> watched_;
  std::shared_ptr<virtual_timeline> timeline_;
  std::vector<simulated_measurement>* out_;
};

/// A service with simulated trainers.
class simulated_service {
public:
  simulated_service(const simulation& x,
                    std::vector<simulated_measurement>* measured)
    : seed_(x.seed),
      measured_(measured),
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
    trainers_.push_back(
      system_.spawn(trainer, caf::actor_cast<registrar_actor>(actors_.pool()),
                    x, make_engine(), nullptr));
  }

  std::shared_ptr<engine> make_engine() {
    std::shared_ptr<engine> result = std::make_shared<simulated_engine>(
      timeline_, profiles_, store_, seed_);
    if (measured_ != nullptr)
      result = std::make_shared<watched_engine>(result, timeline_, *measured_);
    return result;
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
  std::vector<simulated_measurement>* measured_;
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
  const auto defaults = defaults_of(x.workload);
  const auto size = study.space.size();
  const auto count = std::min(size.value_or(looked_for_max), looked_for_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    // Spread over all of them where they are many.
    auto trial = size && *size == count ? study.space.at(i)
                                        : study.space.sample(study.seed, i);
    auto sequences = trial.sequences;
    sequences.insert(defaults.begin(), defaults.end());
    if (const auto why
        = x.table->misses(join(sequences, study.max_steps), study.max_steps,
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

expected<run_record> simulate(const simulation& x,
                              std::vector<simulated_measurement>* measured) {
  log_to_stderr();
  auto result = simulated_service{x, measured}.run(x.trainers);
  if (result)
    result->simulated = true;
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
  std::ofstream out{file, std::ios::binary};
  out << csv_row(fields);
  for (const auto& x : xs) {
    fields = {to_text(x.seconds), x.workload, std::to_string(x.step)};
    for (const auto& name : names) {
      const auto i = x.values.find(name);
      fields.push_back(i == x.values.end() ? "" : to_text(i->second));
    }
    out << csv_row(fields);
  }
  out.close();
  if (!out)
    return {errc::io_failed, file + ": cannot be written: "
                               + std::system_category().message(errno)};
  return std::monostate{};
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
    const auto profile
      = std::ranges::find_if(profiles, [&](const auto& y) {
          return y.workload.name == name;
        });
    if (profile != profiles.end()) {
      if (profile->table)
        if (auto why = missing_from_table(x.spec(), *profile))
          errors.push_back(std::move(*why));
      continue;
    }
    errors.push_back({x.spec().file, 0, 0, "workload",
                      "'" + name
                        + "' has no profile: give --profile with one that "
                          "describes a workload of that name"});
  }
  print(errors, "error");
  return errors.empty();
}

} // namespace hippo
