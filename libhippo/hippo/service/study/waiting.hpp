#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "hippo/model/records.hpp"

namespace hippo {

/// All that may keep a study from being trained. Plain data.
struct waiting_facts {
  study_phase state = study_phase::running;
  std::string reason;  ///< of its pause; empty: somebody wants it so
  double caught_up = 1; ///< as of `study_status`
  std::string trouble; ///< why nothing can be stored; empty: it can
  std::size_t trainers = 0; ///< that are there
  std::size_t sick = 0;     ///< of these, that rest for what they failed at
  std::string illness;      ///< of one of these
  std::size_t held_up = 0;  ///< that have yet to return from a call
  std::string hold_up;      ///< of one of these
  std::string stuck;    ///< why none of them can train it; empty: one can
  std::string hindered; ///< why those that could do not get on; empty: they do
};

/// Says what a study waits for, and what helps; empty: for nothing. Whatever
/// shows a study asks here.
std::string waiting_for(const waiting_facts& facts);

/// For what a study waits that is yet to be read.
inline constexpr auto being_read_text
  = "what is stored of it, or of its plan, is being read";

/// Tells people for what studies wait: once it has lasted, again if it changes,
/// and when they go on. Holds no clock.
class waiting_notes {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// So long something may be in the way without a word: at the beginning
  /// trainers are yet to come.
  static constexpr std::chrono::seconds patience{5};
  /// The interval at which values that change all the time are told.
  static constexpr std::chrono::seconds pause{60};

  /// Takes in for what each study waits; empty, or not there: for nothing.
  /// @returns what is news of it, a sentence each
  std::vector<std::string>
  note(const std::map<std::string, std::string>& waits, time_point now);

  /// For what a study waits, if that has lasted; empty: for nothing.
  [[nodiscard]] std::string shown(const std::string& study) const;

private:
  struct entry {
    time_point since;
    time_point told_at;
    std::string told; ///< empty: nothing yet
    std::string present;
  };
  std::map<std::string, entry> waiting_; ///< by study
};

} // namespace hippo
