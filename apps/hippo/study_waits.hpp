#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "hippo/report/progress.hpp"
#include "hippo/service/study/answers.hpp"
#include "hippo/service/study/waiting.hpp"
#include "hippo/store/waiting_board.hpp"
#include "service.hpp"

namespace hippo {

/// For what the studies of a service in this process wait.
class study_waits {
public:
  /// @param board where those see it who look into the state folder
  explicit study_waits(waiting_board board) : board_(std::move(board)) {}

  /// Asks the actors of the service. Says what is news; see `waiting_notes`.
  void look(service& actors, const std::function<void(std::string)>& say);

  /// For what a study waits, if that has lasted; empty: for nothing.
  [[nodiscard]] std::string shown(const std::string& study) const {
    return notes_.shown(study);
  }

  /// Returns the progress of a study, with what it waits for.
  [[nodiscard]] study_progress progress_of(const study_status& study) const;

  /// Why something can be trained by none of the trainers that are there;
  /// empty: all can.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }

  /// Why no study goes on, of those that have not ended; empty: one does.
  [[nodiscard]] const std::string& paused() const { return paused_; }

private:
  waiting_board board_;
  waiting_notes notes_;
  std::string stuck_;
  std::string paused_;
};

} // namespace hippo
