#include "hippo/service/study/commands.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

expected<parsed_command> parse_ask(const study_command& x,
                                   const trial_lengths& lengths,
                                   const workload_descriptor& workload,
                                   name_rules rules, bool typed) {
  if (x.text.empty())
    return parsed_command{command::ask{}};
  auto values = read_parameters(x.text, lengths, workload, rules, typed);
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

} // namespace

expected<parsed_command> parse_command(const study_command& wanted,
                                       const trial_lengths& lengths,
                                       const workload_descriptor& workload,
                                       name_rules rules, bool typed) {
  using verb = study_command::verb;
  switch (wanted.what) {
    case verb::ask:
      return parse_ask(wanted, lengths, workload, rules, typed);
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
  }
  return error{errc::malformed_message, "an unknown command"};
}

} // namespace hippo
