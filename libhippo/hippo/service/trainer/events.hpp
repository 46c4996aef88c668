#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/log_level.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/net/wire/messages.hpp"

// The events of a trainer, and its effects in answer to them. The caller has a
// number for each owner of a lease.

namespace hippo {

/// The caller's number of an owner: it has given a lease and hears of it. Each
/// lease has a number of its own, from 1.
using owner_number = std::uint64_t;

} // namespace hippo

namespace hippo::trainer_event {

// -- from the service ---------------------------------------------------------

/// A service has been reached: the trainer registers there.
struct connected {
  bool is_same = false; ///< whether it is the one that it has already
  /// Where others of a gang reach it from now on, as `hello` has it; nothing:
  /// where they did before.
  std::optional<std::string> gang{};
};
/// The service is gone.
struct disconnected {
  std::string why;
};
/// The pool has answered a `send_hello`.
struct answered {
  std::uint64_t registration = 0;
  welcome what; ///< a refusal if the answer cannot be read
};
/// The pool has not answered a `send_hello` in time.
struct unanswered {
  std::uint64_t registration = 0;
  std::string why;
};
/// The service treats this trainer as dead: it registers anew.
struct given_up {};
/// The pool has answered a `send_goodbye`, or has not in time.
struct left {
  bool is_last = false; ///< as of the effect
};
/// A lease has come. Its sender has cancelled the leases in its way.
struct leased {
  owner_number owner = 0;
  lease work;
};
/// A lease has come that says nothing this trainer could do.
struct malformed {
  owner_number owner = 0;
  std::optional<lease_id> lease{}; ///< nothing: it cannot be read either
  error why;
};
/// A lease is to stop at one more state.
struct stop_asked {
  stop_request what;
};
/// A lease is to end.
struct cancel_asked {
  lease_id lease{};
};
/// A report is durable, or will never be needed.
struct acked {
  ack what;
};

// -- from the device ----------------------------------------------------------

/// A lease has passed a stop.
struct reported {
  stop_report what;
};
/// A lease has ended.
struct ended {
  lease_end end;
};
/// Likewise, but the device stays stuck in it.
struct stuck {
  lease_end end;
};

// -- from the process and the clock -------------------------------------------

/// The trainer is to end in good order.
struct leave_asked {};
/// Due by a `greet_after`.
struct greeting_due {
  std::uint64_t registration = 0;
};
/// Due by a `beat_after`.
struct beat_due {
  std::uint64_t registration = 0;
};

} // namespace hippo::trainer_event

namespace hippo::trainer_effect {

// -- to the service -----------------------------------------------------------

/// The service that was reached last is the trainer's from now on.
struct watch {};
/// The service that the trainer has is its own no longer.
struct unwatch {};
/// The pool is asked to register the trainer; `answered` or `unanswered`
/// follows.
struct send_hello {
  std::uint64_t registration = 0;
};
/// The pool is sent a heartbeat. The device knows by how much its lease is
/// overdue, and what it has reached beyond `what.at`.
struct send_heartbeat {
  heartbeat what;
};
/// The pool is sent a report that may have been lost.
struct send_resent {
  resent what;
};
/// The pool is told that the trainer is about to end; `left` follows.
struct send_goodbye {
  trainer_id trainer{};
  bool is_last = false; ///< whether nothing runs any more
};
/// The owner of a lease is sent a report.
struct send_report {
  owner_number owner = 0;
  stop_report report;
};
/// The owner of a lease is told that it has ended. If it has begun and failed,
/// the lines of the log since then belong to it.
struct send_end {
  owner_number owner = 0;
  lease_end end;
};
/// The owner hears nothing more: the last effect of each lease.
struct drop_owner {
  owner_number owner = 0;
};

// -- to the device ------------------------------------------------------------

/// The device starts a lease: its lane is free, and whatever else it trains has
/// the same workload key.
struct start_lease {
  owner_number owner = 0;
  lease work;
};
/// A lease that runs stops at one more state.
struct add_stop {
  stop_request what;
};
/// A lease that runs ends after its present step, with a checkpoint.
struct wind_down {
  lease_id lease{};
  step_t begin = 0;
  step_t end = 0;

  /// The stop at which it ends.
  /// @param reached the state that the device has reached
  [[nodiscard]] stop_point stop_after(step_t reached) const {
    return {.at = std::min(std::max(reached, begin) + 1, end),
            .save = true,
            .last = true};
  }
};
/// A lease that runs ends by itself or, if that takes too long, by force.
struct cancel {
  lease_id lease{};
};

// -- to the process, the clock and the log ------------------------------------

/// The trainer ends.
struct quit {
  std::optional<errc> why{}; ///< nothing: in good order
};
/// `greeting_due` is to come after this span.
struct greet_after {
  std::chrono::milliseconds span{0};
  std::uint64_t registration = 0;
};
/// `beat_due` is to come after this span.
struct beat_after {
  std::chrono::milliseconds span{0};
  std::uint64_t registration = 0;
};
/// A line for the log.
struct log_line {
  log_level severity = log_level::info;
  std::string text;
};

} // namespace hippo::trainer_effect

namespace hippo {

using any_trainer_event = std::variant<
  trainer_event::connected, trainer_event::disconnected,
  trainer_event::answered, trainer_event::unanswered, trainer_event::given_up,
  trainer_event::left, trainer_event::leased, trainer_event::malformed,
  trainer_event::stop_asked, trainer_event::cancel_asked, trainer_event::acked,
  trainer_event::reported, trainer_event::ended, trainer_event::stuck,
  trainer_event::leave_asked, trainer_event::greeting_due,
  trainer_event::beat_due>;

using any_trainer_effect =
  std::variant<trainer_effect::watch, trainer_effect::unwatch,
               trainer_effect::send_hello, trainer_effect::send_heartbeat,
               trainer_effect::send_resent, trainer_effect::send_goodbye,
               trainer_effect::send_report, trainer_effect::send_end,
               trainer_effect::drop_owner, trainer_effect::start_lease,
               trainer_effect::add_stop, trainer_effect::wind_down,
               trainer_effect::cancel, trainer_effect::quit,
               trainer_effect::greet_after, trainer_effect::beat_after,
               trainer_effect::log_line>;

} // namespace hippo
