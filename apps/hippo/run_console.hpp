#pragma once

#include <unistd.h>

#include <iostream>
#include <string>

#include "hippo/report/progress.hpp"
#include "terminal.hpp"

namespace hippo {

/// Shows how the run goes: in place on a terminal, line by line elsewhere.
class run_console {
public:
  /// @param one_study whether its name need not be said
  run_console(bool quiet, bool one_study)
    : quiet_(quiet),
      terminal_(!quiet_ && is_terminal(STDERR_FILENO)),
      colour_(terminal_ && has_colour(STDERR_FILENO)),
      one_study_(one_study) {}

  [[nodiscard]] bool colour() const noexcept { return colour_; }
  [[nodiscard]] bool wants_view() const noexcept { return terminal_; }

  void show(const progress_view& view) {
    display_.show(
      render_progress(view, size_of_terminal(STDERR_FILENO).columns, colour_));
  }

  void clear() {
    if (terminal_)
      display_.clear();
  }

  void tell(trial_event event) {
    if (quiet_ || terminal_)
      return;
    if (one_study_)
      event.study.clear();
    std::cerr << trial_line(event) << std::endl;
  }

  void say(const std::string& text) {
    if (terminal_)
      display_.print(text);
    else
      std::cerr << text << std::endl;
  }

private:
  bool quiet_;
  bool terminal_;
  bool colour_;
  bool one_study_;
  live_display display_{std::cerr};
};

} // namespace hippo
