#include "simulated_fleet.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

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

std::optional<fleet> load_fleet(const std::string& file) {
  const auto text = read_study_text(file);
  if (!text) {
    fail(text.failure(), exit_bad_input);
    return std::nullopt;
  }
  auto read = read_fleet(*text, file);
  print(read.errors, "error");
  return std::move(read.found);
}

bool add_workloads(const fleet& machines, const std::string& file,
                   workload_catalogue& catalogue) {
  return std::all_of(machines.kinds.begin(), machines.kinds.end(),
                     [&](const auto& x) {
                       return load_profiles(files_of(x, file), catalogue)
                         .has_value();
                     });
}

std::optional<std::vector<simulated_machines>>
find_machines(const fleet& machines, const std::string& file,
              const std::vector<machine_group>& used,
              const std::vector<accepted_study>& studies,
              const std::vector<simulation_profile>& profiles,
              workload_catalogue& catalogue) {
  std::vector<simulated_machines> result;
  std::vector<diagnostic> errors;
  for (const auto& group : used) {
    simulated_machines next;
    next.kind = machines.kinds[group.kind];
    next.machines = group.machines;
    const auto own = load_profiles(files_of(next.kind, file), catalogue);
    if (!own)
      return std::nullopt;
    for (const auto& study : studies) {
      const auto& workload = study.spec().workload.name;
      const auto any = [](const auto&) { return true; };
      if (find_profile(next.profiles, workload, any))
        continue;
      const auto* found = find_profile(*own, workload, any);
      if (!found)
        found = find_profile(profiles, workload, [&](const auto& x) {
          return is_device(next.kind.device, x.device);
        });
      if (found)
        next.profiles.push_back(*found);
      else
        errors.push_back(lacks_profile(next.kind, file, workload));
    }
    result.push_back(std::move(next));
  }
  print(errors, "error");
  if (!errors.empty())
    return std::nullopt;
  return result;
}

} // namespace hippo
