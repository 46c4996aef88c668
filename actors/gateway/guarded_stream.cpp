#include "gateway/guarded_stream.hpp"

#include "gateway/bridge.hpp"

namespace hippo {

guarded_stream::guarded_stream(kj::Own<kj::AsyncIoStream> inner,
                               kj::Timer& timer,
                               std::chrono::milliseconds stall)
  : guarded_stream(kj::mv(inner), timer, stall,
                   kj::newPromiseAndFulfiller<void>()) {}

guarded_stream::guarded_stream(kj::Own<kj::AsyncIoStream> inner,
                               kj::Timer& timer,
                               std::chrono::milliseconds stall,
                               kj::PromiseFulfillerPair<void> stalled)
  : inner_(kj::mv(inner)),
    timer_(timer),
    stall_(stall.count() * kj::MILLISECONDS),
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
  return watch(inner_->write(buffer, size));
}

kj::Promise<void> guarded_stream::write(
  kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  return watch(inner_->write(pieces));
}

kj::Promise<void> guarded_stream::watch(kj::Promise<void> write) {
  ++writes_;
  auto late = timer_.afterDelay(stall_).then([this]() -> kj::Promise<void> {
    const auto why = to_exception(
      {errc::cancelled, "the client does not take what it has asked for"});
    give_up_->reject(kj::cp(why));
    return kj::cp(why);
  });
  return write.exclusiveJoin(kj::mv(late)).attach(kj::defer([this] {
    if (--writes_ > 0)
      return;
    KJ_IF_MAYBE(x, reader_) {
      (*x)->fulfill();
      reader_ = nullptr;
    }
  }));
}

} // namespace hippo
