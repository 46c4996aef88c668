#include "hippo/checkpoint/depot/chunk_sender.hpp"

#include <algorithm>
#include <utility>

#include "hippo/checkpoint/depot/failure.hpp"

namespace hippo {

namespace {

using outcome = std::optional<error>;

/// Room in a message for all but the chunk, in words.
constexpr std::uint64_t overhead_words = 32;

} // namespace

chunk_sender::chunk_sender(schema::Chunks::Client to, std::uint64_t bytes,
                           source next, silence_watch& watch)
  : to_(kj::mv(to)), left_(bytes), next_(std::move(next)), watch_(watch) {}

kj::Promise<outcome> chunk_sender::send() {
  while (left_ > 0 && unanswered_.size() < window_chunks_max) {
    const auto size = std::min<std::uint64_t>(left_, chunk_bytes_max);
    auto request = to_.putRequest(
      capnp::MessageSize{size / sizeof(capnp::word) + overhead_words, 0});
    auto chunk = request.initChunk(static_cast<unsigned>(size));
    if (auto failed = next_(chunk))
      return outcome{std::move(failed)};
    left_ -= size;
    unanswered_.push_back(
      request.send().then([](auto&& x) { return get_failure(x); }));
  }
  if (unanswered_.empty())
    return outcome{};
  auto oldest = kj::mv(unanswered_.front());
  unanswered_.pop_front();
  return oldest.then([this](outcome failed) -> kj::Promise<outcome> {
    watch_.note_received();
    if (failed)
      return failed;
    return send();
  });
}

} // namespace hippo
