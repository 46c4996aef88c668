#pragma once

#include <cstdint>

// Gyro dropout: the hyper-parameters of workloads that have it, and their
// values where a study does not mention them.

namespace hippo {

/// The most subnetworks that a batch may train, and that there may be.
inline constexpr std::uint32_t subnetworks_at_once_max = 64;
inline constexpr std::uint32_t subnetworks_max = 65536;

/// Which features of a layer a subnetwork drops, how many subnetworks there
/// are, and when each is trained.
///
/// Source: Lee et al., "Gyro Dropout: Maximizing Ensemble Effect in Neural
/// Network Training" (MLSys 2022). Its published code draws subnetworks with
/// replacement, so that some are never trained.
struct subnetwork_settings {
  std::uint32_t count = 0;    ///< 0: ordinary dropout, new masks in each batch
  std::uint32_t at_once = 16; ///< trained by a batch
  double period = 1;          ///< epochs for which these are trained
  std::uint32_t block = 1;    ///< features that are dropped together
  bool replaces = false;      ///< they are drawn, not taken from a permutation
  friend bool operator==(const subnetwork_settings&,
                         const subnetwork_settings&) = default;
};

// The names of these as hyper-parameters, and the words of the last one.
inline constexpr const char* subnetworks_name = "subnetworks";
inline constexpr const char* at_once_name = "subnetworks_at_once";
inline constexpr const char* subnetwork_period_name = "subnetwork_period";
inline constexpr const char* dropout_block_name = "dropout_block";
inline constexpr const char* subnetwork_draw_name = "subnetwork_draw";
inline constexpr const char* draw_by_permutation = "permute";
inline constexpr const char* draw_with_replacement = "replace";

} // namespace hippo
