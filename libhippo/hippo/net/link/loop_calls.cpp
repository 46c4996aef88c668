#include "hippo/net/link/loop_calls.hpp"

#include <utility>

namespace hippo {

void loop_calls::post(std::function<void()> call) {
  const std::lock_guard lock{mutex_};
  if (closed_)
    return;
  waiting_.push_back(std::move(call));
  KJ_IF_MAYBE(x, sleeper_) {
    (*x)->fulfill();
    sleeper_ = nullptr;
  }
}

kj::Promise<void> loop_calls::serve() {
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock{mutex_};
    if (waiting_.empty()) {
      auto pair = kj::newPromiseAndCrossThreadFulfiller<void>();
      sleeper_ = kj::mv(pair.fulfiller);
      return pair.promise.then([this] { return serve(); });
    }
    due = std::exchange(waiting_, {});
  }
  for (const auto& x : due)
    x();
  return kj::evalLater([this] { return serve(); });
}

void loop_calls::close() {
  std::vector<std::function<void()>> forgotten;
  const std::lock_guard lock{mutex_};
  closed_ = true;
  forgotten.swap(waiting_);
  sleeper_ = nullptr;
}

} // namespace hippo
