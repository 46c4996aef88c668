#include "devices.hpp"

#include <algorithm>
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

/// Returns with which instructions this process is to compute on a CPU: as it
/// is told to, or as what it is to try or to export needs.
numerics numerics_for(const trainer_options& opts) {
  if (opts.describe)
    return numerics::native; // nothing is computed
  auto word = opts.numerics;
  const auto& path = !opts.prepare.empty() ? opts.prepare
                     : !opts.check.empty() ? opts.check
                                           : opts.measure;
  if (word.empty() && !path.empty()) {
    workload_registry registry;
    if (!add_workloads(opts, "cpu", opts.threads, registry))
      if (const auto study = read_checked(path, registry))
        word = numerics_of(study->workload);
  } else if (word.empty() && !opts.recipe.empty()) {
    if (const auto recipe = read_recipe(opts.recipe))
      word = numerics_of(recipe->workload);
  }
  return numerics_from(word).value_or(default_numerics);
}

} // namespace

std::optional<error> add_workloads(const trainer_options& opts,
                                   const std::string& device, unsigned threads,
                                   workload_registry& registry) {
  add_built_in_workloads(registry, device);
  const bool serves = !opts.describe && opts.prepare.empty()
                      && opts.check.empty() && opts.measure.empty()
                      && opts.weights.empty();
  if (!opts.no_code)
    add_process_workloads(registry, {device, threads, opts.python, serves});
  for (const auto& path : opts.libraries)
    if (auto why = load_workloads(path, registry))
      return why;
  return std::nullopt;
}

expected<std::vector<device_entry>>
prepare_devices(const trainer_options& opts) {
  std::vector<device_entry> result;
  std::string reasons;
  const auto numerics = numerics_for(opts);
  for (const auto& name : device_names(opts)) {
    auto info = prepare_device(name, opts.threads, numerics);
    if (!info) {
      const auto& why = info.failure().message;
      spdlog::warn("trainer: {}; it is skipped", why);
      reasons += (reasons.empty() ? "" : "; ") + why;
      continue;
    }
    auto& x = result.emplace_back(
      device_entry{name, std::move(*info), {}, numerics});
    if (auto why = add_workloads(opts, name, opts.threads, x.registry))
      return *why;
  }
  if (result.empty())
    return {errc::invalid_argument,
            "there is nothing to train on: " + reasons};
  return result;
}

} // namespace hippo
