#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/backoff.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/trainer/events.hpp"

namespace hippo {

/// The most reports that a trainer keeps until they are acknowledged; beyond
/// that, it forgets the oldest, and what they say is trained again if need be.
inline constexpr std::size_t unacknowledged_max = 10'000;

/// Decides for a trainer: where it is registered, what its device trains, and
/// whom it tells of that. Events in, effects out.
///
/// A pure state machine: the same events at the same moments give the same
/// effects. Holds no clock, no thread and no I/O.
///
///     away --connected--> greeting --answered--> idle <--ended-- training
///      ^                    ^                     \---leased---->/ (each lane)
///      |                    \------given_up--------|
///      \-----------------disconnected--------------/
///
/// It leaves when it is asked to, and when its device is stuck: then the
/// process must start anew; the engine tells the program that runs it.
///
/// Whenever it loses its registration, the leases that run are asked to save
/// after their present steps; reports that nobody has acknowledged are sent
/// again after the next welcome. It quits when a pool refuses it, and when it
/// has taken leave.
///
/// @invariant it has a number, or waits for one, only at a service, and never
///            both
/// @invariant a lease waits or runs, never both; all that run have the same
///            workload key but for its seed, and a lane each
/// @invariant a lease waits only for one that runs; none does once it leaves
/// @invariant every lease has an owner of its own, which is dropped once, after
///            one `send_end` at most
class trainer_core {
public:
  using effects = std::vector<any_trainer_effect>;

  /// @param self_description what it registers as, as of `begun`
  trainer_core(hello self_description, moment begun);

  /// Takes in what happens. @returns what is to be done about it, in this order
  /// @param now not before that of the last event
  effects apply(any_trainer_event event, moment now);

  // -- looking ----------------------------------------------------------------

  /// As of the last event: its time limit comes closer.
  [[nodiscard]] hello self_description() const;
  /// The leases that the device has.
  [[nodiscard]] std::vector<lease_id> running() const;

  /// Asserts the invariants. Does nothing in release builds.
  void check_invariants() const;

private:
  /// A lease, and under which registration it came.
  struct task {
    lease work;
    std::string key; ///< of its workload
    owner_number owner = 0;
    std::uint64_t registration = 0;

    /// Whether one of two must have ended before the other one can start.
    [[nodiscard]] bool excludes(const task& other) const {
      return work.lane == other.work.lane || key != other.key
             || work.number == other.work.number;
    }
  };

  // -- events -----------------------------------------------------------------

  void on(trainer_event::connected& event);
  void on(trainer_event::disconnected& event);
  void on(trainer_event::answered& event);
  void on(trainer_event::unanswered& event);
  void on(trainer_event::given_up& event);
  void on(trainer_event::left& event);
  void on(trainer_event::leased& event);
  void on(trainer_event::malformed& event);
  void on(trainer_event::stop_asked& event);
  void on(trainer_event::cancel_asked& event);
  void on(trainer_event::acked& event);
  void on(trainer_event::reported& event);
  void on(trainer_event::ended& event);
  void on(trainer_event::stuck& event);
  void on(trainer_event::leave_asked& event);
  void on(trainer_event::greeting_due& event);
  void on(trainer_event::beat_due& event);

  // -- the registration -------------------------------------------------------

  void greet();
  void be_away();
  void register_anew();
  void be_welcome(const welcome& what);
  void leave();
  void go();
  void say_goodbye();
  void beat();
  void send_heartbeat(lease_id lease, step_t at);
  [[nodiscard]] bool is_registered() const { return number_ != trainer_id{}; }
  [[nodiscard]] bool is_current(const task& which) const {
    return which.registration == registrations_;
  }

  // -- leases -----------------------------------------------------------------

  void start_waiting();
  [[nodiscard]] bool is_hindered(const task& which) const;
  void start(task begun);
  void hand_back(const task& which);
  void end(lease_end what);
  void wind_down();

  void log(log_level severity, std::string text);

  hello self_description_; ///< as of `begun_`
  moment begun_;
  bool has_service_ = false;
  trainer_id number_{};             ///< given by the pool; 0: unregistered
  std::uint64_t registrations_ = 0; ///< tried so far
  bool greets_ = false;             ///< waits for the answer to the last one
  std::chrono::milliseconds heartbeat_interval_{0};
  std::uint64_t heartbeats_ = 0;
  backoff greeting_;
  bool leaving_ = false;
  std::map<lease_id, task> running_; ///< by the number of the lease
  std::vector<task> waiting_;
  std::deque<resent> unacknowledged_; ///< oldest first

  moment now_;
  effects effects_; ///< of the present event
};

} // namespace hippo
