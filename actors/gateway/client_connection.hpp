#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <kj/async.h>
#include <kj/refcount.h>

#include "gateway/connection_clock.hpp"
#include "gateway/connection_slots.hpp"
#include "gateway/response_memory.hpp"
#include "hippo/base/error.hpp"

namespace hippo {

/// What a client's connection costs: its slot, its time, and what is held
/// because of it. Whoever serves it tells it what happens; it says when it has
/// to go.
///
/// Belongs to one event loop.
class client_connection final : public kj::Refcounted {
public:
  /// What it is told by its loop.
  struct setup {
    connection_slots::number number = 0;
    bool is_spare = false; ///< there was no slot for it
    std::string address;   ///< for the log
    std::string party;     ///< by its address
    std::uint64_t held_max = 0; ///< bytes, beyond which its calls wait
  };
  /// @param held of all whom nobody vouches for
  /// REQUIRES: `slots`, of which it has one, and `room` outlive it.
  client_connection(setup arguments, connection_slots& slots,
                    response_memory& room, byte_account held,
                    const connection_times& times);
  KJ_DISALLOW_COPY(client_connection);

  // -- what happens -----------------------------------------------------------

  void note_let_in() { clock_.note_let_in(); }
  /// It has said who it is, or what it asks.
  void note_greeted();
  /// It is known who it is: what it costs from now on is on that account.
  void note_identity(const std::string& who);
  void note_request_begun() { clock_.note_request_begun(); }
  void note_request_ended() { clock_.note_request_ended(); }
  void note_paused(bool yes) { clock_.note_paused(yes); }
  void note_read(std::size_t bytes);
  void note_unwritten(std::size_t bytes);
  void note_written(std::size_t bytes);
  /// Something is being done for it, until `end_work`.
  void begin_work();
  void end_work();

  /// A beat has passed. It may have to go.
  void beat();

  // -- what is held because of it ---------------------------------------------

  /// Where it waits for room.
  [[nodiscard]] response_memory::line& line() { return line_; }
  /// An answer is made, of so many bytes, and on its way: its room is given
  /// back as they are written. Answers are written in the order of this.
  void post(held_room room, std::size_t bytes);
  /// Of the answers that are made and not taken.
  [[nodiscard]] std::size_t posted_bytes() const { return posted_bytes_; }
  [[nodiscard]] std::uint64_t held() const { return line_.account().held(); }

  // -- its end ----------------------------------------------------------------

  /// Has it go.
  void let_go(const error& why);
  /// Fails once it has to go.
  kj::Promise<void> gone() { return gone_.addBranch(); }
  [[nodiscard]] bool has_to_go() const { return has_to_go_; }
  [[nodiscard]] bool has_been_answered() const { return has_been_answered_; }

  [[nodiscard]] bool is_spare() const { return setup_.is_spare; }
  [[nodiscard]] connection_slots::number number() const {
    return setup_.number;
  }
  [[nodiscard]] const std::string& address() const { return setup_.address; }
  /// As of `connection_clock::is_behind`.
  [[nodiscard]] bool is_behind() const { return clock_.is_behind(); }

private:
  client_connection(setup arguments, connection_slots& slots,
                    response_memory& room, byte_account held,
                    const connection_times& times,
                    kj::PromiseFulfillerPair<void> gone);
  [[nodiscard]] byte_account account_of(const std::string& party) const;

  const setup setup_;
  connection_slots& slots_;
  const byte_account all_held_;
  response_memory::line line_;
  connection_clock clock_;
  struct posted_answer {
    held_room room;
    std::size_t unwritten = 0; ///< bytes
  };
  std::deque<posted_answer> posted_;
  std::size_t posted_bytes_ = 0; ///< of these, unwritten
  std::size_t works_ = 0; ///< that are being done for it
  bool has_to_go_ = false;
  bool has_been_answered_ = false; ///< or an answer has begun
  kj::ForkedPromise<void> gone_;
  kj::Own<kj::PromiseFulfiller<void>> go_;
};

/// Returns the connection to close when memory is short: of those that are slow
/// to release their memory, the one that holds the most; null if none is slow.
client_connection* slow_holder(const std::vector<client_connection*>& all);

} // namespace hippo
