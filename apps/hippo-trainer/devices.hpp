#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/train/device.hpp"
#include "hippo/train/workload.hpp"
#include "options.hpp"

namespace hippo {

/// A device to train on, and what can be trained there.
struct device_entry {
  std::string name;
  device_info info;
  workload_registry registry;
  hippo::numerics numerics = default_numerics;
};

/// Adds what can be trained on a device.
/// @param joined_devices the GPUs of its trainer, if that has several: for
///        members, or the ranks of a trial (`process_context`)
/// @returns why a library cannot be used
std::optional<error>
add_workloads(const trainer_options& opts, const std::string& device,
              unsigned threads, workload_registry& registry,
              const std::vector<std::string>& joined_devices = {});

/// Makes the devices of this process ready. One that cannot be used is skipped
/// as long as another one can. Where trials have several ranks, an entry is the
/// first GPU of as many of one kind.
expected<std::vector<device_entry>>
prepare_devices(const trainer_options& opts);

} // namespace hippo
