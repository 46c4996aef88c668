#pragma once

#include <string>
#include <vector>

#include "hippo/model/run_record.hpp"
#include "hippo/model/view/study_front.hpp"
#include "hippo/net/client/client.hpp"
#include "hippo/report/listing.hpp"

namespace hippo {

/// A row for each study.
listing list_studies(const std::vector<study_view>& studies);

/// A row for each trial of one study, with a column for each parameter that is
/// shown where it is asked for by name.
/// @param measured all metrics of a study of several, where each trial's values
///                 are taken, as the columns `front` have them (docs/http.md):
///                 there is a column for each of `goals`, in place of `best`
listing list_trials(const std::vector<trial_view>& trials,
                    const nlohmann::ordered_json& measured = nullptr,
                    const std::vector<goal_view>& goals = {});

/// A row for each trainer; those that have left only if `all`.
listing list_trainers(const std::vector<trainer_view>& trainers, bool all);

/// Reads JSON that a service has sent; what is none becomes a text.
nlohmann::ordered_json read_json(const std::string& text);

} // namespace hippo
