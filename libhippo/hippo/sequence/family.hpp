#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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

/// What a trial has measured of its study's objective, by ascending state.
struct observations {
  struct measured {
    step_t at = 0;
    double value = 0;
  };
  direction better = direction::maximize;
  std::vector<measured> values;
};

/// What came of making a sequence.
struct made_sequence {
  sequence value; ///< of no use unless `errors` is empty
  std::vector<remark> errors;
  std::vector<remark> warnings; ///< odd but harmless
};

/// Makes a sequence in canonical form from the value that a study file gives a
/// hyper-parameter, every choice and range in it decided: a number, a word, a
/// truth value (1 or 0), or an object `{family: parameters}`.
///
/// The canonical form does not depend on how the values were spelt:
/// - every number is rounded by `canonical()`;
/// - what does not change is a constant (ratio 1, equal ends), a ramp without
///   length is nothing, neighbours that are equal are one piece;
/// - a curve of at most 2 steps is written as its values, because they lie on
///   curves of every kind; a longer one keeps its form;
/// - from its horizon on, a curve is the constant of its end;
/// - a plateau is a constant, whichever family made it, and a decay on every
///   step is an exponential form, whichever family made it;
/// - what begins at or after `max_steps` is left out. Nothing else depends on
///   `max_steps`, so that trials of different length share what they have in
///   common.
///
/// Two spellings of equal values that stay different, and so do not share: a
/// curve of more than 2 steps and a list of its values; a line and two lines of
/// the same slope, one after the other. The first of two such lines is a
/// warm-up, which is shared with every other sequence that warms up so.
///
/// Every independent error is told. A value that only breaks the order of a
/// list still gives a sequence, the one of the list when sorted.
/// REQUIRES: `max_steps > 0`
made_sequence make_sequence(const nlohmann::ordered_json& x, step_t max_steps,
                            const observations& observed = {});

/// The names of all families, sorted.
const std::vector<std::string>& family_names();

/// Joins names for a message: `a, b, c`.
std::string list_of(const std::vector<std::string>& names);

/// Says that there is no `what` of that name, which one may have been meant and
/// which there are: `unknown sequence 'cosin', did you mean 'cosine'? Allowed:
/// constant, ...`.
std::string unknown_text(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known);

} // namespace hippo
