#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "hippo/service/merge/placement.hpp"

// Trials of several ranks: trainers that hold only some of these are joined.
// Pure functions of what a merger knows.

namespace hippo {

/// Returns how many trainers like this one hold all ranks of a trial: 1 if it
/// trains alone.
std::uint32_t members_needed(const merge_view& view, trainer_id trainer);

/// Returns the trainers that would train a path with a lead, itself first: idle
/// ones of its kind of device that hold as many ranks, as many as it needs. Of
/// the others, those come first that have not failed at the path.
/// @returns nothing if there are too few
/// @complexity O(idle trainers)
std::vector<trainer_id> members_for(const merge_view& view, trainer_id lead,
                                    const path& what);

/// Returns the idle trainers that hold only some ranks of a trial.
std::set<trainer_id> idle_parts(const merge_view& view);

/// Returns the idle trainers that hold only some ranks of a trial while there
/// are too few like them to hold all: they wait for others.
std::set<trainer_id> collected(const merge_view& view);

/// Whether a free trainer could train something by itself, or with others that
/// are free.
bool is_any_ready(const merge_view& view);

/// Returns a lead for each path that the idle trainers could train which hold
/// only some ranks of a trial.
std::set<trainer_id> ready_leads(const merge_view& view);

/// Returns how many trainers more so many paths need, those that wait for
/// others taken first.
/// @param members that a path needs which has no trainer yet
std::uint64_t trainers_lacking(const merge_view& view, std::uint64_t paths,
                               std::uint32_t members);

} // namespace hippo
