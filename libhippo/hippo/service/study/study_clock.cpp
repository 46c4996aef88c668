#include "hippo/service/study/study_clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hippo {

double seconds_until(const study_deadline& deadline, double age, double now) {
  constexpr double most = 1e9; // farther than anything goes on
  return std::min(
    deadline.seconds ? *deadline.seconds - age : deadline.time - now, most);
}

study_clock::study_clock(std::optional<double> seconds_max,
                         std::optional<double> deadline_left, moment now)
  : seconds_max_(seconds_max) {
  if (deadline_left)
    deadline_ = now
                + std::chrono::duration_cast<moment::duration>(
                  std::chrono::duration<double>(*deadline_left));
}

void study_clock::extend_deadline(double seconds) {
  *deadline_ += std::chrono::duration_cast<moment::duration>(
    std::chrono::duration<double>(seconds));
}

std::optional<double> study_clock::seconds_left(moment now) const {
  if (!seconds_max_)
    return std::nullopt;
  return std::max(0.0, *seconds_max_ - active_seconds(now));
}

void study_clock::stop(moment now) {
  booked_ = active_seconds(now);
  active_since_.reset();
}

double study_clock::active_seconds(moment now) const {
  auto result = booked_;
  if (active_since_)
    result += seconds_between(*active_since_, now);
  return result;
}

std::optional<double> study_clock::deadline_left(moment now) const {
  if (!deadline_)
    return std::nullopt;
  return seconds_between(now, *deadline_);
}

std::optional<std::chrono::milliseconds>
study_clock::due_after(moment now, bool has_ended) const {
  std::optional<double> left;
  if (active_since_)
    left = seconds_left(now);
  if (const auto more = deadline_left(now); more && !has_ended)
    left = std::min(left.value_or(*more), *more);
  if (!left)
    return std::nullopt;
  return std::chrono::milliseconds(
    static_cast<std::int64_t>(std::ceil(std::max(0.0, *left) * 1000)));
}

} // namespace hippo
