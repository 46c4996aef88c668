#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// A workload, and where the code and the initial state lie that it runs with.
struct made_workload {
  std::optional<unpacked_code> code;     ///< nothing: it is built in
  std::optional<laid_out_state> initial; ///< nothing: the study names none
  std::unique_ptr<workload> work;        ///< gone before the others are
};

/// Makes the workload of a spec. Nothing is unpacked but what its key names.
/// @param code `study_code` as JSON, which the spec's setting "folder" will
///             lead to; empty: there is none
/// @param find_initial finds the files of its initial state, if it has one
/// @returns as `workload_registry::make`, `study_code_from_json`, `check_key`,
///          `unpacked_code::make` and `laid_out_state::make`
expected<made_workload> make_workload(const workload_registry& registry,
                                      workload_spec spec,
                                      const std::string& code,
                                      const content_finder& find_initial);

/// The places where the files of an initial state may be on the machine that it
/// was sent from.
struct local_initial_state {
  std::string path;     ///< of the file or folder; empty: there is none
  std::string folder{}; ///< of such files by digest, where `path` is no more
};

/// Makes the workload of a study on the machine that it was sent from.
expected<made_workload> make_workload(const workload_registry& registry,
                                      workload_spec spec,
                                      const std::string& code,
                                      const local_initial_state& where);

/// The place of a trainer among those that have ranks of a trial each.
struct rank_member {
  std::uint32_t member = 0;
  std::uint32_t members = 1; ///< 1: it has all ranks
};

/// Returns the spec of a lease's workload as its trainer makes it: where it has
/// some of the ranks alone, a setting says which.
workload_spec spec_of(const lease& lease);

/// Reads that setting.
rank_member rank_member_of(const workload_spec& spec);

/// Makes the workload of a lease.
/// @param store where its code and its initial state are
expected<made_workload> make_workload(const workload_registry& registry,
                                      const lease& lease,
                                      checkpoint_store& store);

} // namespace hippo
