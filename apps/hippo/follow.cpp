#include "follow.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>
#include <utility>

#include "client_listings.hpp"
#include "hippo/base/number.hpp"
#include "hippo/model/front_text.hpp"
#include "hippo/report/progress.hpp"
#include "hippo/report/ranking.hpp"
#include "outcome.hpp"
#include "terminal.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

/// How often studies are looked at.
constexpr auto look_interval = 500ms;

/// One study on its way.
class followed_study {
public:
  followed_study(study_handle handle, bool named)
    : handle_(std::move(handle)), named_(named) {}

  [[nodiscard]] bool ended() const { return has_ended(now_); }
  [[nodiscard]] const study_view& now() const { return now_; }

  /// Asks how it goes. @param wait until it has ended, or for a while
  std::optional<error> look(bool wait) {
    if (wait) {
      auto x = handle_.wait([](const study_view&) { return false; },
                            look_interval);
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

  /// Prints a line for each trial that has ended since the last time.
  std::optional<error> tell_trials() {
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

  /// Says why it waits, if it does and that is news.
  void tell_waiting() {
    if (now_.waiting != waiting_ && !now_.waiting.empty())
      std::cerr << "study " << now_.id << " (" << now_.name
                << "): waiting: " << now_.waiting << std::endl;
    waiting_ = now_.waiting;
  }

  /// Says how it has ended. REQUIRES: `ended()`
  void tell_end() const {
    std::cerr << "study " << now_.id << " (" << now_.name
              << "): " << now_.state;
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

private:
  trial_event event_of(const trial_view& x) {
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

  study_handle handle_;
  bool named_;
  study_view now_;
  std::uint64_t first_ = 0;      ///< all trials before were told of
  std::set<std::uint64_t> told_; ///< of those from there on
  std::optional<best_so_far> best_;
  std::string waiting_; ///< why, as it was told
};

expected<progress_view> view_of(client& service,
                                const std::vector<followed_study>& studies) {
  progress_view result;
  std::uint64_t shared_steps = 0;
  for (const auto& x : studies) {
    const auto& now = x.now();
    result.studies.push_back({now, front_in_brief(now)});
    result.asked_steps += now.asked_steps;
    shared_steps += now.shared_steps;
    result.saved_device_seconds += now.saved_seconds;
    result.elapsed_seconds = std::max(result.elapsed_seconds,
                                      now.active_seconds);
  }
  result.shared_steps = shared_steps;
  const auto trainers = service.trainers();
  if (!trainers)
    return trainers.failure();
  for (const auto& x : *trainers) {
    if (!x.lost.empty())
      continue;
    trainer_progress y;
    y.number = x.trainer;
    y.busy = x.lease.has_value();
    if (x.lease) {
      y.lanes = x.lease->lanes;
      y.stage = "step " + std::to_string(x.lease->step) + " of "
                + std::to_string(x.lease->to_step);
      y.steps_per_second = x.lease->steps_per_second;
    }
    result.trainers.push_back(std::move(y));
  }
  return result;
}

/// Brings all studies up to date; waits for the first that has not ended.
/// @returns whether all have ended
expected<bool> look_at(std::vector<followed_study>& studies) {
  bool waited = false;
  for (auto& x : studies) {
    if (x.ended())
      continue;
    if (const auto why = x.look(!waited))
      return *why;
    waited = true;
  }
  return std::all_of(studies.begin(), studies.end(),
                     [](const auto& x) { return x.ended(); });
}

} // namespace

int follow(client& service, const std::vector<study_handle>& handles,
           bool quiet) {
  const bool terminal = !quiet && is_terminal(STDERR_FILENO);
  live_display display{std::cerr};
  const auto broken = [&](const error& why) {
    if (terminal)
      display.clear();
    return fail(why, exit_failed);
  };
  std::vector<followed_study> studies;
  for (const auto& x : handles)
    studies.emplace_back(x, handles.size() > 1);
  for (auto& x : studies)
    if (const auto why = x.look(false))
      return broken(*why);
  for (bool ended = false; !ended;) {
    const auto all = look_at(studies);
    if (!all)
      return broken(all.failure());
    ended = *all;
    if (terminal) {
      const auto view = view_of(service, studies);
      if (!view)
        return broken(view.failure());
      display.show(render_progress(
        *view, size_of_terminal(STDERR_FILENO).columns,
        has_colour(STDERR_FILENO)));
    } else if (!quiet) {
      for (auto& x : studies) {
        x.tell_waiting();
        if (const auto why = x.tell_trials())
          return broken(*why);
      }
    }
  }
  bool good = true;
  for (const auto& x : studies) {
    x.tell_end();
    good = good && x.now().state == "COMPLETE";
  }
  return good ? exit_done : exit_failed;
}

} // namespace hippo
