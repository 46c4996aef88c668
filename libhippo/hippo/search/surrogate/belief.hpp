#pragma once

#include <cstdint>

#include "hippo/search/surrogate/counter_rng.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The density of an expert's belief about one leaf of a space: on a range a
/// normal distribution, cut at its ends; of a choice one alternative that is
/// likelier than the others, which are alike (Mallik et al., *PriorBand*,
/// NeurIPS 2023, arXiv 2306.12370).
class belief {
public:
  /// REQUIRES: `what.mode` is a decision of `leaf`, `what.strength > 0`.
  belief(const space_leaf& leaf, const prior_belief& what);

  /// Returns the logarithm of how many times as likely a decision is as if all
  /// were alike.
  [[nodiscard]] double log_of(std::uint64_t decision) const;

  [[nodiscard]] std::uint64_t draw(counter_rng& draws) const;

  [[nodiscard]] std::uint64_t mode() const noexcept { return mode_; }

private:
  [[nodiscard]] std::uint64_t last() const;
  [[nodiscard]] double share_of(std::uint64_t decision) const;

  std::uint64_t ways_; ///< 0: a continuous range
  bool is_choice_;
  std::uint64_t mode_;
  double deviation_ = 1; ///< of a range, as a share of it
  double mass_ = 1;      ///< of the normal distribution on the range
  double factor_ = 1;    ///< of a choice
};

} // namespace hippo
