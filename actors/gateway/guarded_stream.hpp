#pragma once

#include <cstddef>
#include <cstdint>

#include <kj/async-io.h>

#include "gateway/client_connection.hpp"
#include "gateway/message_tracker.hpp"

namespace hippo {

/// A connection to somebody who may not read what is sent, or send half of what
/// it says. While anything is on its way to it, nothing more is read from it:
/// who does not take its answers can ask for no more. What has come and gone is
/// told to its `client_connection`, which decides on its time.
class guarded_stream final : public kj::AsyncIoStream {
public:
  /// What is spoken over it.
  enum class speech {
    requests, ///< one, and nothing follows it: whoever serves it says its end
    messages, ///< of Cap'n Proto: one that has begun takes room until it ends
  };

  /// @param message_bytes_max what is longer takes no room, since whoever reads
  ///        it refuses it
  guarded_stream(kj::Own<kj::AsyncIoStream> inner,
                 kj::Own<client_connection> whose, speech how,
                 std::size_t message_bytes_max);

  [[nodiscard]] client_connection& whose() { return *whose_; }

  kj::Promise<size_t> tryRead(void* buffer, size_t min, size_t max) override;
  kj::Promise<void> write(const void* buffer, size_t size) override;
  kj::Promise<void>
  write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override;
  kj::Promise<void> whenWriteDisconnected() override {
    return inner_->whenWriteDisconnected();
  }
  void shutdownWrite() override { inner_->shutdownWrite(); }
  void abortRead() override { inner_->abortRead(); }

private:
  using bytes = kj::ArrayPtr<const kj::byte>;

  /// Returns once there is nothing on its way to the peer, and room for what it
  /// has begun to say.
  kj::Promise<void> may_read();
  kj::Promise<size_t> fill(kj::byte* to, size_t got, size_t min, size_t max);
  void note_read(const kj::byte* from, std::size_t count);
  kj::Promise<void> write_parts(kj::ArrayPtr<const bytes> pieces,
                                std::size_t offset);
  kj::Promise<void> watch(kj::Promise<void> write, std::size_t unwritten);

  kj::Own<kj::AsyncIoStream> inner_;
  kj::Own<client_connection> whose_;
  speech how_;
  std::size_t message_bytes_max_;
  message_tracker messages_;
  held_room half_;           ///< of the message that has begun
  std::uint64_t booked_ = 0; ///< its bytes, as it had announced them then
  std::size_t writes_ = 0;   ///< that are on their way
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> reader_; ///< that waits
};

} // namespace hippo
