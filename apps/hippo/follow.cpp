#include "follow.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "followed_studies.hpp"
#include "outcome.hpp"
#include "terminal.hpp"

namespace hippo {

namespace {

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
  progress_source source{service};
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
      const auto view = source.view_of(studies);
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
