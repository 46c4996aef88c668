#include "hippo/plan/timing.hpp"

namespace hippo {

const char* to_string(timed x) noexcept {
  switch (x) {
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

} // namespace hippo
