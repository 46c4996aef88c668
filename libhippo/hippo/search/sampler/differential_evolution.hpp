#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/search/sampler/sampler.hpp"
#include "hippo/search/sampler/static_order.hpp"

namespace hippo {

/// Differential evolution (Storn and Price, *Differential Evolution*, Journal
/// of Global Optimization 11, 1997), `rand/1/bin` with F = Cr = 0.5: at first
/// the values of the static order, then crosses of trials.
///
/// A trial is a point of the unit cube, with a coordinate for each leaf of the
/// space: a continuous range by its share, points and alternatives in bins of
/// equal width, in which the drawn ones lie anywhere. The mutant of parents a,
/// b, c is a + F (b - c), drawn anew in each coordinate in which it leaves the
/// cube; a cross has each coordinate of the mutant with the probability Cr, at
/// least one, and else of its target. A leaf that a trial does not have, since
/// it comes with another alternative, has a coordinate that its number decides.
///
/// In a finite space no combination is tried twice while others are left: a
/// cross that was tried is made anew some times, and then gives way to the next
/// one of the order.
/// @complexity O(leaves^2) for each trial; in a finite space O(log trials) more
class differential_evolution final : public sampler {
public:
  differential_evolution(search_space space, std::uint64_t seed);

  void begin_with(const std::vector<leaf_decisions>& first) override {
    order_.begin_with(first);
  }
  void give(trial_no trial, leaf_decisions values) override {
    order_.give(trial, std::move(values));
  }
  trial_parameters draw(trial_no trial) override;
  [[nodiscard]] std::optional<trial_parameters>
  recall(trial_no trial) const override;
  trial_parameters branch(const fork& fork) override;
  trial_parameters cross(const hippo::cross& cross) override;
  /// A restart need not be told: it takes additions and halves alone to come
  /// to the same values, which are the same on all machines.
  [[nodiscard]] std::optional<trial_choice>
  choice_of(trial_no trial) const override;

private:
  using leaf_no = std::uint32_t;

  /// A trial: its coordinates, in the order of `walk`.
  using point = std::vector<std::pair<leaf_no, double>>;

  /// Its decisions, in the same order.
  using combination = std::vector<std::pair<leaf_no, std::uint64_t>>;

  struct individual {
    point place;
    combination taken;
  };

  leaf_no number_of(const space_leaf& leaf);
  individual
  record(const std::function<double(const space_leaf&, leaf_no)>& coordinate);
  /// As the static order decides, not tried before if there is one left.
  individual random(trial_no trial);
  /// The same for trial `trial` if it has the combination `index`.
  individual in_order(trial_no trial, std::uint64_t index);
  /// @param attempt others make other ones
  individual offspring(const hippo::cross& cross, std::uint64_t attempt);
  /// The coordinate that a trial has, or would have if it had the leaf.
  [[nodiscard]] double coordinate_of(trial_no trial, const space_leaf& leaf,
                                     leaf_no number) const;
  [[nodiscard]] bool was_tried(const individual& member) const {
    return tried_.contains(member.taken);
  }
  trial_parameters take(trial_no trial, individual member);

  search_space space_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> size_; ///< of the space, if it is finite
  static_order order_;
  trial_no next_random_ = 0; ///< in `order_`, of a finite space

  std::map<std::string, leaf_no> leaves_; ///< by path
  std::unordered_map<trial_no, point> points_;
  std::unordered_map<trial_no, std::vector<trial_no>> parents_; ///< of crosses
  std::set<combination> tried_; ///< of a finite space
};

} // namespace hippo
