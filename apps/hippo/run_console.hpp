#pragma once

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "hippo/report/progress.hpp"
#include "progress_thread.hpp"
#include "terminal.hpp"

namespace hippo {

/// Shows how the run goes: in place on a terminal, line by line elsewhere.
class run_console {
public:
  /// @param address of the run's service, for clients
  /// @param only_study the name that need not be said, of the only study that
  ///                   the run begins with; empty: there are several
  run_console(bool quiet, const std::string& address, std::string only_study)
    : quiet_(quiet), terminal_(!quiet_ && is_terminal(STDERR_FILENO)),
      colour_(terminal_ && has_colour(STDERR_FILENO)),
      only_study_(std::move(only_study)) {
    if (terminal_)
      looks_.emplace(address);
  }

  /// Says which studies there are. @param at_work those that have not ended
  void follow(std::set<study_id> all, std::set<study_id> at_work) {
    if (looks_)
      looks_->follow(std::move(all), std::move(at_work));
  }

  /// Draws what was seen last.
  void draw() {
    auto view = looks_ ? looks_->take() : std::nullopt;
    if (!view)
      return;
    // Of this run, whatever earlier ones have taken.
    view->elapsed_seconds =
      std::chrono::duration<double>(clock::now() - begin_).count();
    display_.show(
      render_progress(*view, size_of_terminal(STDERR_FILENO).columns, colour_));
  }

  /// Takes the view away, and looks no longer.
  void close() {
    looks_.reset();
    if (terminal_)
      display_.clear();
  }

  void tell(trial_event event) {
    if (quiet_ || terminal_)
      return;
    if (event.study == only_study_)
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
  using clock = std::chrono::steady_clock;

  bool quiet_;
  bool terminal_;
  bool colour_;
  std::string only_study_;
  const clock::time_point begin_ = clock::now();
  live_display display_{std::cerr};
  std::optional<progress_thread> looks_; ///< on a terminal
};

} // namespace hippo
