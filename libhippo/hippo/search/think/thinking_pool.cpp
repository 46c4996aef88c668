#include "hippo/search/think/thinking_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <utility>

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;

/// One step of the job, whoever waits.
class step_by_step final : public job_turn {
public:
  [[nodiscard]] bool is_over() const override { return true; }
  [[nodiscard]] bool is_cancelled() const override { return false; }
};

} // namespace

void thinking_at_once::post(party_no, job work) {
  work(step_by_step{});
}

/// What is to be told to a job that runs.
struct thinking_pool::running_job {
  std::atomic<bool> is_cancelled = false;
};

class thinking_pool::turn final : public job_turn {
public:
  explicit turn(const running_job& x) : told_(x) {}

  [[nodiscard]] bool is_over() const override {
    return is_cancelled() || clock::now() - begin_ >= turn_time;
  }
  [[nodiscard]] bool is_cancelled() const override {
    return told_.is_cancelled.load(std::memory_order_relaxed);
  }

private:
  const running_job& told_;
  clock::time_point begin_ = clock::now();
};

std::size_t thinking_pool::usual_threads() {
  return std::max<std::size_t>(std::thread::hardware_concurrency(),
                               job_kinds + 1);
}

thinking_pool::thinking_pool(std::size_t threads) : turns_(threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { work(); });
}

thinking_pool::~thinking_pool() {
  close(std::chrono::hours{24 * 365}); // until they have ended
}

party_no thinking_pool::join(job_kind kind) {
  const std::lock_guard lock{mutex_};
  return turns_.join(kind);
}

void thinking_pool::leave(party_no party) {
  std::vector<job> dropped; // and destroyed without the lock
  const std::lock_guard lock{mutex_};
  const auto gone = turns_.leave(party);
  for (const auto no : gone.dropped)
    if (auto x = jobs_.extract(no)) // else it was dropped when this closed
      dropped.push_back(std::move(x.mapped()));
  if (gone.running)
    running_.at(*gone.running)->is_cancelled = true;
}

void thinking_pool::post(party_no party, job work) {
  {
    const std::lock_guard lock{mutex_};
    if (closed_)
      return;
    jobs_.emplace(turns_.add(party), std::move(work));
  }
  work_comes_.notify_one();
}

std::size_t thinking_pool::waiting(party_no party) const {
  const std::lock_guard lock{mutex_};
  return turns_.waiting(party);
}

void thinking_pool::work() {
  std::unique_lock lock{mutex_};
  while (!closed_) {
    if (const auto next = turns_.take())
      run_next(lock, *next);
    else
      work_comes_.wait(lock);
  }
}

void thinking_pool::run_next(std::unique_lock<std::mutex>& lock,
                             fair_turns::turn next) {
  {
    auto what = std::move(jobs_.extract(next.job).mapped());
    const auto told = std::make_shared<running_job>();
    running_.emplace(next.job, told);
    lock.unlock();
    what(turn{*told});
    what = nullptr; // what it holds may be large, or post jobs
    lock.lock();
  }
  running_.erase(next.job);
  turns_.end(next.job);
  // A kind may have room now that it had not.
  if (turns_.has_waiting())
    work_comes_.notify_one();
  if (closed_)
    job_ends_.notify_all();
}

bool thinking_pool::close(std::chrono::milliseconds patience) {
  std::map<job_no, job> dropped;
  {
    std::unique_lock lock{mutex_};
    closed_ = true;
    dropped.swap(jobs_);
    for (const auto& [no, x] : running_)
      x->is_cancelled = true;
    work_comes_.notify_all();
    if (!job_ends_.wait_for(lock, patience, [&] { return running_.empty(); }))
      return false;
  }
  for (auto& x : threads_)
    x.join();
  threads_.clear();
  return true;
}

} // namespace hippo
