#pragma once

#include "hippo/model/view/views.hpp"

namespace hippo {

/// Whether a study has several metrics, and so no single trial is its best.
inline bool has_several_metrics(const study_view& study) {
  return study.front && study.front->goals.size() > 1;
}

} // namespace hippo
