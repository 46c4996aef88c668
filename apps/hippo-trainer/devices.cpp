#include "devices.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/core/devices.hpp"
#include "hippo/process/process_workload.hpp"
#include "hippo/train/library.hpp"

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

} // namespace

std::optional<error> add_workloads(const trainer_options& opts,
                                   const std::string& device, unsigned threads,
                                   workload_registry& registry) {
  add_built_in_workloads(registry, device);
  if (!opts.no_code)
    add_process_workloads(registry, {device, threads, opts.python});
  for (const auto& path : opts.libraries)
    if (auto why = load_workloads(path, registry))
      return why;
  return std::nullopt;
}

expected<std::vector<device_entry>>
prepare_devices(const trainer_options& opts) {
  std::vector<device_entry> result;
  std::string reasons;
  for (const auto& name : device_names(opts)) {
    auto info = prepare_device(name, opts.threads);
    if (!info) {
      const auto& why = info.failure().message;
      spdlog::warn("trainer: {}; it is skipped", why);
      reasons += (reasons.empty() ? "" : "; ") + why;
      continue;
    }
    auto& x = result.emplace_back(device_entry{name, std::move(*info), {}});
    if (auto why = add_workloads(opts, name, opts.threads, x.registry))
      return *why;
  }
  if (result.empty())
    return {errc::invalid_argument,
            "there is nothing to train on: " + reasons};
  return result;
}

} // namespace hippo
