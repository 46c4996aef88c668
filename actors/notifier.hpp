#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hippo/net/http/http.hpp"
#include "hippo/service/notify/delivery_schedule.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

struct notifier_options {
  std::string state; ///< folder, in which `notify.key` is
  /// Whether addresses of this machine and of private networks may be reached.
  bool private_addresses = false;
  delivery_limits limits{};
  std::chrono::seconds post_max{10}; ///< the time of a post, in all
};

/// Posts the events of studies that somebody wants to be notified of. It looks
/// for them in the store, so that all that is due by a crash is posted after
/// it; a few threads post, so that a host that hangs holds up few others.
class notifier {
public:
  /// Has a record stored.
  using settler = std::function<void(notification_settled)>;

  /// Starts posting. REQUIRES: the state folder was opened for writing before.
  /// @returns an error if the folder cannot be read
  static expected<std::unique_ptr<notifier>> open(notifier_options options,
                                                  settler settle);
  ~notifier();
  notifier(const notifier&) = delete;
  notifier& operator=(const notifier&) = delete;

  /// Waits until each event that is due has been tried, or time is up.
  void flush(std::chrono::milliseconds time);

private:
  notifier(notifier_options options, std::unique_ptr<state_reader> store,
           settler settle);
  void run();
  void look();
  post_outcome post(http& to, const due_notification& what,
                    const std::string& body);
  std::string text_of(const due_notification& what);

  const notifier_options options_;
  const settler settle_;
  std::mutex mutex_; ///< of all below but `is_over_`
  std::condition_variable changed_;
  std::unique_ptr<state_reader> store_;
  delivery_schedule schedule_;
  moment looked_{};
  std::size_t on_their_way_ = 0;
  std::atomic<bool> is_over_ = false;
  std::vector<std::jthread> threads_; ///< last: they use all above
};

} // namespace hippo
