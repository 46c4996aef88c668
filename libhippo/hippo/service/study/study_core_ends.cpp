// What ends or pauses a study that is not through: its budgets, `stop_when`,
// and failures.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"
#include "hippo/service/study/study_core.hpp"

namespace hippo {

namespace {

/// So many failures of one kind are no accident.
constexpr std::uint64_t alike_failures_max = 3;

/// So begins why a study rests that has no more memory.
constexpr auto rest_text = "memory is short: ";

std::string names_of(const metrics& xs) {
  std::string result;
  for (const auto& [name, value] : xs)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

} // namespace

double seconds_until(const study_deadline& x, double age, double now) {
  constexpr double most = 1e9; // farther than anything goes on
  return std::min(x.seconds ? *x.seconds - age : x.time - now, most);
}

study_core::effects study_core::time_passed(moment now) {
  now_ = now;
  const auto& budget = options_.spec.budget;
  if (has_ended())
    return {};
  if (deadline_ && now >= *deadline_)
    return finish_for("its deadline, " + budget.deadline->text
                      + (budget.deadline->seconds ? " after it was submitted"
                                                  : "")
                      + ", has come");
  if (budget.seconds && active_since_ && active_seconds(now) >= *budget.seconds)
    return finish_for("its time, " + to_text(*budget.seconds)
                      + " s, is spent");
  watch_time();
  return std::exchange(effects_, {});
}

study_core::effects study_core::spent(study_limit what, moment now) {
  now_ = now;
  if (has_ended())
    return {};
  const auto& budget = options_.spec.budget;
  if (what == study_limit::cost) {
    assert(budget.cost);
    return finish_for("its budget.cost, " + to_text(*budget.cost)
                      + ", is spent");
  }
  assert(budget.device_seconds);
  return finish_for("its device time, " + to_text(*budget.device_seconds / 3600)
                    + " h, is spent");
}

/// Ends the study by an event, so that it has ended there as well when it is
/// restored.
study_core::effects study_core::finish_for(std::string why) {
  if (!std::exchange(is_finishing_, true)) {
    study_command x;
    x.what = verb::finish;
    x.text = std::move(why);
    store(std::move(x));
  }
  return std::exchange(effects_, {});
}

void study_core::end_if_done() {
  if (!has_ended() && tuner_->done())
    end_study(trials_.final_phase(), trial_state::pruned);
}

void study_core::end_if_failed() {
  const auto& most = options_.spec.budget.failed;
  if (!most || has_ended() || trials_.failed() < *most)
    return;
  end_study(study_phase::failed, trial_state::cancelled,
            "as many trials have failed as may (budget.failed, "
              + std::to_string(*most) + ")");
}

std::optional<std::string> study_core::reason_to_stop() const {
  const auto& [value, no_gain] = options_.spec.stop_when;
  if (trials_.has_front())
    return reason_of_front();
  const auto& metric = options_.spec.objective.metric;
  const auto direction = options_.spec.objective.direction;
  const auto& best = trials_.best();
  if (!best || has_ended() || tuner_->done()) // then it ends anyway
    return std::nullopt;
  const bool is_reached
    = value
      && (direction == direction::maximize ? best->value >= *value
                                           : best->value <= *value);
  const bool is_stuck
    = no_gain && steps_without_gain_ / last_rung_ >= *no_gain;
  if (!is_reached && !is_stuck)
    return std::nullopt;
  const auto shown = metric + ' ' + to_text(best->value) + " (trial "
                     + std::to_string(best->trial) + ", step "
                     + std::to_string(best->at) + ")";
  if (is_reached)
    return "stop_when.value, " + to_text(*value) + ", is reached: " + shown;
  return "nothing better than " + shown + " in as many steps as "
         + std::to_string(*no_gain)
         + " whole trials have (stop_when.no_gain)";
}

std::optional<double> study_core::device_seconds_left() const {
  const auto& budget = options_.spec.budget.device_seconds;
  if (!budget)
    return std::nullopt;
  return std::max(0.0, *budget - options_.stored.device_seconds);
}

std::optional<double> study_core::cost_left() const {
  const auto& budget = options_.spec.budget.cost;
  if (!budget)
    return std::nullopt;
  return std::max(0.0, *budget - options_.stored.cost);
}

/// Sees to it that the study ends when its time is spent, or its deadline has
/// come.
void study_core::watch_time() {
  const auto budget = options_.spec.budget.seconds;
  std::optional<double> left;
  if (budget && active_since_)
    left = *budget - active_seconds(now_);
  if (deadline_ && !has_ended()) {
    const auto more = seconds_between(now_, *deadline_);
    left = std::min(left.value_or(more), more);
  }
  if (!left)
    return;
  effects_.emplace_back(study_effect::wake_after{std::chrono::milliseconds(
    static_cast<std::int64_t>(std::ceil(std::max(0.0, *left) * 1000)))});
}

double study_core::active_seconds(moment now) const {
  auto result = options_.stored.active_seconds;
  if (active_since_)
    result += seconds_between(*active_since_, now);
  return result;
}

void study_core::refuse_measurement(const trial_measured& x,
                                    const std::string& missing, bool is_first) {
  std::vector<std::string> names;
  for (const auto& [name, value] : x.values)
    names.push_back(name);
  const auto why = "the workload does not measure '" + missing + "'"
                   + did_you_mean(missing, names) + "; it measures "
                   + names_of(x.values);
  drop_trial(x.trial, trial_state::failed,
             "at step " + std::to_string(x.at) + ": " + why);
  if (!is_first || options_.spec.algorithm.name == "client") {
    take_turn(tuner_->on_failure(x.trial));
    end_if_failed();
    return;
  }
  // Names do not depend on values: no trial will measure it.
  end_study(study_phase::failed, trial_state::cancelled, why);
}

void study_core::note_failure(const error& why) {
  const auto line = why.message.substr(0, why.message.find('\n'));
  if (failed_alike_ == 0)
    first_failure_ = line;
  // Values may be bad; that is what is looked for.
  only_failed_ = only_failed_ && why.code != errc::diverged
                 && line == first_failure_;
  if (!only_failed_ || ++failed_alike_ < alike_failures_max)
    return;
  only_failed_ = false;
  if (options_.stored.state != study_phase::running || tuner_->done())
    return;
  const auto said = "its first " + std::to_string(alike_failures_max)
                    + " trials failed alike: " + line;
  if (options_.spec.on_error == failure_policy::end)
    end_study(study_phase::failed, trial_state::cancelled, said);
  else
    enter(study_phase::paused,
          said
            + "; mend the cause, then retry and resume it, or give the study "
              "anew if its code has changed (on_error: continue goes on)");
}

study_core::effects study_core::set_full(std::string why, moment now) {
  now_ = now;
  full_ = std::move(why);
  const auto& stored = options_.stored;
  if (options_.spec.algorithm.name == "client" || is_steered_)
    return {};
  study_command x;
  if (!full_.empty() && stored.state == study_phase::running) {
    x.what = study_command::verb::pause;
    x.text = rest_text + full_;
  } else if (full_.empty() && stored.state == study_phase::paused
             && stored.reason.starts_with(rest_text)) {
    x.what = study_command::verb::resume;
  } else {
    return {};
  }
  is_steered_ = true;
  store(std::move(x));
  return std::exchange(effects_, {});
}

} // namespace hippo
