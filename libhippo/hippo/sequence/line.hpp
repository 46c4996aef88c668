#pragma once

#include <optional>

#include "hippo/sequence/form.hpp"

namespace hippo {

// Lines are worked out in exact decimals, so that a line is one form wherever
// it was begun and however long it was meant to be: its canonical numbers have
// at most 12 decimal digits, which integers of 128 bits hold.

/// Returns the line from `from` at `origin` to `to`, `steps` later, its rise
/// and its steps in lowest terms: `-0.1` in 80 steps is `-0.00125` in 1.
/// Nothing if the rise has more than 15 digits (a double would round it).
/// REQUIRES: `from` and `to` are canonical, `steps > 0`.
std::optional<form> line_between(double from, double to, step_t steps,
                                 step_t origin = 0);

/// Returns the same line with another origin; nothing if its value there has
/// more than 12 digits.
/// REQUIRES: `item` is a line.
std::optional<form> moved_line(const form& item, step_t origin);

/// Returns whether both are the same line, wherever they have their origins.
/// REQUIRES: both are lines.
bool same_line(const form& left, const form& right);

/// Returns the value of a line at step `at`, rounded to 12 digits half to even,
/// from the exact one unless that takes more than 128 bits.
double line_at(const form& form, step_t at);

/// Returns the value of a line at step `at` as a double, not rounded further.
double unrounded_line_at(const form& form, step_t at);

} // namespace hippo
