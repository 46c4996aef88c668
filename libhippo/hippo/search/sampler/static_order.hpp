#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/search/sampler/permutation.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Which combination each trial gets if nothing is learned: the next one of a
/// grid; or a random one, without replacement in a finite space (a
/// pseudo-random permutation of its combinations), independently in a
/// continuous one. A study with more trials goes on where this one ends. The
/// first ones may be given; then none of these comes again. Later ones may be
/// given as well, between those of the order.
class static_order {
public:
  /// @param shuffled else it counts through; REQUIRES a finite space then
  static_order(search_space space, std::uint64_t seed, bool shuffled);

  /// See `sampler`.
  void begin_with(std::vector<leaf_decisions> first);

  void give(trial_no trial, leaf_decisions values);

  /// The first trial is `next`. Of a finite space, combinations that were tried
  /// come again only after all others.
  void follow(trial_no next, std::vector<leaf_decisions> tried);

  /// The trials of the space are longer. @param space has the same leaves
  void lengthen(search_space space) { space_ = std::move(space); }

  /// Returns the decisions that a trial was given; nothing: it was given none.
  [[nodiscard]] std::optional<leaf_decisions> given(trial_no trial) const;

  /// Returns what decides the values of trial `trial`. Trials beyond the size
  /// of a finite space begin again.
  [[nodiscard]] leaf_decider operator()(trial_no trial) const;

  /// Returns what decides the values at a place of the order alone, which those
  /// of `give` are not part of.
  [[nodiscard]] leaf_decider at(std::uint64_t place) const;

private:
  struct later_trial {
    trial_no trial = 0;
    leaf_decisions values;
  };

  /// Returns the first of `later_` that is not below a trial.
  [[nodiscard]] std::vector<later_trial>::const_iterator
  later_from(trial_no trial) const;

  /// Returns the place in the order of a trial that has none of `give`.
  /// @param before the trials of `give` that come before it
  [[nodiscard]] std::uint64_t place_of(trial_no trial,
                                       std::ptrdiff_t before) const {
    return trial - static_cast<std::uint64_t>(before) - begin_ + first_.size();
  }

  /// Returns the combination of a place where none is given.
  [[nodiscard]] std::uint64_t usual(std::uint64_t place) const {
    return order_ ? (*order_)(place) : place;
  }

  search_space space_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> size_;
  std::optional<permutation> order_; ///< set if shuffled and finite
  std::vector<leaf_decisions> first_;
  trial_no begin_ = 0;             ///< the trial after those of `first_`
  std::vector<later_trial> later_; ///< of `give`, by trial
  /// Of a finite space: the place of each combination in `first_`.
  std::unordered_map<std::uint64_t, std::uint64_t> given_;
};

} // namespace hippo
