#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/report/progress.hpp"

namespace hippo {

/// Looks at the studies of a service in this process as any of its clients
/// does, on a thread of its own: an answer may have to wait for the disk, and
/// the service does not wait for it.
class progress_thread {
public:
  /// @param address of the service, for clients
  explicit progress_thread(std::string address);
  ~progress_thread();
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  /// Says which studies there are. @param at_work those that have not ended
  void follow(std::set<study_id> all, std::set<study_id> at_work);

  /// Returns what was seen last, if that is news.
  std::optional<progress_view> take();

private:
  void run();

  const std::string address_;
  std::mutex mutex_; ///< of all below
  std::condition_variable changed_;
  std::set<study_id> all_;
  std::set<study_id> at_work_;
  std::optional<progress_view> seen_;
  bool is_over_ = false;
  std::thread thread_; ///< last: it uses the rest
};

} // namespace hippo
