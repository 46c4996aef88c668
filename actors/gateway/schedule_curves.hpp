#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// What a trial was trained with, up to state `end`.
struct trained_way {
  trial_no trial = 0;
  step_t end = 0;
  /// Where each configuration begins to rule, in order; the first at 0.
  std::vector<std::pair<step_t, const configuration*>> parts;
};

/// Returns how hyper-parameters went, as JSON: docs/http.md#schedules. Only
/// such numbers as change while a trial trains, in any of them; a course that
/// several trials have is there once.
/// @param curves_max of more different courses of one hyper-parameter the first
///                   are shown
/// @complexity O(trials * parts * hyper-parameters)
std::string schedule_curves(const std::vector<trained_way>& trials,
                            std::size_t curves_max);

} // namespace hippo
