#include "simulated_fleet.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

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

/// What is said of machines without a profile.
diagnostic lacks_profile(const machine_kind& kind, const std::string& file,
                         const std::string& workload) {
  return {file, 0, 0, "machines." + kind.name,
          "has no profile of '" + workload
            + "': make one there (`hippo profile`) and name it by 'profile', "
              "or give --profile with one of device: "
            + kind.device};
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
              const std::vector<simulation_profile>& profiles) {
  std::vector<simulated_machines> result;
  std::vector<diagnostic> errors;
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
      if (!found)
        found = find_profile(profiles, workload, [&](const auto& x) {
          return is_device(next.kind.device, x.device);
        });
      if (found)
        next.profiles.push_back(*found);
      else
        errors.push_back(lacks_profile(next.kind, machines.file, workload));
    }
    result.push_back(std::move(next));
  }
  print(errors, "error");
  if (!errors.empty())
    return std::nullopt;
  return result;
}

} // namespace hippo
