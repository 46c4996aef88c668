#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hippo/base/types.hpp"

namespace hippo {

/// A share of a trial's length, as a study file writes it: `20%`, `12.5%`.
class percentage {
public:
  /// Reads a decimal number above 0, of up to 9 digits, with its sign.
  static std::optional<percentage> from(std::string_view text);

  /// Returns that share of `length` steps, rounded half up, at least 1.
  /// REQUIRES: `length` is at most `step_limit`
  [[nodiscard]] step_t of(step_t length) const;

private:
  percentage(std::uint64_t digits, std::uint64_t whole)
    : digits_(digits), whole_(whole) {}

  std::uint64_t digits_; ///< without the point
  std::uint64_t whole_;  ///< the digits that stand for the whole length
};

} // namespace hippo
