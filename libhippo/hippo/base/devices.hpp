#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// Says why a text is the name of no device on any machine; empty: it is one.
/// Names are `cpu`, `cuda:N`, and `all`: every GPU, else the CPU.
std::string check_device_name(const std::string& text);

/// Returns what each trainer process of this machine is to train on. A GPU has
/// one each time it is named, and `all` has one; the CPU has several.
/// @param names at least one, each a device's name
/// @param trainers how many were asked for; unless given, a CPU has `cores`
/// @returns the devices, or `errc::invalid_argument`: the CPU does not train
///          beside GPUs, and `trainers` is not for GPUs
expected<std::vector<std::string>>
devices_of_trainers(const std::vector<std::string>& names,
                    std::optional<unsigned> trainers, unsigned cores);

/// Returns how many leases a trainer trains at once unless it is told: one on a
/// CPU, which is no faster with more, and 16 on a GPU, which a small model
/// leaves idle. Memory limits the number: each lease has weights, optimiser
/// state, activations and a CUDA graph of its own.
std::uint32_t default_at_once(const std::string& device);

} // namespace hippo
