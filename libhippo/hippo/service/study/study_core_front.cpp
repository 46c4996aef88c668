// What a study of several metrics, or with constraints, has in place of one
// best value.

#include <algorithm>
#include <utility>

#include "hippo/model/front_text.hpp"
#include "hippo/service/study/study_core.hpp"

namespace hippo {

std::optional<front_record> study_core::shown_front() const {
  if (!trials_.has_front())
    return std::nullopt;
  const auto& known = trials_.front();
  front_record result;
  for (const auto& x : known.points())
    result.points.push_back({x.trial, x.step,
                             trials_.result_near(x.trial, x.step)->values,
                             shown_params(x.trial)});
  result.hypervolume = known.volume();
  const auto& goals = trials_.wanted().metrics;
  for (std::size_t k = 0; k < known.reference().size(); ++k)
    result.reference[goals[k].metric]
      = value_of(known.reference()[k], goals[k].direction);
  return result;
}

std::optional<front_so_far> study_core::front_in_brief() const {
  if (!trials_.has_front())
    return std::nullopt;
  const auto& known = trials_.front();
  return front_so_far{known.points().size(), known.volume()};
}

void study_core::tell_front(trial_event& event) const {
  event.front = front_in_brief();
  const auto& x = trials_[event.trial];
  if (!event.front || !event.value || x.results.empty())
    return;
  // What it is worth: of those that are complete its best, else its last.
  const bool has_best = event.state == trial_state::complete && x.best;
  const auto shown
    = has_best ? trials_.result_near(event.trial, x.best->step)
               : trials_.last_result(event.trial);
  for (const auto& goal : trials_.wanted().metrics)
    event.values.push_back(shown->values.at(goal.metric));
}

void study_core::save_front(std::vector<journal_record>& out) {
  const auto& wanted = trials_.wanted();
  if (wanted.is_one())
    return;
  const auto& known = trials_.front();
  const auto now = std::pair{known.changes(), known.volume()};
  if (saved_front_ == now)
    return;
  saved_front_ = now;
  auto shown = shown_front().value_or(front_record{});
  for (auto& x : shown.points)
    x.params = nullptr; // the trials have them
  out.emplace_back(
    front_saved{options_.stored.id, to_json(wanted, shown).dump()});
}

const std::string* study_core::missing_in(const metrics& values) const {
  const auto& wanted = trials_.wanted();
  for (const auto& x : wanted.metrics)
    if (!values.contains(x.metric))
      return &x.metric;
  for (const auto& x : wanted.constraints)
    if (!values.contains(x.metric))
      return &x.metric;
  return nullptr;
}

std::optional<std::string> study_core::reason_of_front() const {
  const auto& no_gain = options_.spec.stop_when.no_gain;
  if (trials_.front().points().empty() || has_ended() || tuner_->done()
      || !no_gain || steps_without_gain_ / last_rung_ < *no_gain)
    return std::nullopt;
  return "its " + brief_text(*front_in_brief())
         + ", has not changed in as many steps as " + std::to_string(*no_gain)
         + " whole trials have (stop_when.no_gain)";
}

} // namespace hippo
