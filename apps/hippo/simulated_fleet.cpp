#include "simulated_fleet.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "known_times.hpp"
#include "machine_list.hpp"
#include "outcome.hpp"

namespace hippo {

namespace {

/// The profile of a workload among some; null: there is none.
template <class Predicate>
const simulation_profile*
find_profile(const std::vector<simulation_profile>& xs,
             const std::string& workload, const Predicate& is_of_kind) {
  const auto i = std::find_if(xs.begin(), xs.end(), [&](const auto& x) {
    return x.workload.name == workload && is_of_kind(x);
  });
  return i == xs.end() ? nullptr : &*i;
}

/// The files of a kind's profiles, from where this process works.
std::vector<std::string> files_of(const machine_kind& kind,
                                  const std::string& beside) {
  std::vector<std::string> result;
  for (const auto& x : kind.profiles)
    result.push_back(
      (std::filesystem::path{beside}.parent_path() / x).string());
  return result;
}

/// What is said of machines of which nothing is known.
diagnostic lacks_times(const machine_kind& kind, const std::string& file,
                       const std::string& workload) {
  return {file, 0, 0, "machines." + kind.name,
          "has no profile of '" + workload
            + "', and nothing that was measured says how long it takes there: "
              "make one on such a machine (`hippo profile STUDY -o "
            + kind.name + ".yaml`) and name it by 'profile', give --profile "
                          "with one of device: "
            + kind.device
            + ", or preview with --server, of a service that has trained it "
              "there"};
}

/// All that is known of times anywhere. What is on a kind of machine goes by
/// the words of its device, however it was told there.
known_times times_of(const known_machines& machines,
                     const time_sources& sources) {
  const auto& kinds = machines.all.kinds;
  const auto rename = [&](std::string& device) {
    for (const auto& kind : kinds)
      if (is_device(kind.device, device)) {
        device = kind.device;
        return;
      }
  };
  auto profiles = sources.profiles;
  for (auto& x : profiles)
    rename(x.device);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    for (auto x : machines.profiles[i]) {
      x.device = kinds[i].device;
      profiles.push_back(std::move(x));
    }
  auto measured = sources.measured;
  for (auto& x : measured)
    for (auto& y : x.timings)
      rename(y.device);
  return {profiles, std::move(measured), sources.workloads};
}

/// Where the times of a kind's profile come from.
std::string source_of(const machine_kind& kind) {
  std::string result;
  for (const auto& file : kind.profiles)
    result += (result.empty() ? "from " : " and ") + file;
  return result;
}

/// Adds where further times of a kind come from.
void add_source(simulated_machines& to, const std::string& source) {
  if (to.source.find(source) == to.source.npos)
    to.source += (to.source.empty() ? "" : " and ") + source;
}

} // namespace

std::optional<known_machines> load_machines(const std::string& file,
                                            workload_catalogue& catalogue) {
  auto found = load_fleet(file);
  if (!found)
    return std::nullopt;
  known_machines result{file, std::move(*found), {}};
  for (const auto& kind : result.all.kinds) {
    auto own = load_profiles(files_of(kind, file), catalogue);
    if (!own)
      return std::nullopt;
    result.profiles.push_back(std::move(*own));
  }
  return result;
}

std::optional<std::vector<simulated_machines>>
find_machines(const known_machines& machines,
              const std::vector<machine_group>& used,
              const std::vector<accepted_study>& studies,
              const time_sources& sources) {
  std::vector<simulated_machines> result;
  std::vector<diagnostic> errors;
  const auto times = times_of(machines, sources);
  for (const auto& group : used) {
    simulated_machines next;
    next.kind = machines.all.kinds[group.kind];
    next.machines = group.machines;
    for (const auto& study : studies) {
      const auto& workload = study.spec().workload.name;
      const auto any = [](const auto&) { return true; };
      if (find_profile(next.profiles, workload, any))
        continue;
      const auto* found = find_profile(machines.profiles[group.kind],
                                       workload, any);
      if (found)
        add_source(next, source_of(next.kind));
      else if ((found = find_profile(sources.profiles, workload,
                                     [&](const auto& x) {
                                       return is_device(next.kind.device,
                                                        x.device);
                                     })))
        add_source(next, "from --profile");
      if (found) {
        next.profiles.push_back(*found);
      } else if (auto known
                 = times.find(next.kind, study.spec().workload)) {
        next.profiles.push_back(std::move(known->profile));
        add_source(next, known->source);
      } else {
        errors.push_back(lacks_times(next.kind, machines.file, workload));
      }
    }
    result.push_back(std::move(next));
  }
  print(errors, "error");
  if (!errors.empty())
    return std::nullopt;
  return result;
}

} // namespace hippo
