#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "hippo/sequence/form.hpp"

namespace hippo {

/// A maximal range of steps on which a sequence follows one form; it ends where
/// the next piece begins.
struct piece {
  step_t begin = 0;
  form shape;
  friend bool operator==(const piece&, const piece&) = default;
};

/// A hyper-parameter's value as a function of the step.
///
/// @invariant the first piece begins at 0, begins increase strictly, and
///            neighbours have different shapes
class sequence {
public:
  /// The constant 0.
  sequence() : sequence(form::constant(0)) {}

  /// One form from step 0 on.
  explicit sequence(form shape) : pieces_{{0, std::move(shape)}} {}

  /// Joins neighbours that are equal; of several pieces with one begin only the
  /// last counts (what lies before it has no length).
  /// REQUIRES: `pieces` is not empty, begins at 0 and is sorted by `begin`.
  explicit sequence(std::vector<piece> pieces);

  [[nodiscard]] const std::vector<piece>& pieces() const noexcept {
    return pieces_;
  }

  /// Returns the form that rules step `at`. O(log pieces).
  [[nodiscard]] const form& form_at(step_t at) const;

  /// Returns the value at step `at`.
  [[nodiscard]] scalar at(step_t at) const { return form_at(at).at(at); }

  friend bool operator==(const sequence&, const sequence&) = default;

private:
  std::vector<piece> pieces_;
};

} // namespace hippo
