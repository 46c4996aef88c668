#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/model/initial_state.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Brings an initial state to this machine: that of a trial, or what lies in an
/// object store (`s3://...`).
/// @returns the path of its file or folder, or why it cannot be had
using state_fetcher =
  std::function<expected<std::string>(const initial_source& what)>;

/// Adds to the text of a study file the code that it brings, from the folder
/// that the file lies in, the versions of what its interpreter has, and names
/// and digests of its initial state. Text that brings none, or has it already,
/// stays as it is.
/// @param file path of the study file
/// @param fetch for an initial state that lies elsewhere; null: such a one is
///        refused
/// @returns the text, or `errc::invalid_study` if the interpreter is of no use,
///          the code is too large, or symbolic links lead out of the folder to
///          a file of it; a file that is missing is left for
///          `read_study` to tell
expected<std::string> pack_study(std::string text, const std::string& file,
                                 const state_fetcher& fetch = nullptr);

/// Returns the initial state of a packed study; nothing: it names none.
std::optional<initial_state> initial_state_in(const std::string& text);

/// Remembers, for this user on this machine, that `hippo check` has found the
/// workload of a study exact, for hyper-parameters that change, or do not, as
/// they do there.
void mark_exact(const study_spec& spec);

/// Whether it has. What comes with Hippo is exact.
bool is_known_exact(const study_spec& spec);

} // namespace hippo
