#pragma once

#include <optional>
#include <vector>

#include "hippo/model/records.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/search/search_settings.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The options of a study.
struct study_options {
  study_spec spec;
  search_settings search; ///< read of it
  workload_descriptor workload;
  /// Where it stands in the store; running from its begin if it is new.
  stored_study stored;
  /// The events that it has received in earlier runs, in its order.
  std::vector<stored_event> history;
  /// Until its deadline, less than 0 if it is over; nothing: it has none.
  std::optional<double> deadline_left{};
};

} // namespace hippo
