#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/packed_metrics.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/plan/configuration_pool.hpp"

namespace hippo {

/// A range that a trainer is training now.
struct running_range {
  lease_id lease{};
  step_t from = 0;
  step_t to = 0;
  step_t reached = 0; ///< the last state that the trainer reported
};

/// The trials that wait for the measurement of one state.
struct want {
  /// Those included that have ceased to wait.
  boost::container::small_vector<trial_id, 1> waiters;
  /// Their studies, each with the number of waiters that have not; without
  /// those that have none.
  boost::container::small_vector<std::pair<study_no, std::uint32_t>, 1> live;
  std::uint64_t order = 0; ///< lowest request number among the waiters

  /// Whether a trial of the study waits. O(studies that wait).
  [[nodiscard]] bool is_of(study_no study) const;
};

/// Why states of a node cannot be had.
struct trouble {
  /// States whose measurement is not finite, or cannot be made, and why.
  std::map<step_t, error> diverged;
  std::optional<step_t> failed_at; ///< no state from here on can be reached
  error failure;
};

/// Something for each of some steps, in order. What comes last is added in
/// O(1); adding or taking away anything else is O(steps).
template <class T>
using by_step = boost::container::flat_map<step_t, T>;

/// How far the trials of one study go on a node.
struct study_reach {
  study_no study{};
  step_t asked_to = 0;
  step_t delivered_to = 0;
};

/// Training under one configuration from `begin` on. It has no end: children
/// leave it where their configurations differ.
struct plan_node {
  node_id parent{};
  std::uint32_t depth = 0;
  step_t begin = 0;
  std::uint64_t strand = 0;
  /// Hash of the strands, begins and configurations from the root to here; 0:
  /// the root. Equal chains have equal ones, in every plan and every run.
  std::uint64_t identity = 0;
  configuration_pool::compact config;
  node_id first_child{};  ///< the youngest; the root: none
  node_id next_sibling{}; ///< the next older one; the root: none
  std::vector<step_t> cuts; ///< begins of the children, each once, sorted
  /// Those of the trials that pass, sorted.
  boost::container::small_vector<std::uint32_t, 1> measurings;
  by_step<packed_metrics> results; ///< see `search_plan::result_of`
  by_step<checkpoint> checkpoints;
  std::map<step_t, want> wants; ///< states without a result that trials wait on
  std::vector<running_range> running;
  step_t asked_to = 0; ///< the farthest state that any trial asks for, or begin
  step_t goal = 0; ///< the farthest that trials which asked may yet ask for
  step_t restored_to = 0; ///< the farthest state known from an earlier run
  step_t delivered_to = 0; ///< the farthest state that a trial has got
  step_t known_to = 0;     ///< the same, trials of earlier runs included
  /// How far the trials of each study have asked and got, by study.
  boost::container::small_vector<study_reach, 1> reaches;
  std::unique_ptr<trouble> troubles; ///< null: none

  /// Whether it is known that a state has no measurement, and why.
  [[nodiscard]] const error* divergence_at(step_t at) const;

  /// Whether nobody waits for anything of it and no trainer is on its way.
  [[nodiscard]] bool is_idle() const {
    return wants.empty() && running.empty();
  }
};

} // namespace hippo
