#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hippo/search/think/thinking.hpp"

namespace hippo {

/// A few threads that run jobs in fair turns.
class thinking_pool final : public thinking {
public:
  /// After this a job should pause, if it can.
  static constexpr std::chrono::milliseconds turn_time{20};

  /// As many threads as cores, and at least one more than there are kinds of
  /// jobs, so that two jobs of a kind can run beside the others.
  static std::size_t usual_threads();

  explicit thinking_pool(std::size_t threads = usual_threads());
  /// Waits for the jobs that run, which are told that they are not wanted.
  ~thinking_pool() override;
  thinking_pool(const thinking_pool&) = delete;
  thinking_pool& operator=(const thinking_pool&) = delete;

  party_no join(job_kind kind) override;
  void leave(party_no party) override;
  void post(party_no party, job work) override;
  [[nodiscard]] std::size_t waiting(party_no party) const override;

  /// Lets no further job begin, and waits so long for those that run.
  /// @returns whether all have ended; then so have the threads
  bool close(std::chrono::milliseconds patience);

private:
  struct running_job;
  class turn;

  void work();
  void run_next(std::unique_lock<std::mutex>& lock, fair_turns::turn next);

  mutable std::mutex mutex_;
  std::condition_variable work_comes_;
  std::condition_variable job_ends_;
  fair_turns turns_;
  std::map<job_no, job> jobs_; ///< that wait
  std::map<job_no, std::shared_ptr<running_job>> running_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

} // namespace hippo
