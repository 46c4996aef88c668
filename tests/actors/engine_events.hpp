#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "engine.hpp"

namespace hippo {

/// Collects events from the engine's thread.
class event_log {
public:
  engine_sink sink() {
    return [this](engine_event x) {
      const std::lock_guard guard{mutex_};
      if (auto* end = std::get_if<lease_end>(&x))
        ends_.push_back(*end);
      else if (auto* stuck = std::get_if<device_stuck>(&x))
        stuck_.push_back(stuck->end);
      else
        reports_.push_back(std::get<stop_report>(x));
      changed_.notify_all();
    };
  }

  lease_end wait_for_end() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return !ends_.empty(); });
    auto result = ends_.front();
    ends_.erase(ends_.begin());
    return result;
  }

  lease_end wait_for_stuck() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return !stuck_.empty(); });
    return stuck_.front();
  }

  std::vector<stop_report> reports() {
    const std::lock_guard guard{mutex_};
    return reports_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<stop_report> reports_;
  std::vector<lease_end> ends_;
  std::vector<lease_end> stuck_;
};

} // namespace hippo
