#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include <kj/array.h>
#include <kj/async.h>

#include "depot.capnp.h"
#include "hippo/base/error.hpp"
#include "hippo/checkpoint/depot/silence_watch.hpp"

namespace hippo {

/// Largest part of a checkpoint that travels as one message: 1 MiB.
inline constexpr std::size_t chunk_bytes_max = 1 << 20;

/// How many chunks of a checkpoint may be on their way unanswered.
inline constexpr std::size_t window_chunks_max = 8;

/// Sends the bytes of a checkpoint to who takes them, in chunks, and never more
/// than a window ahead of the answers.
class chunk_sender {
public:
  /// Fills a chunk with the next bytes, or says why it cannot.
  using source = std::function<std::optional<error>(kj::ArrayPtr<kj::byte>)>;

  /// @param bytes how many to send
  /// @param watch is notified of every answer
  /// REQUIRES: `watch` outlives `*this`.
  chunk_sender(schema::Chunks::Client to, std::uint64_t bytes, source next,
               silence_watch& watch);

  /// Sends everything.
  /// @returns a promise of nothing once all of it has been taken, or of the
  ///          first failure, of the source or of the receiver; it breaks if the
  ///          connection does
  /// REQUIRES: called once; `*this` outlives the promise.
  kj::Promise<std::optional<error>> send();

private:
  schema::Chunks::Client to_;
  std::uint64_t left_;
  source next_;
  silence_watch& watch_;
  std::deque<kj::Promise<std::optional<error>>> unanswered_;
};

} // namespace hippo
