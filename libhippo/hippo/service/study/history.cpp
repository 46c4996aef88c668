#include "hippo/service/study/history.hpp"

#include <variant>

#include "hippo/service/study/commands.hpp"

namespace hippo {

namespace {

/// No study is widened by more at once: trainers are fewer.
constexpr std::uint64_t widened_max = 1 << 24;

std::string damage_of(const trial_measured& x, const study_books& books,
                      const study_outbox& unsaved, const measuring& when) {
  const auto what = "trial " + std::to_string(x.trial);
  if (x.trial >= books.trials.size() || !books.trials[x.trial].added)
    return "it has no " + what;
  const auto& trial = books.trials[x.trial];
  const auto seeds = books.spec().repeats.seeds;
  if (x.seed_no > seeds || (x.seed_no == 0) != (seeds == 1))
    return what + " has no seed " + std::to_string(x.seed_no);
  // Some seeds may be ahead of others.
  if ((x.is_part ? !when.covers(x.at) : x.at != when.next(trial.acked))
      || x.at > trial.asked_to)
    return what + " is not to be measured next at step " + std::to_string(x.at);
  if (x.shared > (x.is_part ? x.at : x.at - trial.acked))
    return what + " shares more steps than it has at step "
           + std::to_string(x.at);
  if (x.values.empty())
    return "what " + what + " measured at step " + std::to_string(x.at)
           + " is missing";
  if (unsaved.lacks_choice(x.trial))
    return "the choice of " + what + "'s values is missing, or another one";
  return {};
}

} // namespace

std::string damage_of(const study_input& input, const study_books& books,
                      const study_outbox& unsaved, const measuring& when) {
  if (const auto* measured = std::get_if<trial_measured>(&input))
    return damage_of(*measured, books, unsaved, when);
  if (const auto* failed = std::get_if<trial_failed>(&input)) {
    const auto no = failed->trial;
    return no < books.trials.size() && books.trials[no].added
             ? std::string{}
             : "it has no trial " + std::to_string(no);
  }
  if (const auto* command = std::get_if<study_command>(&input);
      command != nullptr && command->what == study_command::verb::widen) {
    const auto parsed = parse_command(
      *command, books.spec(), books.options.workload, name_rules::of_before);
    if (!parsed)
      return parsed.failure().message;
    if (std::get<command::widen>(*parsed).trials > widened_max)
      return "it is widened by more trials than there can be trainers";
  }
  return {};
}

} // namespace hippo
