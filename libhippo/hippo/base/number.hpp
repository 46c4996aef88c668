#pragma once

#include <string>

#include "hippo/base/types.hpp"

namespace hippo {

/// Rounds `value` to 12 significant decimal digits, so that one value reached
/// by two formulas is one double. Idempotent; keeps NaN and infinities; -0 is
/// 0.
double canonical(double value);

/// Returns the shortest decimal form that reads back as exactly `value`.
/// Integers carry neither point nor exponent up to 1e15: `64`, not `64.0`.
std::string to_text(double value);

/// Returns a number as `to_text(double)` and a word as it is.
std::string to_text(const scalar& value);

} // namespace hippo
