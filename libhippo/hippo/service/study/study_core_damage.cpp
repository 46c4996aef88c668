// What is stored of a study and cannot be of it: its history is not repeated
// then, since what follows would be of another study.

#include <string>
#include <variant>

#include "hippo/service/study/study_core.hpp"

namespace hippo {

namespace {

/// No study is widened by more at once: trainers are fewer.
constexpr std::uint64_t widened_max = 1 << 24;

} // namespace

/// @param when as of the tuner
std::string study_core::damage_of(const trial_measured& x,
                                  const measuring& when) const {
  const auto what = "trial " + std::to_string(x.trial);
  if (x.trial >= trials_.size() || !trials_[x.trial].added)
    return "it has no " + what;
  const auto& trial = trials_[x.trial];
  if (x.at != when.next(trial.acked) || x.at > trial.asked_to)
    return what + " is not to be measured next at step "
           + std::to_string(x.at);
  if (x.shared > x.at - trial.acked)
    return what + " shares more steps than it has at step "
           + std::to_string(x.at);
  if (x.values.empty())
    return "what " + what + " measured at step " + std::to_string(x.at)
           + " is missing";
  if (has_stored_choices_ && unsaved_chosen_.contains(x.trial))
    return "the choice of " + what + "'s values is missing, or another one";
  return {};
}

std::string study_core::damage_of(const study_input& x,
                                  const measuring& when) const {
  if (const auto* measured = std::get_if<trial_measured>(&x))
    return damage_of(*measured, when);
  if (const auto* failed = std::get_if<trial_failed>(&x)) {
    const auto no = failed->trial;
    return no < trials_.size() && trials_[no].added
             ? std::string{}
             : "it has no trial " + std::to_string(no);
  }
  if (const auto* command = std::get_if<study_command>(&x);
      command != nullptr && command->what == verb::widen) {
    const auto parsed
      = parse_command(*command, options_.spec.lengths(), options_.workload,
                      name_rules::of_before, options_.spec.typed);
    if (!parsed)
      return parsed.failure().message;
    if (std::get<command::widen>(*parsed).trials > widened_max)
      return "it is widened by more trials than there can be trainers";
  }
  return {};
}

} // namespace hippo
