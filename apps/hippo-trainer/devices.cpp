#include "devices.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/base/devices.hpp"
#include "hippo/train/library.hpp"
#include "hippo/train/process/process_workload.hpp"
#include "modes/inputs.hpp"

namespace hippo {

namespace {

/// Returns the names of the devices that are asked for, each once.
std::vector<std::string> device_names(const trainer_options& opts) {
  std::vector<std::string> result;
  const auto add = [&result](const std::string& name) {
    if (std::find(result.begin(), result.end(), name) == result.end())
      result.push_back(name);
  };
  for (const auto& x : opts.devices) {
    if (x != "all") {
      add(x);
      continue;
    }
    const auto all = all_devices();
    if (!all.trouble.empty())
      spdlog::warn("trainer: {}", all.trouble);
    std::for_each(all.names.begin(), all.names.end(), add);
  }
  return result;
}

/// Returns the workload that this process is to try or to export; nothing: it
/// serves, or there is none.
std::optional<workload_spec> workload_of(const trainer_options& opts) {
  const auto& path = !opts.prepare.empty() ? opts.prepare
                     : !opts.check.empty() ? opts.check
                                           : opts.measure;
  if (!path.empty()) {
    workload_registry registry;
    if (!add_workloads(opts, "cpu", opts.threads, registry))
      if (const auto study = read_checked(path, registry))
        return study->workload;
  } else if (!opts.recipe.empty()) {
    if (const auto recipe = read_recipe(opts.recipe))
      return recipe->workload;
  }
  return std::nullopt;
}

/// Returns with which instructions this process is to compute on a CPU: as it
/// is told to, or as what it is to try or to export needs.
numerics numerics_for(const trainer_options& opts,
                      const std::optional<workload_spec>& workload) {
  if (opts.describe)
    return numerics::native; // nothing is computed
  auto word = opts.numerics;
  if (word.empty() && workload)
    word = numerics_of(*workload);
  return numerics_from(word).value_or(default_numerics);
}

/// Joins GPUs of one kind to groups of so many, by the names of their first
/// ones. Those that are left over are of no use, and said.
/// @param purpose of a group, for people
std::map<std::string, std::vector<std::string>>
joined(const std::vector<std::pair<std::string, std::string>>& kinds_by_name,
       std::uint32_t size, const std::string& purpose) {
  std::map<std::string, std::vector<std::string>> result;
  std::map<std::string, std::vector<std::string>> open; // by kind
  for (const auto& [name, kind] : kinds_by_name) {
    auto& group = open[kind];
    group.push_back(name);
    if (group.size() < size)
      continue;
    const auto first = group.front();
    result[first] = std::exchange(group, {});
  }
  for (const auto& [kind, group] : open)
    for (const auto& name : group)
      spdlog::warn("trainer: {} is left over, since {}; it is skipped", name,
                   purpose);
  return result;
}

} // namespace

std::optional<error>
add_workloads(const trainer_options& opts, const std::string& device,
              unsigned threads, workload_registry& registry,
              const std::vector<std::string>& joined_devices) {
  auto data = opts.data;
  std::vector<std::string> rank_devices;
  if (opts.members > 1)
    data.members =
      device == "cpu" ? std::vector(opts.members, device) : joined_devices;
  else
    rank_devices = joined_devices;
  add_built_in_workloads(registry, device, data);
  const bool serves = !opts.describe && opts.prepare.empty()
                      && opts.check.empty() && opts.measure.empty()
                      && opts.weights.empty();
  if (!opts.no_code)
    add_process_workloads(
      registry, {device, threads, opts.python, serves, rank_devices,
                 serves ? std::make_shared<idle_processes>() : nullptr});
  for (const auto& path : opts.libraries)
    if (auto why = load_workloads(path, registry))
      return why;
  return std::nullopt;
}

expected<std::vector<device_entry>>
prepare_devices(const trainer_options& opts) {
  std::vector<device_entry> result;
  std::string reasons;
  const auto workload = workload_of(opts);
  const auto numerics = numerics_for(opts, workload);
  const auto ranks = opts.ranks.value_or(workload ? ranks_of(*workload) : 1);
  std::vector<std::pair<std::string, std::string>> gpus; // and their kinds
  for (const auto& name : device_names(opts)) {
    auto info = prepare_device(name, opts.threads, numerics);
    if (!info) {
      const auto& why = info.failure().message;
      spdlog::warn("trainer: {}; it is skipped", why);
      reasons += (reasons.empty() ? "" : "; ") + why;
      continue;
    }
    if (name != "cpu")
      gpus.emplace_back(name, info->kind);
    result.push_back(device_entry{name, std::move(*info), {}, numerics});
  }
  std::map<std::string, std::vector<std::string>> groups;
  const auto together = std::max(ranks, opts.members);
  const auto of_one_kind =
    std::to_string(together) + (ranks > 1 ? " ranks" : " members");
  if (together > 1) {
    groups = joined(gpus, together, "trainers are of " + of_one_kind);
    std::erase_if(result, [&](const device_entry& x) {
      return x.name != "cpu" && !groups.contains(x.name);
    });
    if (result.empty() && !gpus.empty())
      reasons = of_one_kind + " take as many GPUs of one kind, and there are "
                + std::to_string(gpus.size());
  }
  for (auto& x : result)
    if (auto why =
          add_workloads(opts, x.name, opts.threads, x.registry, groups[x.name]))
      return *why;
  if (result.empty())
    return {errc::invalid_argument,
            "there is nothing to train on: " + reasons};
  return result;
}

} // namespace hippo
