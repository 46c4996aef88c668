#include "training_thread.hpp"

#include <chrono>
#include <utility>

namespace hippo {

namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch())
      .count());
}

} // namespace

training_thread::training_thread(workload_registry registry, std::string device,
                                 checkpoint_store_factory stores)
  : registry_(std::move(registry)),
    device_(std::move(device)),
    stores_(std::move(stores)),
    thread_([this] { loop(); }) {}

training_thread::~training_thread() {
  {
    std::lock_guard guard{mutex_};
    closing_ = true;
    if (control_)
      control_->cancel();
  }
  changed_.notify_one();
  thread_.join();
}

void training_thread::start(const lease& x, engine_sink sink) {
  std::lock_guard guard{mutex_};
  control_ = std::make_shared<lease_control>(x.stops);
  running_ = x.number;
  progress_.at = x.stages.front().begin; // until the thread takes it up
  next_ = job{x, std::move(sink), control_};
  changed_.notify_one();
}

void training_thread::add_stop(std::uint64_t lease, const stop_point& stop) {
  std::lock_guard guard{mutex_};
  if (running_ == lease)
    control_->add(stop);
}

void training_thread::cancel(std::uint64_t lease) {
  std::lock_guard guard{mutex_};
  if (running_ == lease)
    control_->cancel();
}

lease_end training_thread::train(const job& x) {
  const auto store = stores_(x.work);
  if (!made_ || x.work.workload != spec_) {
    made_.reset(); // two at a time may not fit
    present_.reset();
    auto made = make_workload(registry_, x.work, *store);
    if (!made)
      return {x.work.number, x.work.stages.front().begin, made.failure()};
    made_ = std::move(*made);
    spec_ = x.work.workload;
  }
  return run(*made_->work, present_, x.work, *store, device_, *x.control,
             progress_, now_ns,
             [&](const stop_report& report) { x.sink(report); });
}

void training_thread::loop() {
  for (;;) {
    job x;
    {
      std::unique_lock guard{mutex_};
      changed_.wait(guard, [this] { return closing_ || next_; });
      if (closing_)
        return;
      x = std::move(*next_);
      next_.reset();
    }
    auto end = train(x);
    {
      std::lock_guard guard{mutex_};
      if (running_ == x.work.number)
        running_ = 0;
    }
    x.sink(std::move(end));
  }
}

} // namespace hippo
