#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `exponential: {initial, gamma, every}`: at step t,
/// `initial * gamma^floor(t / every)`; `every` is 1 unless given.
std::vector<piece> exponential(const argument& in);

/// The pieces of `initial * gamma^floor(t / every)`: one exponential form if it
/// decays at every step, else one constant for each plateau that the trial
/// reaches, so that it shares with any other way to write a plateau.
/// Notes an error in `in` if that makes more than `piece_limit` plateaus.
std::vector<piece> decay(const argument& in, double initial, double gamma,
                         step_t every);

/// Returns `initial * gamma^times`, a whole number for the code if both
/// `initial` and `gamma` are whole in `in`.
form decayed(const argument& in, double initial, double gamma,
             std::uint64_t times);

} // namespace hippo::family
