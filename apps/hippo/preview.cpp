#include "preview.hpp"

namespace hippo {

expected<time_preview> preview_times(simulation x) {
  time_preview result;
  result.trainers = x.trainers;
  for (const bool merge : {true, false}) {
    x.merge = merge;
    const auto record = simulate(x);
    if (!record)
      return record.failure();
    (merge ? result.merged : result.alone)
      = {record->wall_seconds, record->device_seconds,
         record->lower_bound_seconds};
  }
  return result;
}

} // namespace hippo
