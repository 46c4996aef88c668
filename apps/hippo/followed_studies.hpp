#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/trial_event.hpp"
#include "hippo/net/client/client.hpp"
#include "hippo/report/progress.hpp"
#include "hippo/service/study/waiting.hpp"

namespace hippo {

/// A study of a service on its way, as clients see it.
class followed_study {
public:
  /// @param named whether lines about its trials name it
  followed_study(study_handle handle, bool named)
    : handle_(std::move(handle)), named_(named) {}

  [[nodiscard]] std::uint64_t id() const { return handle_.id(); }
  [[nodiscard]] bool ended() const { return has_ended(now_); }
  [[nodiscard]] const study_view& now() const { return now_; }

  /// Asks how it goes. @param wait until it has ended, or for a while
  std::optional<error> look(bool wait);

  /// Prints a line for each trial that has ended since the last time.
  std::optional<error> tell_trials();

  /// Says why it waits, if it does and that is news.
  void tell_waiting();

  /// Says how it has ended. REQUIRES: `ended()`
  void tell_end() const;

private:
  trial_event event_of(const trial_view& trial);

  study_handle handle_;
  bool named_;
  study_view now_;
  std::uint64_t first_ = 0;      ///< all trials before were told of
  std::set<std::uint64_t> told_; ///< of those from there on
  std::optional<best_so_far> best_;
  std::string waiting_; ///< why, as it was told
};

/// Makes live views of studies of a service: all programs that show them do
/// here.
class progress_source {
public:
  explicit progress_source(client service) : service_(std::move(service)) {}

  /// Shows these, and all trainers of the service, which are asked for. Why a
  /// study waits is shown once that has lasted.
  expected<progress_view> view_of(const std::vector<followed_study>& studies);

private:
  client service_;
  waiting_notes notes_;
};

} // namespace hippo
