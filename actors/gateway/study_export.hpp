#pragma once

#include <functional>
#include <string>

#include "hippo/model/run_record.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

/// A part of a study's text.
struct exported_part {
  std::string text;
  std::string next; ///< where the next part begins; empty: it was the last one
};

/// Reads a part of all that is known of a study: put together, the parts are
/// the text that `study_json` makes of it. Each takes about `rows_bytes_max`,
/// or one trial or result, so that no more is in memory than that.
/// @param after the `next` of the part before; empty: begin
/// @param head makes all of the study but its trials
/// @returns `errc::invalid_argument` if `after` is neither
expected<exported_part>
export_part(state_reader& store, study_id study, const std::string& after,
            const std::function<expected<study_record>()>& head);

} // namespace hippo
