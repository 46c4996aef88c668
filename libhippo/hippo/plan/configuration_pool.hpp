#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// Stores configurations as short lists of numbers: each pair of name and form
/// is kept once, so that a million nodes that differ in one hyper-parameter
/// cost a million lists and not a million maps.
class configuration_pool {
public:
  /// Equal lists iff equal configurations.
  using compact = std::vector<std::uint32_t>;

  /// O(hyper-parameters).
  compact intern(const configuration& x);

  /// Returns what `intern` would, if it would add nothing.
  [[nodiscard]] std::optional<compact> find(const configuration& x) const;

  [[nodiscard]] configuration restore(const compact& x) const;

private:
  struct entry {
    std::string name;
    form shape;
  };
  std::vector<entry> entries_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

} // namespace hippo
