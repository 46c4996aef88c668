#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <kj/async-io.h>
#include <kj/timer.h>

namespace hippo {

/// A connection to somebody who may not read what is sent. While anything is on
/// its way to it, nothing more is read from it: who does not take its answers
/// can ask for no more. Who takes nothing for too long is given up.
class guarded_stream final : public kj::AsyncIoStream {
public:
  /// @param stall how long one write may take
  /// REQUIRES: `timer` outlives this.
  /// @param written is told of each write that is done, in bytes; may be null
  guarded_stream(kj::Own<kj::AsyncIoStream> inner, kj::Timer& timer,
                 std::chrono::milliseconds stall,
                 std::function<void(std::size_t)> written = nullptr);

  /// Fails once a write has taken too long.
  kj::Promise<void> stalled() { return stalled_.addBranch(); }

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
  guarded_stream(kj::Own<kj::AsyncIoStream> inner, kj::Timer& timer,
                 std::chrono::milliseconds stall,
                 std::function<void(std::size_t)> written,
                 kj::PromiseFulfillerPair<void> stalled);

  kj::Promise<void> watch(kj::Promise<void> write, std::size_t bytes);

  kj::Own<kj::AsyncIoStream> inner_;
  kj::Timer& timer_;
  kj::Duration stall_;
  std::function<void(std::size_t)> written_;
  kj::ForkedPromise<void> stalled_;
  kj::Own<kj::PromiseFulfiller<void>> give_up_;
  std::uint64_t writes_ = 0; ///< that are on their way
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> reader_; ///< that waits
};

} // namespace hippo
