#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// A new trial that has the values of another one up to a state, and others
/// from there on.
struct trial_fork {
  trial_no from = 0;
  step_t at = 0; ///< the last state that both have
  /// A map of the hyper-parameters that change. Schedules go by the steps of
  /// the trial, not by those since `at`.
  nlohmann::ordered_json values;
};

/// Trials that somebody gives a study.
/// @invariant one of the lists alone has items
struct given_trials {
  std::vector<leaf_decisions> of_space;
  /// With values that need not be of the space.
  std::vector<trial_parameters> outside;
  std::vector<trial_fork> forks;

  [[nodiscard]] std::size_t size() const {
    return of_space.size() + outside.size() + forks.size();
  }
};

/// Reads a map with one of these lists, in JSON or YAML:
/// - `trials`: as of `read_first`;
/// - `outside`: maps of the values of a trial, where such hyper-parameters may
///   be left out of which the space has one value;
/// - `forks`: `{trial: 3, at: 40, params: {lr: 0.01}}`.
/// @returns `errc::invalid_argument` with what is wrong, and where
expected<given_trials> read_given_trials(const std::string& text,
                                         const study_spec& study,
                                         const workload_descriptor& workload,
                                         name_rules rules);

/// Makes the values of a fork. They are shown as a `join` where that says the
/// same, else as `{fork: [[0, BEFORE], [AT, AFTER]]}`.
/// @param from values of the trial that it comes from
/// @returns `errc::invalid_argument` with what is wrong
expected<trial_parameters> values_of(const trial_fork& fork,
                                     const trial_parameters& from,
                                     const study_spec& study,
                                     const workload_descriptor& workload,
                                     name_rules rules);

} // namespace hippo
