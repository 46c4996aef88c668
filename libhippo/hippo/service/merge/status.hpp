#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/plan/overview.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/service/merge/usage.hpp"

namespace hippo {

/// The most stages that are counted as startable, as that takes time.
inline constexpr std::size_t startable_stages_max = 1000;

/// Where a merger stands, cheap enough to ask for often.
struct merger_status {
  merge_figures figures;
  by_id<study_no, merge_figures> by_study;
  std::uint64_t trained_steps = 0;
  std::uint64_t reused_steps = 0; ///< unique steps that were there before
  std::uint64_t runnable_paths = 0;
  /// Stages that could be trained now by a trainer each, at most
  /// `startable_stages_max`.
  std::uint64_t startable_stages = 0;
  std::uint64_t memory_bytes = 0; ///< that its books take, about
  /// The segments of each study's trials: its part of the books.
  std::map<study_id, std::uint64_t> segments;
  double device_seconds = 0; ///< in which trainers were at work, added up
  double wait_seconds = 0;   ///< of these, training waited for data
  double step_seconds = 0; ///< the mean time of a trained step, all included
  /// The time that the steps of its trials would take if each trial were
  /// trained alone, by the time of a step itself: an estimate, as the next one.
  double alone_seconds = 0;
  double saved_seconds = 0; ///< of these, what was not trained for its trial
  struct running_lease {
    trainer_id trainer{};
    std::uint32_t lane = 0;
    configuration config; ///< of the stage that it is in
    std::vector<study_id> studies; ///< for which it trains, by their ids
    step_t at = 0;
    step_t to = 0;
    double steps_per_second = 0; ///< 0 until it has reported
    unsigned members = 1;        ///< trainers that train it together
  };
  std::vector<running_lease> running;
  /// Why those that could train do not get on, though there is something to
  /// train: no room for checkpoints, say; empty: they do.
  std::string hindered;
  /// Why free trainers may begin nothing before their time limits; empty: they
  /// may, or it is for another reason.
  std::string short_of_time;
};

/// Everything a merger knows that a report shows.
struct merger_overview : usage_totals {
  merger_status status;
  std::string workload_key;
  std::uint32_t lanes = 1; ///< that a trainer has had for it, at most
  std::uint32_t trainers = 1; ///< that the ranks of a trial take, at least
  std::vector<overview_stage> stages;
  /// For how long trainers worked for each study, added up over them; what
  /// several waited for is divided among them by weight.
  by_id<study_no, double> study_seconds;
  by_id<study_no, double> study_costs; ///< what that has cost
  double age_seconds = 0; ///< since the timeline began
};

} // namespace hippo
