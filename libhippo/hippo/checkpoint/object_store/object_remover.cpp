#include "hippo/checkpoint/object_store/object_remover.hpp"

#include <chrono>
#include <utility>

#include "hippo/base/backoff.hpp"

namespace hippo {

namespace {

constexpr std::size_t names_max = 100'000;
constexpr std::chrono::milliseconds pause_first{1000};
constexpr std::chrono::milliseconds pause_last{300'000};

} // namespace

object_remover::object_remover(deleter remove,
                               std::function<void(const std::string&)> complain)
  : remove_(std::move(remove)),
    complain_(std::move(complain)),
    thread_([this] { loop(); }) {}

object_remover::~object_remover() {
  {
    const std::lock_guard guard{mutex_};
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void object_remover::remove(std::string name) {
  {
    const std::lock_guard guard{mutex_};
    if (names_.size() >= names_max)
      return;
    names_.push_back(std::move(name));
  }
  changed_.notify_one();
}

void object_remover::loop() {
  backoff pauses{pause_first, pause_last};
  std::unique_lock guard{mutex_};
  for (;;) {
    changed_.wait(guard, [this] { return closing_ || !names_.empty(); });
    if (names_.empty())
      return;
    const auto name = names_.front();
    guard.unlock();
    const auto why = remove_(name);
    guard.lock();
    if (!why) {
      names_.pop_front();
      pauses.reset();
      continue;
    }
    if (!closing_)
      complain_(why->message);
    if (changed_.wait_for(guard, pauses.next(), [this] { return closing_; }))
      return;
  }
}

} // namespace hippo
