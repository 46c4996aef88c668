#pragma once

#include "gateway/query_service.hpp"

namespace hippo {

/// Works out what is before the studies that run.
void look_ahead(live_view& view);

/// Adds to a study what is known only while it runs.
study_view live_view_of(archived_study study, const live_view& live);

/// The same with the study's text.
described_study described(archived_study study, const live_view& live);

} // namespace hippo
