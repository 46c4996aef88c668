#include "hippo/service/study/watches.hpp"

#include "hippo/base/number.hpp"
#include "hippo/model/front_text.hpp"

namespace hippo {

namespace {

/// As many failures of one kind are no accident.
constexpr std::uint64_t alike_failures_max = 3;

} // namespace

bool gain_watch::is_without_gain() const {
  const auto& most = spec_.stop_when.no_gain;
  return most && steps_without_gain_ / last_rung_ >= *most;
}

std::optional<std::string>
gain_watch::reason_to_stop(const study_trials& trials) const {
  const auto& [value, no_gain] = spec_.stop_when;
  const auto& best = trials.best();
  if (trials.has_front() ? trials.front().points().empty() : !best)
    return std::nullopt;
  const auto whole_trials = [&] {
    return " in as many steps as " + std::to_string(*no_gain)
           + " whole trials have (stop_when.no_gain)";
  };
  if (trials.has_front()) {
    if (!is_without_gain())
      return std::nullopt;
    return "its "
           + brief_text(
             {trials.front().points().size(), trials.front().volume()})
           + ", has not changed" + whole_trials();
  }
  const auto& goal = spec_.objective;
  const bool is_reached =
    value
    && (goal.direction == direction::maximize ? best->value >= *value
                                              : best->value <= *value);
  if (!is_reached && !is_without_gain())
    return std::nullopt;
  const auto shown = goal.metric + ' ' + to_text(best->value) + " (trial "
                     + std::to_string(best->trial) + ", step "
                     + std::to_string(best->at) + ")";
  if (is_reached)
    return "stop_when.value, " + to_text(*value) + ", is reached: " + shown;
  return "nothing better than " + shown + whole_trials();
}

std::optional<std::string> failure_watch::note(const error& why) {
  const auto line = why.message.substr(0, why.message.find('\n'));
  if (failed_alike_ == 0)
    first_failure_ = line;
  // Values may be bad; that is what is looked for.
  only_failed_ =
    only_failed_ && why.code != errc::diverged && line == first_failure_;
  if (!only_failed_ || ++failed_alike_ < alike_failures_max)
    return std::nullopt;
  only_failed_ = false;
  return "its first " + std::to_string(alike_failures_max)
         + " trials failed alike: " + line;
}

} // namespace hippo
