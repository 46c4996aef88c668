#pragma once

#include <chrono>
#include <optional>

#include "hippo/service/merge/moment.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Returns the seconds that are left until a deadline, less than 0 if it is
/// over.
/// @param age of the study, in seconds since it was submitted
/// @param now in seconds since 1970
double seconds_until(const study_deadline& deadline, double age, double now);

/// For how long a study has been worked on, and until when it may be.
class study_clock {
public:
  /// @param seconds_max that it may be worked on; nothing: without an end
  /// @param deadline_left seconds until its deadline; nothing: it has none
  study_clock(std::optional<double> seconds_max,
              std::optional<double> deadline_left, moment now);

  /// It was worked on for so long in earlier runs.
  void restore(double seconds) { booked_ = seconds; }
  /// It is worked on from now on.
  void start(moment now) { active_since_ = now; }
  /// It is worked on no longer.
  void stop(moment now);

  /// It may be worked on for longer. REQUIRES: there is an end to it.
  void extend(double seconds) { *seconds_max_ += seconds; }
  /// Its deadline comes later. REQUIRES: it has one.
  void extend_deadline(double seconds);

  [[nodiscard]] bool is_running() const { return active_since_.has_value(); }
  /// For how long it has been worked on.
  [[nodiscard]] double active_seconds(moment now) const;
  /// Less than 0 if its deadline is over; nothing: it has none.
  [[nodiscard]] std::optional<double> deadline_left(moment now) const;

  [[nodiscard]] bool is_at_deadline(moment now) const {
    return deadline_ && now >= *deadline_;
  }
  /// Whether it is worked on, and has been for as long as it may.
  [[nodiscard]] bool is_spent(moment now) const {
    return seconds_max_ && active_since_
           && active_seconds(now) >= *seconds_max_;
  }
  /// The seconds that it may be worked on yet; nothing: without an end.
  [[nodiscard]] std::optional<double> seconds_left(moment now) const;
  /// When one of the two will be, from now on; nothing: never.
  /// @param has_ended whether the study has; its deadline does not matter then
  [[nodiscard]] std::optional<std::chrono::milliseconds>
  due_after(moment now, bool has_ended) const;

private:
  std::optional<double> seconds_max_;
  std::optional<moment> deadline_;
  double booked_ = 0; ///< seconds
  /// Since when it has been worked on, if it is now.
  std::optional<moment> active_since_;
};

} // namespace hippo
