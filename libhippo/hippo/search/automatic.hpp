#pragma once

#include <cstddef>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// How a study file leaves the algorithm to Hippo, as it does without a word.
inline constexpr auto automatic_name = "auto";

/// The algorithm that `algorithm: auto` stands for in a study.
struct automatic_algorithm {
  algorithm_spec algorithm;
  std::string why; ///< for people
};

/// Chooses by the space, the budget, the measured steps and the trainers.
///
///     at most 9 combinations                          grid
///     at most 3 measurements of a trial               gp; tpe if that is too
///                                                     much for gp
///     half of what is decided, or more, makes no
///     difference until the last rung                  the same
///     fewer than 18 trials, and no budget of time     the same
///     fewer than 10 trainers, steps of at most 30
///     whole trials, and values hold from the first
///     step on, if it is not too much for gp           freeze-thaw
///     else                                            asha, of gp
///     else, if that is too much for gp: trials part
///     after their first step                          asha, of tpe
///     else                                            dehb
///
/// The first rung of `asha` is a power of eta below the last step: the first
/// one behind the first two measurements at which two thirds of what is decided
/// act. If trials are the study's only budget it is so high that 6 of them are
/// trained in full. If some of what is decided acts only after a tenth of the
/// steps, it is the lower, the more trainers begin trials before anything is
/// known of others.
///
/// docs/algorithms.md says what was measured of it. Reads nothing but `study`
/// and `trainers`, so that the same study has the same algorithm everywhere.
/// @param trainers that are there for it, at least 1
/// @complexity O(segments) of 64 combinations
automatic_algorithm choose_algorithm(const study_spec& study,
                                     std::size_t trainers = 1);

/// Writes an algorithm as a study file does, in JSON.
std::string to_json_text(const algorithm_spec& spec);

/// Reads what `to_json_text` wrote.
expected<algorithm_spec> algorithm_from_json(const std::string& text);

} // namespace hippo
