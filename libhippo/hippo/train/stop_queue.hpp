#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/recent_states.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// A stop that training has passed.
struct passed_stop {
  stop_report report;
  /// The state to write before it is reported; null: none.
  std::shared_ptr<const workload_state> state{};
  std::string name{}; ///< of the checkpoint
  durability how = durability::cached;
};

/// How many bytes the states of a lease may have together that wait for being
/// written while it trains on: a trainer that is told to go has to write them
/// first.
inline constexpr std::uint64_t unwritten_bytes_max = 1ull << 30;

/// How many stops of a lease may wait for being reported.
inline constexpr std::size_t untold_stops_max = 256;

/// The stops of a lease between being passed and being reported: their states
/// are written and they are told of in their order, on a thread of its own,
/// while training goes on. A slow store so holds up training only once it is
/// behind by several states.
///
/// One thread adds. What cannot be written ends it: nothing is told of after
/// that.
/// @invariant there is one state, or they have about `unwritten_bytes_max`
///            together, and the device's memory that those which wait take is
///            held in the room for `recent_states`
class stop_queue {
public:
  /// Writes the state, if there is one, and reports the stop. @returns why that
  /// failed. Called on the thread.
  using teller = std::function<std::optional<error>(passed_stop&)>;

  /// REQUIRES: `room` outlives `*this`.
  stop_queue(teller tell, recent_states& room);

  /// Waits until all that was added has been told, or something failed.
  ~stop_queue();

  stop_queue(const stop_queue&) = delete;
  stop_queue& operator=(const stop_queue&) = delete;

  /// Adds a stop if there is room for it now and nothing has failed.
  /// Throws `std::system_error` if there can be no thread.
  /// @returns whether it was added
  bool try_add(passed_stop& stop);

  /// Adds a stop once there is room for it. Throws as `try_add`.
  /// @returns why one before could not be told: then it was not added
  std::optional<error> add(passed_stop& stop);

  /// Waits until nothing is left to tell.
  /// @returns why a stop could not be told, if so
  std::optional<error> finish();

private:
  struct entry {
    passed_stop stop;
    std::uint64_t held = 0;  ///< of the room for recent states
    std::uint64_t bytes = 0; ///< of its state
  };

  bool make_room(const passed_stop& stop, std::uint64_t& held);
  void push(passed_stop& stop, std::uint64_t held);
  void loop();

  const teller tell_;
  recent_states& room_;

  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::deque<entry> stops_; ///< the first one is being told
  std::size_t states_ = 0;  ///< that they have
  std::uint64_t bytes_ = 0; ///< of these, as far as it is known
  std::optional<error> failure_;
  bool closing_ = false;

  std::thread thread_; ///< started with the first stop
};

} // namespace hippo
