#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "hippo/search/sampler/sampler.hpp"
#include "hippo/search/sampler/static_order.hpp"

namespace hippo {

/// The values of a population (PBT, arXiv 1711.09846): at first those of the
/// static order, then perturbed ones of the trial that a fork comes from.
///
/// Leaf by leaf: with probability `resample` it is drawn anew. Else a value of
/// a continuous range is multiplied by 0.8 or 1.2 and kept on the range; one of
/// a range on points, or of a choice between sorted numbers, moves to one of
/// its neighbours, so that forks meet the values of others again; any other
/// choice stays. If nothing has changed, one leaf is decided otherwise. What
/// decides which hyper-parameters there are (`with`) always stays: before the
/// fork the two trials have the same ones.
///
/// Where a study says what some hyper-parameters are drawn from anew, these
/// change so in that space of theirs, which begins where their values are
/// nearest to those that they had, and all others stay.
///
/// The new values count from the fork's step on; a sequence goes on as if it
/// had been followed from step 0.
/// @complexity O(nodes of the space) for each trial
class pbt_explore final : public sampler {
public:
  pbt_explore(search_space space, std::uint64_t seed, bool shuffled,
              double resample,
              std::map<std::string, search_space> own_spaces = {});

  void begin_with(const std::vector<leaf_decisions>& first) override {
    order_.begin_with(first);
  }
  void give(trial_no trial, leaf_decisions values) override {
    order_.give(trial, std::move(values));
  }
  trial_parameters draw(trial_no trial) override;

  /// `shown` has the new values, and `forked: {from, at}`.
  trial_parameters branch(const fork& fork) override;

private:
  using decisions = std::map<std::string, std::uint64_t>; ///< by path

  struct member {
    decisions taken;
    decisions changed;             ///< in spaces of their own
    nlohmann::ordered_json values; ///< of all hyper-parameters
    std::map<std::string, sequence> sequences;
  };

  /// Asks for all leaves of which a fork may have other decisions.
  using walker = std::function<void(const leaf_decider&)>;

  trial_parameters decide(const leaf_decider& pick, decisions& taken) const;
  /// Returns decisions that differ from those of before, if any can.
  [[nodiscard]] decisions changed(const walker& walk, const decisions& before,
                                  trial_no trial) const;
  /// The same in spaces of their own. @returns the values that come of it
  [[nodiscard]] trial_parameters changed_alone(const member& parent,
                                               trial_no trial,
                                               decisions& changed_to) const;
  /// Returns the decisions in these spaces that give values nearest to those of
  /// a trial, where there are such.
  [[nodiscard]] decisions nearest(const nlohmann::ordered_json& values) const;
  [[nodiscard]] std::uint64_t perturbed(const space_leaf& leaf,
                                        std::uint64_t decision,
                                        trial_no trial) const;

  search_space space_;
  std::uint64_t seed_;
  double resample_;
  std::map<std::string, search_space> own_spaces_;
  static_order order_;
  std::unordered_map<trial_no, member> members_;
};

/// Returns `before` up to state `at`, and `after` from there on.
sequence spliced(const sequence& before, const sequence& after, step_t at);

} // namespace hippo
