#pragma once

#include <memory>
#include <optional>

#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// A workload, and where the code lies that it runs.
struct made_workload {
  std::optional<unpacked_code> code; ///< nothing: it is built in
  std::unique_ptr<workload> work;    ///< gone before its code is
};

/// Makes the workload of a spec. Nothing is unpacked but what its key names.
/// @param code `study_code` as JSON, which the spec's setting "folder" will
///             lead to; empty: there is none
/// @returns as `workload_registry::make`, `study_code_from_json`, `check_key`
///          and `unpacked_code::make`
expected<made_workload> make_workload(const workload_registry& registry,
                                      workload_spec spec,
                                      const std::string& code);

/// Makes the workload of a lease. @param store where the lease's code is
expected<made_workload> make_workload(const workload_registry& registry,
                                      const lease& lease,
                                      checkpoint_store& store);

} // namespace hippo
