#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/measuring.hpp"
#include "hippo/model/records.hpp"
#include "hippo/service/study/study_books.hpp"
#include "hippo/service/study/study_outbox.hpp"

namespace hippo {

/// How far a study is with doing again what it did in earlier runs.
class study_history {
public:
  /// @param last where it stood then
  study_history(std::vector<stored_event> events, stored_study last)
    : events_(std::move(events)), last_(std::move(last)) {}

  [[nodiscard]] const std::vector<stored_event>& events() const noexcept {
    return events_;
  }
  /// The study has begun.
  void start() { has_started_ = true; }
  [[nodiscard]] bool has_started() const { return has_started_; }
  [[nodiscard]] bool is_over() const { return next_ == events_.size(); }
  /// REQUIRES: not `is_over()`.
  stored_event take_next() { return std::move(events_[next_++]); }
  /// The part that was done again, 0 to 1.
  [[nodiscard]] double progress() const {
    return events_.empty()
             ? 0
             : static_cast<double>(next_) / static_cast<double>(events_.size());
  }
  [[nodiscard]] const stored_study& last() const noexcept { return last_; }

private:
  std::vector<stored_event> events_; ///< in their order
  stored_study last_;
  std::size_t next_ = 0; ///< of `events_`
  bool has_started_ = false;
};

/// Says why an event that was stored cannot be the next one of a study; empty:
/// it can. What is stored is damaged then, and its history is not repeated:
/// what follows would be of another study.
/// @param when as of the tuner
std::string damage_of(const study_input& input, const study_books& books,
                      const study_outbox& unsaved, const measuring& when);

} // namespace hippo
