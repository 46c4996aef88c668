#include "hippo/checkpoint/depot/event_thread.hpp"

#include <exception>

namespace hippo {

event_thread::event_thread() {
  std::promise<void> ready;
  thread_ = std::thread{[&] { loop(ready); }};
  try {
    ready.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

event_thread::~event_thread() {
  stop_->fulfill();
  thread_.join();
}

void event_thread::loop(std::promise<void>& ready) {
  try {
    auto io = kj::setupAsyncIo();
    // Who always has something to say must not keep the loop from the others.
    io.waitScope.setBusyPollInterval(busy_poll_interval);
    auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
    io_ = &io;
    executor_ = kj::getCurrentThreadExecutor().addRef();
    stop_ = kj::mv(stop.fulfiller);
    ready.set_value();
    stop.promise.wait(io.waitScope);
  } catch (...) {
    ready.set_exception(std::current_exception());
  }
}

} // namespace hippo
