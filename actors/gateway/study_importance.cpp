#include "gateway/study_importance.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/limits.hpp"
#include "hippo/base/trial_result.hpp"
#include "hippo/search/importance/importance.hpp"

namespace hippo {

namespace {

constexpr std::size_t rows_per_read = 10'000;

/// Shows each trial of a study to `f`.
std::optional<error>
for_each_trial(state_reader& store, study_id study,
               const std::function<void(const stored_trial&)>& f) {
  std::uint64_t first = 0;
  for (;;) {
    const auto part = store.load_trials(study, first, rows_per_read);
    if (!part)
      return part.failure();
    if (part->empty())
      return std::nullopt;
    for (const auto& x : *part)
      f(x);
    first = part->back().trial + 1;
  }
}

/// Shows each measurement of a study's objective to `f`, until it returns
/// false.
std::optional<error>
for_each_value(state_reader& store, const stored_study& study,
               const std::function<bool(const stored_value&)>& f) {
  std::uint64_t after = 0;
  for (;;) {
    const auto part
      = store.load_values(study.id, study.metric, after, rows_per_read);
    if (!part)
      return part.failure();
    for (const auto& x : *part)
      if (!f(x))
        return std::nullopt;
    if (part->size() < rows_per_read)
      return std::nullopt;
    after = part->back().event;
  }
}

} // namespace

expected<importance_view> importance_view_of(state_reader& store,
                                             const stored_study& study,
                                             step_t step) {
  std::set<trial_no> failed;
  if (const auto why
      = for_each_trial(store, study.id, [&](const stored_trial& x) {
          if (!has_result(x.state))
            failed.insert(x.trial);
        }))
    return *why;
  const auto counts = [&](const stored_value& x) {
    return std::isfinite(x.value) && !failed.contains(x.trial);
  };
  std::map<step_t, std::size_t> measured;
  if (step == 0) {
    const auto why
      = for_each_value(store, study, [&](const stored_value& x) {
          if (counts(x))
            ++measured[x.step];
          return true;
        });
    if (why)
      return *why;
    step = step_to_compare(measured).value_or(0);
  }
  std::map<std::uint64_t, double> values; // by trial
  if (const auto why
      = for_each_value(store, study, [&](const stored_value& x) {
          if (x.step == step && counts(x))
            values.emplace(x.trial, x.value);
          return values.size() < values_per_read_max;
        }))
    return *why;
  if (values.size() < importance_trials_min)
    return {errc::invalid_argument,
            "study '" + study.name + "' has "
              + (step == 0 ? std::string{"no results"}
                           : std::to_string(values.size())
                               + " results at step " + std::to_string(step))
              + "; parameter importance needs at least "
              + std::to_string(importance_trials_min)};
  std::vector<compared_trial> trials;
  if (const auto why
      = for_each_trial(store, study.id, [&](const stored_trial& x) {
          if (const auto i = values.find(x.trial); i != values.end())
            trials.push_back(
              {nlohmann::ordered_json::parse(x.params, nullptr, false),
               i->second});
        }))
    return *why;
  auto found = importance_of(trials, study.direction);
  importance_view result;
  result.study = study.name;
  result.metric = study.metric;
  result.direction = study.direction;
  result.step = step;
  result.trials = found.trials;
  result.best = found.best;
  for (auto& x : found.parameters)
    result.importance.push_back(
      {std::move(x.name), x.importance, x.share, x.trials});
  result.constant = std::move(found.constant);
  result.left_out = std::move(found.left_out);
  return result;
}

} // namespace hippo
