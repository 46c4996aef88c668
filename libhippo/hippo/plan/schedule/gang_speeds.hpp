#pragma once

#include <map>
#include <string>
#include <utility>

namespace hippo {

/// How many times as fast as one trainer several are that train a path
/// together, learned from reports of gangs, for each kind of device.
///
/// Twice as many members are taken to be 1.8 times as fast, .9 of linear, until
/// it was measured: from the largest smaller number that was, with that speed
/// key, else with any.
class gang_speeds {
public:
  /// The factor of twice as many members that were not measured.
  static constexpr double doubling = 1.8;

  /// Takes in a measurement. Later ones weigh more.
  /// @param members a power of two, at least 2
  /// REQUIRES: `speedup > 0`
  void learn(const std::string& kind, const std::string& speed_key,
             unsigned members, double speedup);

  /// @param members a power of two; 1: it is 1
  [[nodiscard]] double at(const std::string& kind, const std::string& speed_key,
                          unsigned members) const;

private:
  struct mean {
    double total = 0;
    double weight = 0;
  };
  using by_members = std::map<unsigned, mean>;

  std::map<std::pair<std::string, std::string>, by_members> by_key_;
  std::map<std::string, by_members> by_kind_;
};

} // namespace hippo
