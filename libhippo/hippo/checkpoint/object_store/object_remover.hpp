#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hippo/base/error.hpp"

namespace hippo {

/// Deletes objects on a thread of its own, so that nobody waits for the store.
/// While the store has trouble they wait here, 100,000 of them at most. What is
/// left when it ends stays in the store, for `hippo gc`. Thread-safe.
class object_remover {
public:
  /// Deletes an object, or says why it is still there. Called on the thread.
  using deleter = std::function<std::optional<error>(const std::string& name)>;

  /// @param complain is told of each failure, on the thread
  object_remover(deleter remove,
                 std::function<void(const std::string&)> complain);

  /// Deletes what waits as long as that works at once, then ends.
  ~object_remover();

  object_remover(const object_remover&) = delete;
  object_remover& operator=(const object_remover&) = delete;

  void remove(std::string name);

private:
  void loop();

  const deleter remove_;
  const std::function<void(const std::string&)> complain_;
  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::string> names_;
  bool closing_ = false;

  std::thread thread_; ///< last: it uses all of the above
};

} // namespace hippo
