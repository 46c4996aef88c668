#include "followed_studies.hpp"

#include <chrono>
#include <iostream>
#include <map>

#include "client_listings.hpp"
#include "hippo/base/number.hpp"
#include "hippo/model/front_text.hpp"
#include "hippo/report/ranking.hpp"

namespace hippo {

namespace {

/// How long `look` waits.
constexpr std::chrono::milliseconds wait_interval{500};

} // namespace

std::optional<error> followed_study::look(bool wait) {
  if (wait) {
    auto x =
      handle_.wait([](const study_view&) { return false; }, wait_interval);
    if (!x)
      return x.failure();
    now_ = std::move(*x);
  } else {
    auto x = handle_.describe();
    if (!x)
      return x.failure();
    now_ = std::move(x->view);
  }
  return std::nullopt;
}

std::optional<error> followed_study::tell_trials() {
  if (now_.finished == told_.size() + first_)
    return std::nullopt;
  const auto trials = handle_.trials(first_);
  if (!trials)
    return trials.failure();
  for (const auto& x : *trials)
    if (has_ended(x.state) && told_.insert(x.trial).second)
      std::cerr << trial_line(event_of(x)) << std::endl;
  // A run of trials that all were told of is kept as its end.
  while (told_.erase(first_) > 0)
    ++first_;
  return std::nullopt;
}

void followed_study::tell_waiting() {
  if (now_.waiting != waiting_ && !now_.waiting.empty())
    std::cerr << "study " << now_.id << " (" << now_.name
              << "): waiting: " << now_.waiting << std::endl;
  waiting_ = now_.waiting;
}

void followed_study::tell_end() const {
  std::cerr << "study " << now_.id << " (" << now_.name << "): " << now_.state;
  if (!now_.reason.empty())
    std::cerr << ": " << now_.reason;
  if (now_.best && now_.best->best)
    std::cerr << "; best is trial " << now_.best->trial << " with "
              << now_.metric << ' ' << to_text(now_.best->best->value)
              << " at step " << now_.best->best->step;
  if (const auto front = front_in_brief(now_))
    std::cerr << "; " << brief_text(*front);
  std::cerr << std::endl;
}

trial_event followed_study::event_of(const trial_view& x) {
  trial_event result;
  if (named_)
    result.study = now_.name;
  result.trial = x.trial;
  result.state = x.state;
  result.step = x.delivered_steps;
  result.params = read_json(x.params);
  result.failure = x.failure;
  result.front = front_in_brief(now_);
  if (x.best && !result.front) {
    result.value = x.best->value;
    // Measurements of a FAILED trial are no results.
    const bool counts = x.state != trial_state::failed;
    if (counts
        && (!best_ || better(x.best->value, best_->value, now_.direction)))
      best_ = best_so_far{x.trial, x.best->value};
  }
  result.best = best_;
  return result;
}

expected<progress_view>
progress_source::view_of(const std::vector<followed_study>& studies) {
  const auto trainers = service_.trainers();
  if (!trainers)
    return trainers.failure();
  std::map<std::string, std::string> waits;
  std::vector<study_view> views;
  for (const auto& x : studies) {
    views.push_back(x.now());
    waits[x.now().name] = x.now().waiting;
  }
  notes_.note(waits, std::chrono::steady_clock::now());
  for (auto& x : views)
    x.waiting = notes_.shown(x.name);
  return progress_of(std::move(views), *trainers);
}

} // namespace hippo
