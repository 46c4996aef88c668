#pragma once

#include <cstdint>
#include <vector>

#include "hippo/model/subnetworks.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/train/torch/step_values.hpp"
#include "hippo/train/torch/subnetwork_mask.hpp"

// Gyro dropout: ordinary dropout trains another subnetwork with every example;
// here the subnetworks are few and fixed, and each is trained for a while. The
// masks are functions of addresses, so checkpoints hold nothing of them.

namespace hippo {

/// Returns the settings at a step: defaults where a configuration has none.
/// Throws `std::invalid_argument` if values do not go together.
subnetwork_settings subnetworks_at(const configuration& config, step_t at);

/// Returns the number of the period in which a batch lies, from 0 on.
/// @param epoch whole epochs before it
/// @param share of its epoch that is trained before it, in [0, 1)
std::uint64_t subnetwork_period_of(const subnetwork_settings& settings,
                                   step_t epoch, double share);

/// Returns the subnetworks that are trained in a period, one for each slot of a
/// batch.
///
/// Slots of all periods, one after another, are places in cycles of
/// `settings.count`; each cycle is a permutation of all subnetworks. If
/// they are drawn, each slot of each period has a draw of its own.
/// REQUIRES: `settings.count > 0`
/// @complexity O(settings.count)
std::vector<std::uint32_t> subnetworks_of(const subnetwork_settings& settings,
                                          std::uint64_t seed,
                                          std::uint64_t period);

/// Has a part of a batch drop activations by its share of a period's
/// subnetworks, or, if there are none, as ordinary dropout does. Part p of P
/// has those of n from p n / P to below (p + 1) n / P, rounded so that each has
/// one at least: where they do not divide each other, two parts share one.
/// @param all as of `subnetworks_of`; not used if there are none
/// @param parts that a batch has; 1: it is whole
void put_subnetworks(const subnetwork_settings& settings,
                     const std::vector<std::uint32_t>& all, std::int64_t part,
                     std::int64_t parts, step_values& to);

/// Calls `visit(first, count, numbers)` for each slot of a batch that has
/// examples: the first of them, how many there are, and the numbers by which
/// its subnetwork drops features of the layer.
template <class Visit>
void each_slot(const hippo_cuda_step& values, std::uint64_t layer,
               std::int64_t examples, const Visit& visit) {
  const std::int64_t slots = values.dropout_slots;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const auto first = first_of_slot(slot, examples, slots);
    const auto count = first_of_slot(slot + 1, examples, slots) - first;
    if (count > 0)
      visit(
        first, count,
        numbers_of_subnetwork(values.seed, layer, values.subnetworks[slot]));
  }
}

} // namespace hippo
