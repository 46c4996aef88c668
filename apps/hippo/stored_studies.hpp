#pragma once

#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/store/state_reader.hpp"
#include "studies.hpp"

namespace hippo {

/// With which of the studies in a state folder a verb goes on.
enum class continued {
  latest,  ///< the last of each name, ended or not
  unended, ///< all that have not ended
};

/// Loads studies to go on with, their texts too, in the order of submission.
/// @returns the studies, or why they cannot be read
expected<std::vector<stored_study>>
load_stored_studies(state_reader& folder, continued which);

/// Loads them from a folder that is open elsewhere, perhaps.
expected<std::vector<stored_study>>
load_stored_studies(const std::string& folder, continued which);

/// Loads those of these numbers or names; of several of a name the last.
expected<std::vector<stored_study>>
find_stored_studies(const std::string& folder,
                    const std::vector<std::string>& ids_or_names);

/// Reads the texts of the studies that a state folder holds.
/// @param wanted numbers or names; empty: the last of each name
/// @param resumed gets their numbers
expected<std::vector<study_source>>
sources_in(const std::string& state, const std::vector<std::string>& wanted,
           std::vector<std::string>& resumed);

} // namespace hippo
