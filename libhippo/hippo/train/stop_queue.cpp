#include "hippo/train/stop_queue.hpp"

#include <utility>

namespace hippo {

stop_queue::stop_queue(teller tell, recent_states& room)
  : tell_(std::move(tell)), room_(room) {}

stop_queue::~stop_queue() {
  {
    const std::lock_guard guard{mutex_};
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

bool stop_queue::try_add(passed_stop& stop) {
  const std::lock_guard guard{mutex_};
  std::uint64_t held = 0;
  if (failure_ || !make_room(stop, held))
    return false;
  push(stop, held);
  return true;
}

std::optional<error> stop_queue::add(passed_stop& stop) {
  std::unique_lock guard{mutex_};
  std::uint64_t held = 0;
  changed_.wait(guard, [&] { return failure_ || make_room(stop, held); });
  if (!failure_)
    push(stop, held);
  return failure_;
}

std::optional<error> stop_queue::finish() {
  std::unique_lock guard{mutex_};
  changed_.wait(guard, [this] { return stops_.empty(); });
  return failure_;
}

/// REQUIRES: the mutex is held.
bool stop_queue::make_room(const passed_stop& stop, std::uint64_t& held) {
  if (stops_.size() >= untold_stops_max)
    return false;
  if (!stop.state || states_ == 0)
    return true;
  const auto bytes = stop.state->content_size();
  if (bytes == 0 || bytes_ > unwritten_bytes_max
      || bytes > unwritten_bytes_max - bytes_
      || !room_.hold(stop.state->size()))
    return false;
  held = stop.state->size();
  return true;
}

/// REQUIRES: the mutex is held.
void stop_queue::push(passed_stop& stop, std::uint64_t held) {
  if (!thread_.joinable())
    thread_ = std::thread{[this] { loop(); }};
  const auto bytes = stop.state ? stop.state->content_size() : 0;
  states_ += stop.state != nullptr;
  bytes_ += bytes;
  stops_.push_back({std::move(stop), held, bytes});
  changed_.notify_all();
}

void stop_queue::loop() {
  std::unique_lock guard{mutex_};
  for (;;) {
    changed_.wait(guard, [this] { return closing_ || !stops_.empty(); });
    if (stops_.empty())
      return;
    auto& [stop, held, bytes] = stops_.front();
    room_.release(std::exchange(held, 0));
    const bool has_state = stop.state != nullptr;
    guard.unlock();
    auto failure = tell_(stop);
    guard.lock();
    states_ -= has_state;
    bytes_ -= bytes;
    stops_.pop_front();
    if (failure) {
      for (const auto& x : stops_)
        room_.release(x.held);
      stops_.clear();
      states_ = 0;
      bytes_ = 0;
      failure_ = std::move(failure);
    }
    changed_.notify_all();
  }
}

} // namespace hippo
