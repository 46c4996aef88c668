#pragma once

#include <ctime>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/model/run_record.hpp"

namespace hippo {

/// `report.json`, two-space indented; numbers with all digits.
std::string report_json(const run_record& record);

/// One study as it is in `report.json`.
std::string study_json(const study_record& record);

/// `trials.csv` (RFC 4180): a row a trial: study, trial, state, steps,
/// shared_steps, best_step, best_value, then a column for each top-level
/// parameter name, its value as in `params` (JSON if it is no scalar).
std::string trials_csv(const run_record& record);

/// The stage tree: step to the right, a bar for each stage, coloured by study,
/// its height by how many trials share it, with a legend and step axis.
std::string stage_tree_svg(const run_record& record);

/// One row for each trainer, one bar for each stretch of work, seconds to the
/// right; load, train, evaluate and save told apart, idle left white.
std::string timeline_svg(const run_record& record);

/// The text at the end of a run: a leaderboard for each study (the best
/// `rows` trials), the merge figures and failures, at most 80 columns.
std::string summary_text(const run_record& record, std::size_t rows = 5,
                         bool colour = false);

/// Writes the four files into `folder`, made if missing; each to a temporary
/// name first, so that none is ever half-written.
/// @returns `folder`, or `errc::io_failed`
expected<std::string> write_report(const run_record& record,
                                   const std::string& folder);

/// Writes them into a new folder in `root`, named by local time, e.g.
/// `2026-11-22T21-00-03`, and leads the link `latest` there. What earlier runs
/// have left stays.
/// @param now seconds since 1970
/// @returns the new folder, or `errc::io_failed`
expected<std::string> write_dated_report(const run_record& record,
                                         const std::string& root,
                                         std::time_t now);

} // namespace hippo
