#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `one_cycle: {max, horizon, rise, initial, end, anneal, three_phase}`: from
/// `initial` (`max / 25` unless given) to `max` in `rise` steps (3 tenths of
/// the horizon unless given), then to `end` (`initial / 10000` unless given) at
/// the horizon, and so on (Smith and Topin, arXiv 1708.07120). With
/// `three_phase` it is back at `initial` after another `rise` steps. `anneal`
/// says along which curves: `cosine` (default) or `linear`.
std::vector<piece> one_cycle(const argument& in);

} // namespace hippo::family
