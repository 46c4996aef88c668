#pragma once

#include <cstddef>
#include <string>

#include "hippo/model/run_record.hpp"

namespace hippo {

// The text of `study_json` in pieces, for whoever does not hold all of a study:
//
//     study.begin
//       (before_item, trial.begin
//          (before_item, result_text)...
//        after_items, trial.end)...
//     after_items, study.end

/// The text around a list.
struct text_frame {
  std::string begin; ///< up to its `[`
  std::string end;   ///< from behind its `]`
};

/// Of a study, whatever its trials are.
text_frame study_frame(study_record record);

/// Of a trial of it, whatever its results are.
text_frame trial_frame(trial_record record);

/// A result of that.
std::string result_text(const trial_measurement& measurement);

/// @param before how many items the list has by now
std::string before_item(std::size_t before);

enum class text_list { trials, results };
/// @param items that the list has
std::string after_items(text_list what, std::size_t items);

} // namespace hippo
