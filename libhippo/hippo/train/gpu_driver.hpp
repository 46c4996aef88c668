#pragma once

#include <cstdint>
#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// The driver's description of a GPU.
struct gpu_facts {
  std::string name;
  std::uint64_t memory_bytes = 0; ///< 0: unknown
  std::string compute_capability; ///< e.g. `9.0`; empty: unknown
};

/// The GPUs' driver. Its library is loaded at the first use, so that a machine
/// without one needs none. Devices are numbered from 0, as CUDA numbers them
/// for this process (`CUDA_VISIBLE_DEVICES` counts).
class gpu_driver {
public:
  /// Returns the driver of this machine, one of no GPUs if none is installed,
  /// or `errc::io_failed` if the one that is installed does not start.
  static const expected<gpu_driver>& get();

  [[nodiscard]] int count() const noexcept { return count_; }

  /// The newest CUDA that it can run, e.g. `13.0`; empty: unknown.
  [[nodiscard]] const std::string& version() const noexcept { return version_; }

  /// Returns what it says of GPU `index`.
  /// REQUIRES: `0 <= index < count()`
  [[nodiscard]] gpu_facts describe(int index) const;

private:
  static expected<gpu_driver> load();

  void* library_ = nullptr;
  int count_ = 0;
  std::string version_;
};

} // namespace hippo
