#include "gateway/commit_watcher.hpp"

#include <algorithm>

namespace hippo {

std::uint64_t commit_watcher::version() {
  const auto result = store_->data_version();
  return result ? *result : 0;
}

kj::Promise<void> commit_watcher::after(std::uint64_t version,
                                        kj::TimePoint deadline) {
  auto pair = kj::newPromiseAndFulfiller<void>();
  waiters_.push_back({version, kj::mv(pair.fulfiller)});
  if (!looking_) {
    looking_ = true;
    task_ = look().eagerlyEvaluate(nullptr);
  }
  return pair.promise.exclusiveJoin(timer_.atTime(deadline));
}

kj::Promise<void> commit_watcher::look() {
  const auto now = version();
  std::erase_if(waiters_, [&](waiter& x) {
    if (x.version != now)
      x.wake->fulfill();
    return !x.wake->isWaiting(); // woken, or has given up
  });
  if (waiters_.empty()) {
    looking_ = false;
    return kj::READY_NOW;
  }
  return timer_.afterDelay(look_interval.count() * kj::MILLISECONDS)
    .then([this] { return look(); });
}

} // namespace hippo
