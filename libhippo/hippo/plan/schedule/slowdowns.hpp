#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace hippo {

/// How much longer a step takes while its trainer trains other leases too,
/// learned from what trainers report, for each kind of device.
///
/// The time of a step beside k - 1 other leases is taken to be a factor of its
/// key times one of k, the *slowdown*; both are fitted to the logarithms
/// (`compare_speeds`). The slowdown of the fewest leases that were measured is
/// 1: as a rule that of one lease. It never falls with more leases. Between two
/// numbers that were measured it is interpolated; beyond the largest it stays,
/// as nothing speaks against more: together, k leases are then as many times as
/// fast as they would be one after the other. That is optimistic, so that a
/// trainer is filled before anything is known of it.
class slowdowns {
public:
  /// Measurements of a number of leases that it takes to rely on them.
  static constexpr std::uint64_t measurements_min = 3;

  /// More leases are worth it only if together they are faster by this factor.
  static constexpr double gain_min = 1.03;

  /// Measurements of more leases than are worth it are forgotten after so
  /// many other measurements of the kind, so that it is tried again.
  static constexpr std::uint64_t forgotten_after = 1000;

  /// Takes in a measurement. Later ones weigh more.
  /// @param leases that the trainer had meanwhile
  /// @param measurements as which it counts
  /// REQUIRES: `leases > 0`, `steps > 0`
  void learn(const std::string& kind, std::uint32_t leases,
             const std::string& speed_key, double steps, double seconds,
             std::uint64_t measurements = 1);

  /// Whether so many leases are no more than were measured, or nothing was
  /// measured at all: else `at` is too low, as far as anybody knows.
  [[nodiscard]] bool covers(const std::string& kind, double leases) const;

  /// Returns how many times as long as alone a step takes; at least 1.
  /// @param leases that the trainer has, it included; the mean over a time
  [[nodiscard]] double at(const std::string& kind, double leases) const;

  /// Returns how many leases a trainer with so many lanes had best be given:
  /// until the sum of their rates, leases / slowdown, stops growing.
  [[nodiscard]] std::uint32_t worth(const std::string& kind,
                                    std::uint32_t lanes) const;

private:
  struct mean {
    double seconds = 0;
    double steps = 0;
  };
  /// Measurements with one number of leases.
  struct crowd {
    std::map<std::string, mean> steps; ///< by speed key
    std::uint64_t measurements = 0;
    std::uint64_t last = 0; ///< of the kind's measurements
  };
  struct device {
    std::map<std::uint32_t, crowd> crowds; ///< by the number of leases
    std::uint64_t measurements = 0;
    std::map<std::uint32_t, double> fitted; ///< slowdowns, none falls
    std::uint64_t fit_due = 0; ///< measurements at which it is fitted anew
  };

  static void fit(device& target);
  static std::uint32_t worth(const device& target, std::uint32_t lanes);
  static double at(const device& target, double leases);

  std::map<std::string, device> kinds_;
};

} // namespace hippo
