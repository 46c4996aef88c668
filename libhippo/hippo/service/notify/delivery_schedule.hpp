#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/backoff.hpp"
#include "hippo/model/records.hpp"
#include "hippo/net/http/http.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/store/notification_table.hpp"

namespace hippo {

/// The outcome of an attempt to post a notification.
struct post_outcome {
  enum class kind : std::uint8_t {
    accepted, ///< the receiver has it
    deferred, ///< it may be accepted later
    refused   ///< it never will be
  };
  kind how = kind::accepted;
  std::string trouble{}; ///< why it was not accepted
};

/// Judges an answer: 2xx is accepted; no answer, 408, 425, 429 and 5xx are
/// deferred; all else, redirections too, and an address that may not be reached
/// are refused.
post_outcome outcome_of(const http_answer& answer);

/// The times of a `delivery_schedule`.
struct delivery_limits {
  std::chrono::milliseconds first_wait{5'000};    ///< after a failure
  std::chrono::milliseconds last_wait{3'600'000}; ///< after many
  /// Between two notifications of the best of a study.
  std::chrono::milliseconds best_interval{60'000};
  std::chrono::hours give_up_after{72}; ///< from the first attempt on
};

/// The order in which notifications are posted, as a pure state machine: one at
/// a time to each host, with growing waits after failures, so that a host that
/// hangs or refuses delays nobody else.
///
/// @invariant no more than one notification is on its way to a host
/// @complexity O(due + hosts) for each call
class delivery_schedule {
public:
  delivery_schedule() = default;
  explicit delivery_schedule(delivery_limits limits) : limits_(limits) {}

  /// Says what is due by now, in place of what was.
  void set_due(std::vector<due_notification> all) { due_ = std::move(all); }

  /// Returns the next one to post, which is on its way until `note`. Hosts
  /// without failures come first, then those whose last attempt is longest ago.
  std::optional<due_notification> take(moment now);

  /// The attempt of what was taken has ended.
  /// @returns the record that settles it, unless it is tried again
  std::optional<notification_settled> note(const due_notification& what,
                                           const post_outcome& how, moment now);

  /// Whether anything is due that was not tried, or not since it has happened
  /// again.
  [[nodiscard]] bool has_untried() const;

private:
  using key = std::pair<study_id, notify_event>;
  struct host_state {
    bool is_busy = false;
    std::uint64_t failures = 0; ///< in a row
    moment last{};              ///< end of the last attempt
    moment not_before{};
    backoff waits;
  };
  struct attempts {
    std::uint64_t number = 0; ///< of the notification
    moment first{};           ///< attempt
  };
  [[nodiscard]] bool is_settled(const due_notification& what) const;
  [[nodiscard]] bool may_be_posted(const due_notification& what,
                                   moment now) const;
  host_state& host_of(const std::string& url);

  delivery_limits limits_{};
  std::vector<due_notification> due_;
  std::map<std::string, host_state> hosts_;
  std::map<key, attempts> tried_; ///< those that were not accepted yet
  /// The numbers of those that were settled; `due_` may still have them.
  std::map<key, std::uint64_t> settled_;
  std::map<key, moment> posted_; ///< when the last one was
};

} // namespace hippo
