#include "hippo/service/study/commands.hpp"

#include <algorithm>
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
  constexpr double most = 1e9;
  command::extend result;
  const std::vector<std::pair<std::string, double*>> amounts{
    {"seconds", &result.seconds},
    {"deadline_seconds", &result.deadline_seconds},
    {"device_seconds", &result.device_seconds},
    {"cost", &result.cost}};
  const std::vector<std::pair<std::string, std::uint64_t*>> numbers{
    {"trials", &result.trials},
    {"budget_steps", &result.budget_steps},
    {"steps", &result.steps}};
  const std::string names =
    "trials, seconds, deadline_seconds, device_seconds, cost, budget_steps and "
    "steps";
  const auto said = json::parse(x.text, nullptr, false);
  if (!said.is_object() || said.empty())
    return error{errc::invalid_argument, "a study is extended by a map with "
                                         "some of "
                                           + names + ", not '"
                                           + x.text.substr(0, 100) + "'"};
  for (const auto& [name, value] : said.items()) {
    const auto is_named = [&name = name](const auto& y) {
      return y.first == name;
    };
    const auto place = std::find_if(amounts.begin(), amounts.end(), is_named);
    const auto number = std::find_if(numbers.begin(), numbers.end(), is_named);
    const bool is_whole = number != numbers.end();
    if (!is_whole && place == amounts.end())
      return error{errc::invalid_argument,
                   "'" + name + "' cannot be extended: " + names + " can"};
    const auto amount = value.is_number() ? value.get<double>() : 0.0;
    if (!(amount > 0) || !(amount <= most)
        || (is_whole && amount != std::floor(amount)))
      return error{errc::invalid_argument,
                   name + ": must be a " + (is_whole ? "whole " : "")
                     + "number above 0 and up to " + to_text(most) + ", found "
                     + value.dump()};
    if (is_whole)
      *number->second = static_cast<std::uint64_t>(amount);
    else
      *place->second = amount;
  }
  return parsed_command{result};
}

/// The longest note, in bytes.
constexpr std::size_t note_bytes_max = 10'000;

expected<parsed_command> parse_note(const study_command& x) {
  command::note result;
  const auto said = json::parse(x.text, nullptr, false);
  const auto refused = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  const error wrong{errc::invalid_argument,
                    "a note is a map with some of note, a text, and add_tags "
                    "and remove_tags, lists of texts"};
  if (!said.is_object())
    return wrong;
  for (const auto& [name, value] : said.items()) {
    if (name == "note" && value.is_string()) {
      result.text = value.get<std::string>();
      continue;
    }
    if ((name != "add_tags" && name != "remove_tags") || !value.is_array())
      return wrong;
    auto& tags = name == "add_tags" ? result.added_tags : result.removed_tags;
    for (const auto& tag : value) {
      if (!tag.is_string())
        return wrong;
      tags.push_back(tag.get<std::string>());
      if (auto why = refusal_of_tag(tags.back()); !why.empty())
        return refused(std::move(why));
    }
  }
  if (!result.text && result.added_tags.empty() && result.removed_tags.empty())
    return wrong;
  if (result.text && result.text->size() > note_bytes_max)
    return refused("a note has at most " + std::to_string(note_bytes_max)
                   + " bytes, not " + std::to_string(result.text->size()));
  for (const auto& tag : result.added_tags)
    if (std::count(result.removed_tags.begin(), result.removed_tags.end(), tag)
        > 0)
      return refused("'" + tag + "' is both added and removed");
  return parsed_command{std::move(result)};
}

/// Reads the trials that a command hides or shows; none: it is the study.
template <class Command>
expected<parsed_command> parse_hidden(const study_command& x) {
  const auto said =
    x.text.empty() ? json::object() : json::parse(x.text, nullptr, false);
  Command result;
  if (said.is_object() && said.empty())
    return parsed_command{result};
  const error wrong{errc::invalid_argument,
                    "trials are given as a map with trials, a list of their "
                    "numbers"};
  if (!said.is_object() || said.size() != 1 || !said.contains("trials")
      || !said["trials"].is_array() || said["trials"].empty())
    return wrong;
  for (const auto& trial : said["trials"]) {
    if (!trial.is_number_unsigned())
      return wrong;
    result.trials.insert(trial.template get<trial_no>());
  }
  return parsed_command{std::move(result)};
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

expected<parsed_command> parse_space(const study_command& x,
                                     const study_spec& spec,
                                     const workload_descriptor& workload,
                                     name_rules rules) {
  auto space = read_new_space(x.text, spec, workload, rules);
  if (!space)
    return space.failure();
  return parsed_command{command::set_space{std::move(*space)}};
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
    case verb::note:
      return parse_note(wanted);
    case verb::remove:
      return parse_hidden<command::remove>(wanted);
    case verb::restore:
      return parse_hidden<command::restore>(wanted);
    case verb::set_space:
      return parse_space(wanted, spec, workload, rules);
  }
  return error{errc::malformed_message, "an unknown command"};
}

} // namespace hippo
