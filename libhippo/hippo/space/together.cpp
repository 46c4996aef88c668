#include "hippo/space/together.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "hippo/base/number.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/space/space_node.hpp"

namespace hippo {

namespace {

using parameters_by_name = std::map<std::string, const parameter_descriptor*>;

/// Whether a default is 0.
bool is_zero(const scalar& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && *number == 0;
}

/// Notes an error about a hyper-parameter where the space gives it.
void tell(const search_space& space, const std::string& name,
          std::string message, diagnostics& notes) {
  const auto& root = *space.root();
  const auto i = std::ranges::find(root.keys, name);
  if (i == root.keys.end()) { // a choice brings it
    notes.error(root.where, root.path, name + ' ' + std::move(message));
    return;
  }
  const auto& x =
    root.children[static_cast<std::size_t>(i - root.keys.begin())];
  notes.error(x.where, x.path, std::move(message));
}

/// A value above its limit, or at one that is excluded, and that limit.
using excess = std::pair<double, double>;

/// Says the place of a value: "at most" or "below" its limit.
std::string place_of(const parameter_descriptor& x) {
  return x.max_excluded ? "below" : "at most";
}

/// Compares a hyper-parameter with its limit where either begins another piece,
/// and before that.
std::optional<excess> excess_in(const trial_parameters& trial, step_t end,
                                const parameter_descriptor& x,
                                const parameter_descriptor& limit) {
  std::map<std::string, sequence> both;
  for (const auto* each : {&x, &limit}) {
    const auto i = trial.sequences.find(each->name);
    both[each->name] =
      i != trial.sequences.end()
        ? i->second
        : sequence{form::constant(std::get<double>(each->fallback))};
  }
  const auto segments = join(both, end);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto next = i + 1 < segments.size() ? segments[i + 1].begin : end;
    for (const auto at : {segments[i].begin, next - 1}) {
      const auto value_of = [&](const std::string& name) {
        return std::get<double>(segments[i].config.at(name).at(at));
      };
      const excess values{value_of(x.name), value_of(limit.name)};
      const bool is_above = x.max_excluded ? values.first >= values.second
                                           : values.first > values.second;
      if (values.second != 0 && is_above)
        return values;
    }
  }
  return std::nullopt;
}

std::string text_of(const excess& values, const parameter_descriptor& x) {
  const auto& limit = x.max_parameter;
  return "is " + to_text(values.first) + " in a trial whose " + limit + " is "
         + to_text(values.second) + ": it must be " + place_of(x) + ' ' + limit;
}

/// Checks all trials, or some where there are many.
void check_limit(const search_space& space, step_t max_steps,
                 const parameter_descriptor& x,
                 const parameter_descriptor& limit, bool is_given,
                 diagnostics& notes) {
  const auto size = space.size();
  const bool all = size && *size <= together_max;
  for (std::uint64_t i = 0; i < (all ? *size : together_samples); ++i) {
    const auto trial = all ? space.at(i) : space.sample(0, i);
    const auto found =
      excess_in(trial, std::min(trial.length, max_steps), x, limit);
    if (!found)
      continue;
    const auto value = to_text(found->first), most = to_text(found->second);
    if (is_given)
      tell(space, x.name, text_of(*found, x), notes);
    else
      tell(space, limit.name,
           "is " + most + ", and " + x.name + " is " + value
             + " unless the study gives it: give " + x.name + ", " + place_of(x)
             + ' ' + most + ", or a larger " + limit.name,
           notes);
    return;
  }
}

} // namespace

void check_options_together(const document& place, const workload_spec& spec,
                            const workload_descriptor& workload,
                            diagnostics& notes) {
  for (const auto& option : workload.options) {
    const auto other = std::ranges::find(workload.options, option.only_option,
                                         &parameter_descriptor::name);
    if (other == workload.options.end()
        || spec.options.at(option.name) == option.fallback
        || spec.options.at(other->name) != other->fallback)
      continue;
    const auto* given = place.find(option.name);
    const auto value = to_text(other->fallback);
    notes.error(given == nullptr ? place : *given,
                "has no effect with " + other->name + ' ' + value + ": give "
                  + other->name + " too, other than " + value);
  }
}

void check_together(const search_space& space, step_t max_steps,
                    const workload_descriptor& workload, diagnostics& notes) {
  if (space.root() == nullptr)
    return;
  const auto names = space.names();
  parameters_by_name known;
  for (const auto& x : workload.hyper_parameters)
    known[x.name] = &x;
  for (const auto& x : workload.hyper_parameters) {
    const bool is_given = names.contains(x.name);
    if (const auto i = known.find(x.only_with); is_given && i != known.end()
                                                && !names.contains(x.only_with)
                                                && is_zero(i->second->fallback))
      tell(space, x.name,
           "has no effect without " + x.only_with
             + ", which is 0 unless the study gives it: give " + x.only_with
             + " too, above 0",
           notes);
    if (is_given && !x.only_option.empty())
      tell(space, x.name,
           "has no effect without the option " + x.only_option
             + " of the workload: give that too",
           notes);
    if (const auto i = known.find(x.max_parameter);
        i != known.end() && (is_given || names.contains(x.max_parameter)))
      check_limit(space, max_steps, x, *i->second, is_given, notes);
  }
}

std::optional<error> refusal_together(const trial_parameters& trial,
                                      const workload_descriptor& workload) {
  const auto& all = workload.hyper_parameters;
  for (const auto& x : all) {
    const auto limit =
      std::ranges::find(all, x.max_parameter, &parameter_descriptor::name);
    if (limit == all.end()
        || (!trial.sequences.contains(x.name)
            && !trial.sequences.contains(limit->name)))
      continue;
    if (const auto found = excess_in(trial, trial.length, x, *limit))
      return error{errc::invalid_argument, x.name + ' ' + text_of(*found, x)};
  }
  return std::nullopt;
}

} // namespace hippo
