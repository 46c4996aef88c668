#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/ids.hpp"
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

  /// Why something can be trained by none of the trainers that are there;
  /// empty: all can.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }

  /// Why no study goes on, of those that have not ended; empty: one does, or
  /// somebody has paused one.
  [[nodiscard]] const std::string& failing() const { return failing_; }

  /// A study that somebody has paused.
  struct paused_study {
    study_id id{};
    std::string name;
  };
  /// Those, where none of the studies goes on; else none.
  [[nodiscard]] const std::vector<paused_study>& paused() const {
    return paused_;
  }

  /// All studies in memory, and those of them that have not ended.
  [[nodiscard]] const std::set<study_id>& all() const { return all_; }
  [[nodiscard]] const std::set<study_id>& at_work() const { return at_work_; }

private:
  waiting_board board_;
  waiting_notes notes_;
  std::string stuck_;
  std::string failing_;
  std::vector<paused_study> paused_;
  std::set<study_id> all_;
  std::set<study_id> at_work_;
};

} // namespace hippo
