#pragma once

#include <cstdint>

#include "hippo/train/torch/random.hpp"

// The masks of subnetworks: the same on CPUs and GPUs, as nvcc lets code for
// GPUs call `constexpr` functions.

namespace hippo {

/// Returns the slot of an example of a batch. Slots are ranges of examples, in
/// order and of sizes that differ by 1 at most.
/// @param example of [0, examples)
constexpr std::int64_t slot_of(std::int64_t example, std::int64_t examples,
                               std::int64_t slots) noexcept {
  return example * slots / examples;
}

/// Returns the first example of a slot: the least whose `slot_of` is no less.
/// That of slot `slots` is `examples`.
constexpr std::int64_t first_of_slot(std::int64_t slot, std::int64_t examples,
                                     std::int64_t slots) noexcept {
  return (slot * examples + slots - 1) / slots;
}

/// Returns the numbers by which a subnetwork drops blocks of the features of a
/// layer: block i if the low 32 bits of `at(i)` are below the limit.
constexpr random_numbers
numbers_of_subnetwork(std::uint64_t seed, std::uint64_t layer,
                      std::uint64_t subnetwork) noexcept {
  return random_numbers{seed, purpose::subnetwork, {layer, subnetwork}};
}

} // namespace hippo
