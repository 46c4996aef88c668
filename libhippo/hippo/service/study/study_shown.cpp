#include "hippo/service/study/study_shown.hpp"

#include <utility>

#include "hippo/base/trial_result.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/initial_state.hpp"
#include "hippo/space/own_workload.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

trial_record record_of(const study_books& books, trial_no no) {
  const auto& x = books.trials[no];
  trial_record result;
  result.id = no;
  result.state = x.state;
  result.params = shown_params(books, no);
  result.steps = x.acked;
  result.shared_steps = x.shared;
  result.results = books.trials.results_of(no);
  result.failure = x.failure;
  result.why = books.decisions.why(no);
  return result;
}

/// Whether a trial is worth its best measurement; else it is worth its last.
bool is_worth_its_best(const study_books& books, trial_no trial) {
  const auto& x = books.trials[trial];
  return x.state == trial_state::complete && x.best;
}

/// Adds what the front is by now, and what a trial is worth.
void add_front(trial_event& event, const study_books& books) {
  const auto& trials = books.trials;
  event.front = front_in_brief(books);
  const auto& x = trials[event.trial];
  if (!event.front || !event.value || x.results.empty())
    return;
  const auto shown = is_worth_its_best(books, event.trial)
                       ? trials.result_near(event.trial, x.best->step)
                       : trials.last_result(event.trial);
  for (const auto& goal : trials.wanted().metrics)
    event.values.push_back(shown->values.at(goal.metric));
}

} // namespace

json shown_params(const study_books& books, trial_no trial) {
  return books.trials[trial].added ? books.decisions.parameters(trial).shown
                                   : json::object();
}

std::optional<best_record> shown_best(const study_books& books) {
  const auto& best = books.trials.best();
  if (!best)
    return std::nullopt;
  return best_record{best->trial, best->at, best->value,
                     books.decisions.parameters(best->trial).shown};
}

std::optional<front_record> shown_front(const study_books& books) {
  const auto& trials = books.trials;
  if (!trials.has_front())
    return std::nullopt;
  const auto& known = trials.front();
  front_record result;
  for (const auto& point : known.points())
    result.points.push_back(
      {point.trial, point.step,
       trials.result_near(point.trial, point.step)->values,
       shown_params(books, point.trial)});
  result.hypervolume = known.volume();
  const auto& goals = trials.wanted().metrics;
  for (std::size_t k = 0; k < known.reference().size(); ++k)
    result.reference[goals[k].metric] =
      value_of(known.reference()[k], goals[k].direction);
  return result;
}

std::optional<front_so_far> front_in_brief(const study_books& books) {
  if (!books.trials.has_front())
    return std::nullopt;
  const auto& known = books.trials.front();
  return front_so_far{known.points().size(), known.volume()};
}

trial_event end_of_trial(const study_books& books, trial_no trial) {
  const auto& x = books.trials[trial];
  trial_event result;
  result.study = books.spec().name;
  result.trial = trial;
  result.state = x.state;
  result.params = shown_params(books, trial);
  result.failure = x.failure;
  if (const auto last = books.trials.last_result(trial)) {
    result.step = last->step;
    if (is_worth_its_best(books, trial)) {
      result.value = x.best->value;
    } else { // one that breaks constraints has no best, and yet a value
      result.value = books.trials.value_of(last->values);
      result.violated = violated_in(last->values, books.trials.wanted());
    }
  }
  if (const auto& best = books.trials.best())
    result.best = best_so_far{best->trial, best->value};
  add_front(result, books);
  return result;
}

study_status status_of(const stored_study& stored, const study_spec& spec) {
  study_status result;
  auto& view = result.view;
  view.id = number_of(stored.id);
  view.name = stored.name;
  view.state = to_string(stored.state);
  view.reason = stored.reason;
  view.metric = spec.objective.metric;
  view.weight = stored.weight;
  view.workload = key_of(spec.workload);
  view.active_seconds = stored.active_seconds;
  result.state = stored.state;
  result.seconds_max = spec.budget.seconds;
  return result;
}

trained_trial answer_of(const study_books& books, trial_no trial, step_t to) {
  const auto& x = books.trials[trial];
  trained_trial result;
  result.trial = trial;
  result.state = x.state;
  result.failure = x.failure;
  if (const auto found = books.trials.result_near(trial, to)) {
    result.step = found->step;
    result.metrics = found->values;
  }
  return result;
}

stored_trial stored_of(const study_books& books, trial_no trial, bool is_new) {
  const auto& x = books.trials[trial];
  stored_trial result;
  result.trial = trial;
  result.state = x.state;
  if (is_new)
    result.params = shown_params(books, trial).dump();
  result.asked_to = x.asked_to;
  result.steps = x.acked;
  if (has_result(x.state))
    result.best = x.best;
  result.failure = x.failure;
  result.shared = x.shared;
  result.why = books.decisions.why(trial);
  return result;
}

study_record record_of(const study_books& books) {
  study_record result;
  const auto& spec = books.spec();
  result.name = spec.name;
  result.algorithm = spec.algorithm.name;
  result.workload_key = key_of(spec.workload);
  if (const auto initial =
        requested_code(split(books.stored().text).study).initial)
    result.initial_state = to_text(*initial);
  result.exact = is_exact(spec.workload);
  result.metric = spec.objective.metric;
  result.direction = spec.objective.direction;
  result.asked_steps = books.trials.asked_steps();
  result.reason = books.stored().reason;
  result.best = shown_best(books);
  result.wanted = books.trials.wanted();
  result.front = shown_front(books);
  for (trial_no no = 0; no < books.trials.size(); ++no) {
    if (books.trials[no].withdrawn || books.trials[no].removed)
      continue;
    const auto& x = result.trials.emplace_back(record_of(books, no));
    result.delivered_steps += x.steps * spec.repeats.seeds;
    result.shared_steps += x.shared_steps;
  }
  return result;
}

} // namespace hippo
