#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "hippo/space/study.hpp"
#include "hippo/space/value_range.hpp"

namespace hippo {

/// The continuous ranges of a space whose values are rounded: whole numbers by
/// their logarithm, and multiples of a `step`. Many decisions are one value
/// there; of these one stands for all.
class rounded_leaves {
public:
  explicit rounded_leaves(const search_space& space);

  /// Returns the decision that stands for a value of such a range; of any other
  /// leaf what is given.
  [[nodiscard]] std::uint64_t standing_for(const space_leaf& leaf,
                                           std::uint64_t decision) const;

  /// Returns how many values a leaf has; nothing: a continuous range's.
  [[nodiscard]] std::optional<std::uint64_t>
  values_of(const space_leaf& leaf) const;

  /// Returns the decision for one of these.
  /// REQUIRES: `place` is below their number
  [[nodiscard]] std::uint64_t at(const space_leaf& leaf,
                                 std::uint64_t place) const;

private:
  struct rounded {
    value_range range;
    double first = 0; ///< the lowest value
    double step = 1;
    std::uint64_t count = 1;
  };

  void add(const search_space::node& node);
  [[nodiscard]] const rounded* find(const space_leaf& leaf) const;

  std::unordered_map<std::string, rounded> ranges_; ///< by path
};

} // namespace hippo
