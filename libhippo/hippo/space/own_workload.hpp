#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/workload_spec.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// Whether the `workload` of a study file names code of its own: it has one of
/// the keys `python`, `command` and `files`.
bool is_own_workload(const document& document);

/// Whether the workload of that name is such code.
bool is_own_workload(const std::string& name);

/// Reads such a workload. What decides its results becomes options, and so part
/// of the workload key: the digests of its files (`file.NAME`), the versions of
/// its packages (`version.NAME`), its arguments (`args.NAME`) and seed.
/// @param code that has come with the study
/// @param typed whether the types of arguments are told (`study_spec::typed`)
workload_spec read_own_workload(const document& document,
                                const study_code& code, bool typed,
                                diagnostics& notes);

/// The place that the initial state of a workload (`from`) is taken from: a
/// file or a folder, or a state of a trial.
struct initial_source {
  std::string path;  ///< as the study file names it; empty: a trial's state
  std::string study; ///< number or name; empty: `path` is set
  std::uint64_t trial = 0;
  step_t step = 0;
};

/// Returns it for people: `/models/base`, `trial 3 of study a at step 90`.
std::string to_text(const initial_source& source);

/// The needs of a study file from the folder that it lies in.
struct code_request {
  bool own = false;               ///< whether it brings code at all
  std::vector<std::string> files; ///< paths relative to the folder
  /// Packages of the interpreter whose versions are to be found out.
  std::vector<std::string> packages;
  std::string python; ///< the interpreter as it is named; empty: it is not
  bool runs_python = false;
  mark where;       ///< of the interpreter's name, or of the workload
  std::string path; ///< likewise
  std::optional<initial_source> initial; ///< nothing: the study names none
  mark initial_where;                    ///< of its place, if it does
};

/// Reads the text of a study file only as far as whoever sends it must know.
/// Errors are left for `read_study` to tell.
code_request requested_code(const std::string& text);

/// Whether trials of a workload may share training: it is exact, or somebody
/// has asked for it all the same.
bool may_share(const workload_spec& spec);

/// Whether the results of a workload are what training alone gives. If not, the
/// study file has said so (`exact: false`).
bool is_exact(const workload_spec& spec);

} // namespace hippo
