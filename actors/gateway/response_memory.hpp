#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <utility>

#include <kj/async.h>
#include <kj/timer.h>

#include "hippo/base/byte_ledger.hpp"

namespace hippo {

/// Finds room in a ledger for what is held because of clients, and turns at
/// making answers. Who finds none waits, each connection in a line of its own;
/// the one that has had the least of others' time is served first.
///
/// Belongs to one event loop.
class response_memory {
public:
  class line;

  struct limits {
    /// The most that a waiting connection gets, in bytes.
    std::uint64_t most = 0;
    /// Answers that are made at a time. One that takes longer than
    /// `making_time` counts no more: it waits for something else than the turns
    /// of others.
    std::size_t makers = 4;
    kj::Duration making_time = 2 * kj::SECONDS;
  };

  response_memory(const limits& bounds, kj::Timer& timer)
    : limits_(bounds), timer_(timer) {}
  response_memory(const response_memory&) = delete;
  response_memory& operator=(const response_memory&) = delete;

  /// Has those try again who wait: others than this loop may have given
  /// something back.
  void serve();

  /// What connections have had counts half from now on.
  void forget_half();

  /// Whether somebody waits for bytes who holds nothing.
  [[nodiscard]] bool somebody_starves() const;

  /// Calls `call` whenever somebody waits for bytes who holds nothing: it may
  /// have those give back who take nothing of what they hold.
  void on_starving(std::function<void()> call) {
    on_starving_ = std::move(call);
  }

  /// Nobody who waits gets room any more.
  void close() {
    is_closed_ = true;
    on_starving_ = {};
  }

private:
  friend class held_room;

  using makers = std::list<kj::TimePoint>; ///< since when each makes

  [[nodiscard]] bool has_turn() const;

  const limits limits_;
  kj::Timer& timer_;
  std::function<void()> on_starving_;
  bool is_closed_ = false;
  std::list<line*> lines_;
  makers making_;
};

/// Room that was found, and a turn if it was wanted; given back when this ends.
/// REQUIRES: does not outlive its `response_memory`.
class held_room {
public:
  held_room() = default;
  held_room(held_room&& room) noexcept;
  held_room& operator=(held_room&& room) noexcept;
  ~held_room();

  /// The answer is made: the turn is over, the room is kept.
  void end_turn();

  /// As of `byte_booking::resize`.
  std::optional<error> resize(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.bytes(); }

private:
  friend class response_memory::line;

  response_memory* from_ = nullptr;
  byte_booking bytes_;
  std::optional<response_memory::makers::iterator> turn_;
  response_memory::line* whose_ = nullptr; ///< while there is a turn
};

/// One connection's line.
class response_memory::line {
public:
  enum class purpose {
    hold, ///< bytes alone
    make, ///< an answer: a turn as well
  };

  /// @param most that it may hold; one that holds about nothing may have more
  line(response_memory& room, byte_account account, std::uint64_t most);
  /// REQUIRES: it has no turn.
  ~line();
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  /// Waits for room, in the order of asking.
  kj::Promise<held_room> take(std::uint64_t bytes, purpose what);

  /// Takes bytes at once, or fails with `errc::resource_exhausted`.
  expected<held_room> take_now(std::uint64_t bytes);

  /// It is now on behalf of another party.
  void move_to(byte_account account) { account_ = std::move(account); }

  [[nodiscard]] const byte_account& account() const { return account_; }

private:
  friend class response_memory;
  friend class held_room;

  struct asked {
    std::uint64_t bytes;
    purpose what;
    kj::Own<kj::PromiseFulfiller<held_room>> who;
  };

  /// Serves the first one who waits. @returns whether there was room
  bool serve_first();
  /// Whether it holds no more than each connection does.
  [[nodiscard]] bool holds_nothing() const;
  /// Whether its first one waits for bytes, and it holds none.
  [[nodiscard]] bool starves() const;
  /// Finds room and a turn, within what it may hold.
  std::optional<held_room> find(std::uint64_t bytes, purpose what);

  response_memory& room_;
  byte_account account_;
  const std::uint64_t most_;
  kj::Duration had_ = 0 * kj::SECONDS; ///< of turns, lately
  std::deque<asked> asked_;
};

} // namespace hippo
