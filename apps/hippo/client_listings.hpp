#pragma once

#include <vector>

#include "hippo/client/client.hpp"
#include "hippo/report/listing.hpp"

namespace hippo {

/// A row for each study.
listing list_studies(const std::vector<study_summary>& studies);

/// A row for each trial of one study, with a column for each parameter that is
/// shown where it is asked for by name.
listing list_trials(const std::vector<trial_summary>& trials);

/// A row for each trainer; those that have left only if `all`.
listing list_trainers(const std::vector<trainer_summary>& trainers, bool all);

/// Reads JSON that a service has sent; what is none becomes a text.
nlohmann::ordered_json read_json(const std::string& text);

} // namespace hippo
