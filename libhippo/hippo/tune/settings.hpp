#pragma once

#include <cstdint>

#include "hippo/tune/algorithm.hpp"

namespace hippo {

/// The most trials that a study may have.
inline constexpr std::uint64_t max_trials = 10'000'000;

/// The algorithms, as a study file names them.
enum class algorithm_kind { grid, random, sha, asha };

/// What a study's algorithm is to do, every option with its meaning.
struct tune_settings {
  algorithm_kind kind = algorithm_kind::random;
  bool random_order = true;     ///< of the combinations; else they are counted
  std::uint64_t trials = 0;
  direction better = direction::maximize;
  std::uint64_t eta = 3;        ///< of each rung the best 1/eta go on
  step_t min = 1;               ///< the first rung
  step_t max = 1;               ///< the last one
  bool may_resume = true;       ///< ASHA by promotion; else by stopping
  std::uint64_t concurrent = 0; ///< trials in flight at most; 0: all

  [[nodiscard]] bool prefers_shared() const { return false; }
};

/// Reads what a study says of its algorithm, and what its space and budget say
/// of the number of trials.
/// @param found if given, takes what is wrong or odd; the result means nothing
///              if anything is wrong
tune_settings read_settings(const study_spec& study,
                            algorithm_check* found = nullptr);

} // namespace hippo
