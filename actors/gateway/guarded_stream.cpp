#include "gateway/guarded_stream.hpp"

#include <utility>

#include "gateway/bridge.hpp"

namespace hippo {

guarded_stream::guarded_stream(kj::Own<kj::AsyncIoStream> inner,
                               kj::Timer& timer,
                               std::chrono::milliseconds stall,
                               std::function<void(std::size_t)> written)
  : guarded_stream(kj::mv(inner), timer, stall, std::move(written),
                   kj::newPromiseAndFulfiller<void>()) {}

guarded_stream::guarded_stream(kj::Own<kj::AsyncIoStream> inner,
                               kj::Timer& timer,
                               std::chrono::milliseconds stall,
                               std::function<void(std::size_t)> written,
                               kj::PromiseFulfillerPair<void> stalled)
  : inner_(kj::mv(inner)),
    timer_(timer),
    stall_(stall.count() * kj::MILLISECONDS),
    written_(std::move(written)),
    stalled_(stalled.promise.fork()),
    give_up_(kj::mv(stalled.fulfiller)) {}

kj::Promise<size_t> guarded_stream::tryRead(void* buffer, size_t min,
                                            size_t max) {
  if (writes_ == 0)
    return inner_->tryRead(buffer, min, max);
  auto idle = kj::newPromiseAndFulfiller<void>();
  reader_ = kj::mv(idle.fulfiller);
  return idle.promise.then(
    [this, buffer, min, max] { return tryRead(buffer, min, max); });
}

kj::Promise<void> guarded_stream::write(const void* buffer, size_t size) {
  return watch(inner_->write(buffer, size), size);
}

kj::Promise<void> guarded_stream::write(
  kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  std::size_t bytes = 0;
  for (const auto& x : pieces)
    bytes += x.size();
  return watch(inner_->write(pieces), bytes);
}

kj::Promise<void> guarded_stream::watch(kj::Promise<void> write,
                                        std::size_t bytes) {
  ++writes_;
  auto late = timer_.afterDelay(stall_).then([this]() -> kj::Promise<void> {
    const auto why = to_exception(
      {errc::cancelled, "the client does not take what it has asked for"});
    give_up_->reject(kj::cp(why));
    return kj::cp(why);
  });
  auto done = write.then([this, bytes] {
    if (written_)
      written_(bytes);
  });
  return done.exclusiveJoin(kj::mv(late)).attach(kj::defer([this] {
    if (--writes_ > 0)
      return;
    KJ_IF_MAYBE(x, reader_) {
      (*x)->fulfill();
      reader_ = nullptr;
    }
  }));
}

} // namespace hippo
