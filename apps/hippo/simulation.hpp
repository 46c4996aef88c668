#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "estimate_watch.hpp"
#include "hippo/forecast/machines/costs.hpp"
#include "hippo/forecast/machines/machines.hpp"
#include "hippo/forecast/simulate/profile.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "studies.hpp"
#include "watched_engine.hpp"

namespace hippo {

/// Machines of one kind in a simulation. All are there from its begin.
///
/// Each is interrupted after an exponential time, drawn by the simulation's
/// seed, the machine's place among all, and how many it has replaced: its
/// trainers leave in good order then, as on SIGTERM, and what they have not
/// brought to an end `notice_seconds` later is lost. The one that replaces it
/// is there `start_seconds` after the warning, once the old one is gone.
struct simulated_machines {
  machine_kind kind;
  unsigned machines = 1;
  /// Of training on one of its trainers: one for each workload that the studies
  /// name.
  std::vector<simulation_profile> profiles;
  std::string source{}; ///< of its times, for people
};

/// What a simulation is made of.
struct simulation {
  std::vector<accepted_study> studies;
  workload_catalogue catalogue;
  /// One for each workload that the studies name.
  std::vector<simulation_profile> profiles;
  unsigned trainers = 1;
  std::uint32_t at_once = 1; ///< leases that each trains at once
  /// What the trainers are on instead of those; empty: trainers of `profiles`
  /// that stay.
  std::vector<simulated_machines> machines;
  hippo::policy policy = hippo::policy::critical_path;
  placement_rule placement = placement_rule::advantage;
  bool merge = true;
  bool gangs = true; ///< whether idle trainers help others with their paths
  std::uint64_t seed = 0; ///< of times and failures
};

/// Runs the service's own actors with simulated trainers in virtual time, on
/// the calling thread. Equal simulations give equal records.
/// @param lives is told how long each machine was there, and worked; null: it
///              is of no matter
/// @param measured if given, gets all that trainers measure, as it is told
/// @param estimates if given, asks when studies will end
/// @returns the record, its times in virtual seconds, or why there is none
expected<run_record>
simulate(const simulation& simulation,
         std::vector<machine_life>* lives = nullptr,
         std::vector<simulated_measurement>* measured = nullptr,
         estimate_watch* estimates = nullptr);

/// Writes measurements as CSV, a column for each metric that there is.
/// @returns `errc::io_failed` if that is not possible
expected<std::monostate>
write_measurements(const std::vector<simulated_measurement>& xs,
                   const std::string& file);

/// Reads profiles, with their tables, and adds the workloads that they describe
/// to a catalogue; prints every error on stderr. Two of one workload are of
/// different devices.
/// @returns nothing if there was an error
std::optional<std::vector<simulation_profile>>
load_profiles(const std::vector<std::string>& files,
              workload_catalogue& catalogue);

/// Says on stderr which studies name a workload without a profile, or with
/// several, or may train what the table of its profile does not have.
/// @returns whether there is none
bool check_profiles(const std::vector<accepted_study>& studies,
                    const std::vector<simulation_profile>& profiles);

} // namespace hippo
