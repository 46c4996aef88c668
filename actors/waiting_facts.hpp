#pragma once

#include <string>

#include "hippo/service/study/waiting.hpp"
#include "messages.hpp"

namespace hippo {

/// Puts together what the actors know of why a study might have to wait.
/// @param reason of its state
/// @param plan the merger of its workload key; null: there is none
waiting_facts waiting_facts_of(study_phase state, const std::string& reason,
                               double caught_up,
                               const std::string& key, const pool_status& pool,
                               const journal_status& journal,
                               const merger_status* plan);

} // namespace hippo
