#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <kj/async-io.h>

#include "hippo/base/byte_ledger.hpp"
#include "hippo/net/link/frame.hpp"
#include "hippo/net/link/frame_decoder.hpp"
#include "hippo/net/link/link_watch.hpp"

namespace hippo {

/// One end of a connection that carries frames. What it holds is bounded, both
/// ways: nothing more is read from the peer while what it has sent before is
/// not worked through, and from a trainer while it does not take what is sent
/// to it. A trainer goes on reading, or both could wait for each other.
///
/// With an account, what is more than a little of what has come is booked: a
/// message that is not complete, and those that are not worked through. Where
/// the first is beyond the peer's share it is let go; where the latter are,
/// nothing more is read for now.
///
/// Belongs to the event loop of its stream.
class framed_connection {
public:
  /// Is asked for room in an account; returns whether it has made any.
  using room_maker = std::function<bool()>;

  /// @param peer the side at the other end
  /// @param account where what has come is booked; nothing: nowhere
  /// @param make_room may be null
  framed_connection(kj::Own<kj::AsyncIoStream> stream, link_side peer,
                    const link_limits& limits,
                    std::optional<byte_account> account = std::nullopt,
                    room_maker make_room = nullptr);
  framed_connection(const framed_connection&) = delete;
  framed_connection& operator=(const framed_connection&) = delete;

  /// Greets the peer and goes on until one side ends the connection. Called
  /// once.
  ///
  /// The promise fails if the connection is lost or the peer is let go, with
  /// one clause about it.
  /// @param greeted is called when the peer has greeted, too; may be null
  /// @param take gets each of its frames
  /// REQUIRES: `*this` outlives the promise.
  kj::Promise<void> run(std::function<void()> greeted,
                        std::function<void(frame)> take);

  /// Sends a frame after those before; drops it if the connection is ending.
  void send(frame frame);

  /// So much of what `take` got has been worked through.
  void give_back(std::size_t frames, std::size_t bytes);

  /// Ends the connection once all that was sent is on its way.
  void finish();

  /// Lets the peer go.
  void fail(const std::string& why);

  /// Gives back what is booked for it. REQUIRES: it was let go.
  void let_go() { booked_ = {}; }

  /// Called at every beat.
  void beat();

  /// For how long the message has been coming that is not complete, in beats,
  /// if it is booked; nothing: there is none.
  [[nodiscard]] std::optional<unsigned> beats_begun() const noexcept;

private:
  /// Books what is held now. @returns why that is not possible
  std::optional<error> book();
  /// The booked bytes of a message that is not complete.
  [[nodiscard]] std::size_t begun_bytes() const noexcept;
  void make_input();
  kj::Promise<void> read();
  kj::Promise<void> write();
  [[nodiscard]] bool is_paused() const noexcept;
  void read_on();
  /// Takes the next bytes from what waits to be sent.
  void fill();
  void wake_writer();

  kj::Own<kj::AsyncIoStream> stream_;
  const link_side peer_;
  const link_limits limits_;
  link_watch watch_;
  frame_decoder decoder_;
  std::function<void()> greeted_; ///< null: nobody waits for that
  std::function<void(frame)> take_;

  std::optional<byte_account> account_;
  room_maker make_room_;
  byte_booking booked_;
  bool is_beyond_ = false; ///< whether what is not worked through is unbooked

  kj::Array<kj::byte> input_;
  std::vector<frame> frames_; ///< that were just read
  std::size_t unread_frames_ = 0;
  std::size_t unread_bytes_ = 0;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> reader_; ///< that waits

  std::deque<frame> outbox_;
  std::size_t written_ = 0; ///< bytes of the first one
  std::vector<kj::byte> output_; ///< being written
  std::size_t unsent_bytes_ = 0;
  bool is_finishing_ = false;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> writer_; ///< that waits

  kj::PromiseFulfillerPair<void> failure_
    = kj::newPromiseAndFulfiller<void>();
};

/// Says in one clause why a connection has ended.
std::string explain_end(const kj::Exception& why);

} // namespace hippo
