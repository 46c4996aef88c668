#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/measuring.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/repeats.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// A study, as a merger needs to know it.
struct study_registration {
  study_id id{}; ///< under which the store knows it
  measuring when;
  double weight = 1; ///< share of the trainers, relative to other studies; > 0
  bool paused = false; ///< whether it starts nothing for now
  /// How it would have the workload run; see `workload_spec`.
  std::map<std::string, scalar> settings{};
  /// For how long trainers may work for it yet, in seconds added up over them.
  std::optional<double> device_seconds{};
  double complexity = 1; ///< of its search space (`complexity_of`)
  /// The remaining cost of trainers for it.
  std::optional<double> cost{};
  /// The seeds of its trials.
  repeat_plan repeats{};
};

/// Of what a study may have only so much.
enum class study_limit : std::uint8_t {
  device_time, ///< of trainers
  cost,        ///< of the same time
};

/// The orders of a study to its merger, carried out in this order. Trials go by
/// the study's own numbers.
struct study_orders {
  struct trial {
    trial_no no = 0;
    std::vector<segment> segments;
    std::optional<trial_no> fork_of;
    bool responsive = false; ///< whether its values follow measurements
  };
  /// A trial is to be trained up to a state.
  struct request {
    trial_no no = 0;
    step_t to = 0;
    step_t known_to = 0;  ///< what the study knows already, up to here
    bool is_over = false; ///< whether it was asked for once and is no longer
    step_t known_shared = 0; ///< of what it knows, see `delivery::shared`
    /// It has failed, or was dropped: it is tried again.
    bool again = false;
  };
  /// All trials are measured so from now on, and those of before are among
  /// `rerouted`. It differs from the rule of before in states beyond its last
  /// rung alone.
  std::optional<measuring> when;
  std::vector<trial> added;
  /// Trials that go on with other values from where they were asked to.
  std::vector<trial> rerouted;
  std::vector<trial_no> dropped; ///< they wait for nothing any more
  std::vector<request> asked;
  bool wants_capacity = false; ///< whether it would start more if it might
  /// How many of the merger's news and offers the study had taken in by then.
  std::uint64_t acked = 0;

  /// Whether nothing is to be carried out.
  [[nodiscard]] bool empty() const {
    return !when && added.empty() && rerouted.empty() && dropped.empty()
           && asked.empty();
  }
};

/// Events of a study that are sent together, by its own numbers of trials.
using study_news = std::vector<study_input>;

} // namespace hippo
