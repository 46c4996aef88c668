#include "hippo/checkpoint/depot/silence_watch.hpp"

namespace hippo {

silence_watch::silence_watch(kj::Timer& timer, kj::Duration limit)
  : timer_(timer), limit_(limit), last_(timer.now()) {}

void silence_watch::note_received() {
  last_ = timer_.now();
}

kj::Promise<void> silence_watch::expired() {
  return timer_.atTime(last_ + limit_).then([this]() -> kj::Promise<void> {
    if (timer_.now() - last_ >= limit_)
      return kj::READY_NOW;
    return expired();
  });
}

} // namespace hippo
