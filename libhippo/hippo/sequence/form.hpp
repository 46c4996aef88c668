#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hippo/base/types.hpp"

namespace hippo {

/// The closed forms that a piece of a hyper-parameter sequence can follow.
/// Values are part of the wire format: append only, never renumber.
enum class form_kind : std::uint8_t {
  constant = 1, ///< `a[0]`
  text,         ///< `word`
  exponential,  ///< `a[0] * a[1]^(t - origin)`
  /// From `a[0]` to `a[1]` over `a[2]` steps, power `a[3]`: with t counted
  /// from the origin, `a[1] + (a[0] - a[1]) * (1 - t / a[2])^a[3]`.
  polynomial,
  /// Half a cosine from `a[0]` to `a[1]` over `a[2]` steps:
  /// `a[1] + (a[0] - a[1]) * (1 + cos(pi * t / a[2])) / 2`.
  cosine,
  /// The line through `a[0]` at the origin that rises by `a[1]` in `a[2]`
  /// steps: `a[0] + a[1] * t / a[2]`, without end. It is worked out in exact
  /// decimals and made by `line.hpp`, which knows its lowest terms.
  line,
  /// From `a[0]` to `a[1]` over `a[2]` steps, slowly first and fast at the end,
  /// with beta `a[3]`: `a[1] + (a[0] - a[1]) * (1 - p) / (1 - a[3] * p)`, p
  /// being `t / a[2]` (REX, Chen et al., "REX: Revisiting Budgeted Training
  /// with an Improved Schedule", MLSys 2022).
  rex,
  /// A ramp that fades: `a[0]` at `t = a[3]`, and with it a share of the way to
  /// `a[1]` that is whole at `t = a[4]` but for a factor `a[2]^t`:
  /// `a[0] + (a[1] - a[0]) * (t - a[3]) / (a[4] - a[3]) * a[2]^t`. It is ruled
  /// by between `a[3]` and `a[4]`, whichever comes first.
  fading_ramp,
  /// From `a[0]` to `a[1]` over `a[2]` steps, fast first and slowly at the end:
  /// `a[1] + (a[0] - a[1]) * (1 - sqrt(t / a[2]))`.
  square_root,
  /// `a[0] / sqrt(1 + t / a[1])`, without end.
  inverse_root,
};

/// A closed form, placed on the axis of steps.
///
/// Two forms are the same iff all members are equal, so whoever makes one uses
/// canonical numbers (`canonical()`), 0 for unused `a` and, for `constant` and
/// `text`, origin 0. A form that is cut goes on unchanged: its origin stays, so
/// its values never depend on where it was cut.
struct form {
  form_kind kind = form_kind::constant;
  step_t origin = 0; ///< the absolute step at which the form's phase is 0
  std::array<double, 5> a{};
  std::string word;
  /// The type that code is given: `whole` of a constant or an exponential form
  /// of whole numbers, `truth` of a constant, `json` of a text.
  value_type type = value_type::plain;

  static form constant(double value);
  static form text(std::string word);

  /// A whole number: kept with all its digits, as the code counts with it.
  /// REQUIRES: it is one, up to `whole_limit`, or infinite.
  static form whole(double value);
  static form truth(bool value);
  static form json(std::string text); ///< JSON of what is neither of these

  /// Returns the value at absolute step `at`, rounded by `canonical()` unless
  /// it is whole. After its steps a form with a length stays at its end. A
  /// whole number beyond `whole_limit` is infinite.
  /// REQUIRES: `at >= origin`
  [[nodiscard]] scalar at(step_t at) const;

  /// Returns the same before it is rounded, as far as a double can tell.
  /// REQUIRES: `at >= origin` and this is not a word.
  [[nodiscard]] double exact_at(step_t at) const;

  /// Returns what is at every step what this is at step `at`.
  /// REQUIRES: `at >= origin`
  [[nodiscard]] form plateau_at(step_t at) const;

  /// Returns whether code is given the same by both at step `step`.
  /// REQUIRES: it is not before the origins.
  [[nodiscard]] bool agrees_with(const form& other, step_t step) const;

  /// Returns the first absolute step of which the form says nothing: for a
  /// form with a length the one after its end, else the largest `step_t`.
  [[nodiscard]] step_t end() const noexcept;

  /// Returns whether it has one value at every step, a number or a word.
  [[nodiscard]] bool is_plateau() const noexcept {
    return kind == form_kind::constant || kind == form_kind::text;
  }

  /// Returns whether values never fall after they rose, nor rise after they
  /// fell.
  [[nodiscard]] bool is_monotone() const noexcept {
    return kind != form_kind::fading_ramp;
  }

  friend bool operator==(const form&, const form&) = default;
};

/// Returns the form as text: `0.1`, `sgd`, `exp(0.1,0.9)@4`, `poly(...)@0`,
/// `cos(...)@2`, `line(0.1,-0.01,1)@0`, `rex(...)@0`, `fade(...)@0`,
/// `sqrt(...)@0`, `rsqrt(0.1,100)@0`; with its type unless it is plain:
/// `int:64`, `bool:1`, `json:"[64,64]"`. Equal texts iff equal forms.
std::string to_text(const form& form);

/// Returns the same for people: `64`, `true`, `[64,64]`.
std::string shown_text(const form& form);

/// Returns `first * ratio^count` as whole numbers are multiplied; infinite
/// beyond `whole_limit`. REQUIRES: both are whole
double whole_power(double first, double ratio, std::uint64_t count);

/// Returns a word as it is, or in double quotes where it could be taken for
/// something else in a text of forms: `sgd`, but `"0.1"` and `"a;b"`.
std::string quoted_if_needed(const std::string& word);

} // namespace hippo
