#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <vector>

#include "hippo/model/records.hpp"
#include "hippo/service/study/events.hpp"
#include "hippo/service/study/trials.hpp"

namespace hippo {

/// The wishes of people and clients: commands that are being stored, and trials
/// that are on their way to a state.
class study_requests {
public:
  /// A command that is being stored.
  struct stored_command {
    study_token from{};
    std::optional<step_t> trained_to{}; ///< whoever asked waits for this state
    study_command::verb what{};
  };

  /// A command is to be stored. @returns its number (`study_command::token`)
  std::uint64_t add(const stored_command& command);
  /// A command is stored. @returns who waits for it, if anybody does
  std::optional<stored_command> take(std::uint64_t number);
  /// Whether one of these commands is being stored.
  [[nodiscard]] bool
  is_storing(std::initializer_list<study_command::verb> xs) const;

  /// Somebody waits for a state of a trial.
  void wait(trial_no trial, step_t to, study_token from);
  struct waiter {
    step_t to = 0;
    study_token from{};
    friend bool operator==(const waiter&, const waiter&) = default;
  };
  /// Takes out those who wait for a state of a trial that it has come to.
  /// @param is_there whether it has come to a state
  template <class Predicate>
  std::vector<waiter> take_waiters(trial_no trial, Predicate&& is_there) {
    std::vector<waiter> result;
    const auto [first, last] = waiters_.equal_range(trial);
    for (auto i = first; i != last;)
      if (is_there(i->second.to)) {
        result.push_back(i->second);
        i = waiters_.erase(i);
      } else {
        ++i;
      }
    return result;
  }

  [[nodiscard]] const std::multimap<trial_no, waiter>&
  waiters() const noexcept {
    return waiters_;
  }

private:
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, stored_command> commands_; ///< by number
  std::multimap<trial_no, waiter> waiters_;
};

} // namespace hippo
