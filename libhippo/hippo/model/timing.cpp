#include "hippo/model/timing.hpp"

namespace hippo {

const char* to_string(timed sample) noexcept {
  switch (sample) {
    case timed::step: return "step";
    case timed::evaluate: return "evaluate";
    case timed::save: return "save";
    case timed::load: return "load";
    case timed::dispatch: return "dispatch";
    case timed::start: return "start";
  }
  return "invalid_timed";
}

std::optional<timed> timed_from(std::string_view text) {
  for (const auto x : {timed::step, timed::evaluate, timed::save, timed::load,
                       timed::dispatch, timed::start})
    if (text == to_string(x))
      return x;
  return std::nullopt;
}

double mean_step_seconds(const std::vector<timing>& xs) {
  double seconds = 0;
  double count = 0;
  for (const auto& x : xs)
    if (x.what == timed::step && x.count > 0) { // else of a damaged row
      seconds += x.seconds;
      count += x.count;
    }
  return count > 0 ? seconds / count : 0;
}

} // namespace hippo
