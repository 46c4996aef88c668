#include "hippo/service/study/commands.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

expected<parsed_command> parse_ask(const study_command& x,
                                   const study_spec& spec,
                                   const workload_descriptor& workload,
                                   name_rules rules) {
  if (x.text.empty())
    return parsed_command{command::ask{}};
  auto values =
    read_parameters(x.text, spec.lengths(), workload, rules, spec.typed);
  if (!values)
    return values.failure();
  return parsed_command{command::ask{std::move(*values)}};
}

expected<parsed_command> parse_tell(const study_command& x) {
  command::tell result{x.trial, x.at, trial_state::complete, std::nullopt};
  try {
    const auto said = json::parse(x.text);
    const std::string state = said.value("state", "COMPLETE");
    if (state == to_string(trial_state::pruned))
      result.how = trial_state::pruned;
    else if (state == to_string(trial_state::failed))
      result.how = trial_state::failed;
    if (state != to_string(result.how))
      return error{errc::invalid_argument,
                   "a trial can be told to be COMPLETE, PRUNED or FAILED, not '"
                     + state + "'"};
    if (said.contains("value"))
      result.value = said.at("value").get<double>();
  } catch (const json::exception& e) {
    return error{errc::malformed_message, e.what()};
  }
  return parsed_command{result};
}

expected<parsed_command> parse_weight(const study_command& x) {
  const auto said = json::parse(x.text, nullptr, false);
  const auto weight = said.is_number() ? said.get<double>() : 0.0;
  if (!(weight > 0) || !std::isfinite(weight))
    return error{errc::invalid_argument,
                 "a weight is a number above 0, not '" + x.text + "'"};
  return parsed_command{command::weight{weight}};
}

expected<parsed_command> parse_widen(const study_command& x) {
  std::uint64_t trials = 0;
  const auto* end = x.text.data() + x.text.size();
  const auto [at, failure] = std::from_chars(x.text.data(), end, trials);
  if (failure != std::errc{} || at != end)
    return error{errc::malformed_message,
                 "a study is widened by a number of trials, not '" + x.text
                   + "'"};
  return parsed_command{command::widen{trials}};
}

expected<parsed_command> parse_retry(const study_command& x) {
  command::retry result;
  try {
    const auto said = x.text.empty() ? json::object() : json::parse(x.text);
    result.trials = said.value("trials", result.trials);
    result.all = said.value("all", false);
  } catch (const json::exception& e) {
    return error{errc::malformed_message, e.what()};
  }
  return parsed_command{std::move(result)};
}

expected<parsed_command> parse_extend(const study_command& x) {
  // Beyond these nothing is counted exactly, and no clock goes.
  constexpr double trials_most = 1e9, seconds_most = 1e9;
  command::extend result;
  const auto said = json::parse(x.text, nullptr, false);
  if (!said.is_object() || said.empty())
    return error{errc::invalid_argument,
                 "a study is extended by a map with trials, seconds or "
                 "deadline_seconds, not '"
                   + x.text.substr(0, 100) + "'"};
  for (const auto& [name, value] : said.items()) {
    const bool is_trials = name == "trials";
    if (!is_trials && name != "seconds" && name != "deadline_seconds")
      return error{errc::invalid_argument,
                   "'" + name
                     + "' cannot be extended: trials, seconds and "
                       "deadline_seconds can"};
    const auto most = is_trials ? trials_most : seconds_most;
    const auto amount = value.is_number() ? value.get<double>() : 0.0;
    if (!(amount > 0) || !(amount <= most)
        || (is_trials && amount != std::floor(amount)))
      return error{errc::invalid_argument,
                   name + ": must be a " + (is_trials ? "whole " : "")
                     + "number above 0 and up to " + to_text(most)
                     + ", found " + value.dump()};
    if (is_trials)
      result.trials = static_cast<std::uint64_t>(amount);
    else
      (name == "seconds" ? result.seconds : result.deadline_seconds) = amount;
  }
  return parsed_command{result};
}

expected<parsed_command> parse_enqueue(const study_command& x,
                                       const study_spec& spec,
                                       const workload_descriptor& workload,
                                       name_rules rules) {
  auto trials = read_given_trials(x.text, spec, workload, rules);
  if (!trials)
    return trials.failure();
  return parsed_command{command::enqueue{std::move(*trials)}};
}

expected<parsed_command> parse_past(const study_command& x,
                                    const study_spec& spec, name_rules rules) {
  auto results = read_past_results(x.text, spec, rules);
  if (!results)
    return results.failure();
  return parsed_command{command::tell_past{std::move(*results)}};
}

} // namespace

expected<parsed_command> parse_command(const study_command& wanted,
                                       const study_spec& spec,
                                       const workload_descriptor& workload,
                                       name_rules rules) {
  using verb = study_command::verb;
  switch (wanted.what) {
    case verb::ask:
      return parse_ask(wanted, spec, workload, rules);
    case verb::train:
      return parsed_command{command::train{wanted.trial, wanted.at}};
    case verb::tell:
      return parse_tell(wanted);
    case verb::close:
      return parsed_command{command::close{}};
    case verb::pause:
      return parsed_command{command::pause{wanted.text}};
    case verb::resume:
      return parsed_command{command::resume{}};
    case verb::stop:
      return parsed_command{command::stop{}};
    case verb::cancel:
      return parsed_command{command::cancel{wanted.text}};
    case verb::weight:
      return parse_weight(wanted);
    case verb::widen:
      return parse_widen(wanted);
    case verb::retry:
      return parse_retry(wanted);
    case verb::finish:
      return parsed_command{command::finish{wanted.text}};
    case verb::extend:
      return parse_extend(wanted);
    case verb::enqueue:
      return parse_enqueue(wanted, spec, workload, rules);
    case verb::tell_past:
      return parse_past(wanted, spec, rules);
  }
  return error{errc::malformed_message, "an unknown command"};
}

} // namespace hippo
