#pragma once

#include <set>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

// Trials and results in files of people: tables (CSV, its name ends in `.csv`)
// with a line of names and a line for each trial, or the maps in YAML or JSON
// that `study_handle` takes.

/// Reads trials with given values. A column is a hyper-parameter; an empty cell
/// gives none.
/// @param list that a table is: `trials` or `outside`
/// @returns what `study_handle::enqueue` takes, or `errc::io_failed` or
///          `errc::invalid_argument` with the place
expected<std::string> read_trial_table(const std::string& path,
                                       const std::string& list);

/// Results of training elsewhere.
struct past_table {
  /// Texts for `study_handle::tell_past`, a large table in several parts.
  std::vector<std::string> parts;
  std::size_t results = 0;  ///< in a table
  std::size_t left_out = 0; ///< lines without a number for each metric
};

/// Reads results of training elsewhere, as `hippo-import` writes them: a column
/// is `step`, a metric, or `params.NAME` of a hyper-parameter; others are
/// passed over.
/// @param metric_names names of the columns that are metrics; a line without
/// one of
///                them is left out
expected<past_table> read_past_table(const std::string& path,
                                     const std::set<std::string>& metric_names);

} // namespace hippo
