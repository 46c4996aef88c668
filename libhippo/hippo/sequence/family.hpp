#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hippo/base/types.hpp"
#include "hippo/sequence/sequence.hpp"

namespace hippo {

/// The largest step that a study may speak of.
inline constexpr step_t step_limit = 1'000'000'000;

/// The most pieces that one sequence may have.
inline constexpr std::size_t piece_limit = 10'000;

/// Something to say of one value among a sequence's parameters.
struct remark {
  /// The way to the value: keys, and positions in lists as decimal numbers,
  /// e.g. `{"multistep", "milestones", "1"}`.
  std::vector<std::string> where;
  std::string message; ///< what was found, and what would be right
};

/// The value of the study's objective after some steps of a trial.
struct observation {
  step_t at = 0;    ///< steps trained by then
  double value = 0; ///< NaN: it diverged, which is no better than anything
};

/// The measurements of a trial so far.
struct observations {
  direction better = direction::maximize;
  std::vector<observation> values; ///< `at` increases strictly
};

/// The result of making a sequence.
struct made_sequence {
  sequence value; ///< of no use unless `errors` is empty
  std::vector<remark> errors;
  std::vector<remark> warnings; ///< odd but harmless
  /// Whether it may go on in another way when more has been measured.
  bool responsive = false;
};

/// Makes a sequence in canonical form from the value that a study file gives a
/// hyper-parameter, every choice and range in it decided: a number, a word, a
/// truth value (1 or 0), or an object `{family: parameters}`; where types are
/// told, anything else too that is the same at every step.
///
/// The canonical form depends on the values, not on how they were spelt, so
/// that two sequences have as many forms in common as values (see
/// `canonical_form()`):
/// - every number is rounded by `canonical()`;
/// - what does not change is a constant (ratio 1, equal ends), a ramp without
///   length is nothing, neighbours that are equal are one piece;
/// - a form rules for as long as it gives the values there are, whatever the
///   family meant to come next: a curve rules its horizon too, on which it
///   meets the constant after it;
/// - a curve's first two values are plateaus unless what rules gives them,
///   because two values lie on curves of every kind: so a cosine from 0.1
///   shares its step 0 with whatever begins with 0.1, and a curve of at most 2
///   steps is its values;
/// - a straight line is one form, whichever family made it, however long it is
///   and wherever it began;
/// - a plateau is a constant, whichever family made it, and a decay on every
///   step is an exponential form, whichever family made it;
/// - what begins at or after `max_steps` is left out. Nothing else depends on
///   `max_steps` but where a `wsd` that ends with its trial begins to fall, nor
///   anything on what is observed later: so trials of different length share
///   what they have in common, and an observation more leaves all steps before
///   it as they were.
///
/// Spellings of equal values that stay different, and so do not share:
/// - a curve and a list of its values, plateaus of one step, a curve of at most
///   2 steps being such a list;
/// - one curve that is no line, begun at two of its points;
/// - two curves of different kinds that agree in their first three values by
///   chance: they share two of them.
///
/// Every independent error is told. A value that only breaks the order of a
/// list still gives a sequence, the one of the list when sorted.
/// @param observed what has been measured of the trial: decides how a
///                 `responsive` sequence goes on, here for as long as nothing
///                 more is measured
/// @param typed whether a value's type is part of it: a number without a point
///              is another one than the same with a point, a decay of whole
///              numbers by a whole factor is whole, and all else that is worked
///              out is not
/// REQUIRES: `max_steps > 0`
made_sequence make_sequence(const nlohmann::ordered_json& document,
                            step_t max_steps, const observations& observed = {},
                            bool typed = false);

/// Whether a sequence has a percentage where it wants a count or a place of
/// steps: `20%`.
bool has_percentages(const nlohmann::ordered_json& document);

/// Replaces these by what they are of a trial of `length` steps; see
/// `percentage::of`. What is no sequence stays as it is.
void resolve_percentages(nlohmann::ordered_json& document, step_t length);

/// The names of all families, sorted.
const std::vector<std::string>& family_names();

} // namespace hippo
