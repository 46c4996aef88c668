#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace hippo {

/// Values that are costly to make and never change, such as data: all that ask
/// for one key have one value between them, as long as anyone has it.
/// Thread-safe; while one makes a value, whoever asks for the same one waits.
template <class T>
class shared_values {
public:
  /// @param make returns the value, shared; if it throws, so does this
  template <class Make>
  std::shared_ptr<const T> get(const std::string& key, const Make& make) {
    const auto found = slot_of(key);
    const std::lock_guard guard{found->mutex};
    auto result = found->value.lock();
    if (!result) {
      result = make();
      found->value = result;
    }
    return result;
  }

private:
  struct slot {
    std::mutex mutex;
    std::weak_ptr<const T> value;
  };

  std::shared_ptr<slot> slot_of(const std::string& key) {
    const std::lock_guard guard{mutex_};
    std::erase_if(slots_, [](const auto& x) {
      return x.second.use_count() == 1 && x.second->value.expired();
    });
    auto& result = slots_[key];
    if (!result)
      result = std::make_shared<slot>();
    return result;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<slot>> slots_;
};

} // namespace hippo
