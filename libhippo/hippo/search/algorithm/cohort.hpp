#pragma once

#include <cstdint>
#include <vector>

#include "hippo/search/algorithm/algorithm.hpp"
#include "hippo/search/split_ranking.hpp"

namespace hippo {

/// The trials of an algorithm that proceeds in rounds, each of which ends when
/// every trial in training has reported or failed.
///
/// @invariant a trial ranks in the round only if it has reported in it
/// @complexity O(1) a call, but O(n) for `open`, a failure of a trial that has
///             reported, and O(n log n) for `take_ranking`
class cohort {
public:
  /// All trials are awaited, those included that are yet to be opened.
  cohort(std::uint64_t trials, direction better)
    : better_(better), size_(trials), awaited_(trials) {}

  /// Returns how many trials there are, those that are out included.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Returns how many of them have been opened, or were added.
  [[nodiscard]] std::uint64_t opened() const { return states_.size(); }

  /// Returns how many of them have reported in this round.
  [[nodiscard]] std::uint64_t reported() const { return reported_.size(); }

  /// Whether no trial is awaited any more.
  [[nodiscard]] bool is_complete() const { return awaited_ == 0; }

  /// Asks for the trials below `trials` that were not open, in their order, up
  /// to state `to`.
  std::vector<action> open(std::uint64_t trials, step_t to);

  /// @returns whether the trial was training; else nothing happens
  bool report(trial_no trial, double value);

  /// The trial failed or is pruned. @returns whether it was not before
  bool remove(trial_no trial);

  /// Ends the round.
  /// @returns the trials that have reported, the best one first; each is to go
  ///          on by `train` or to be taken out by `remove`
  /// REQUIRES: `is_complete()`
  std::vector<standing> take_ranking();

  /// The trial goes on in the round that begins. REQUIRES: it is not training.
  void train(trial_no trial);

  /// Adds a trial, which is training. @returns its number
  /// REQUIRES: all are open
  trial_no add();

  void check_invariants() const;

private:
  enum class trial_state : std::uint8_t {
    training, ///< to the end of the round
    reported, ///< at the end of the round
    out,      ///< pruned, failed, or trained as far as it goes
  };

  direction better_;
  std::uint64_t size_;
  std::vector<trial_state> states_; ///< of the trials that are open
  std::uint64_t awaited_;           ///< trials that are training, or to be
  std::vector<standing> reported_; ///< in this round
};

} // namespace hippo
