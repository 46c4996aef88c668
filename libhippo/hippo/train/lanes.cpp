#include "hippo/train/lanes.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

namespace hippo {

namespace {

/// What the lanes have in common: lets them train and measure together.
class lane_group {
public:
  using part = laned_workload::part;

  explicit lane_group(std::unique_ptr<laned_workload> work)
    : work_(std::move(work)), lanes_(work_->lanes()) {}

  [[nodiscard]] std::size_t size() const { return lanes_.size(); }

  /// For what is `const`.
  [[nodiscard]] const laned_workload& work() const { return *work_; }

  /// Trains a step together with whoever wants a step that fits.
  void train(const part& x) {
    work_->check(x);
    join(x.lane, {request::kind::train, x, {}});
  }

  metrics evaluate(std::size_t lane) {
    return join(lane, {request::kind::evaluate, {}, {}});
  }

  /// Calls `f` with the workload while nothing else uses it.
  template <class F>
  auto alone(std::size_t lane, const F& f) {
    std::unique_lock guard{mutex_};
    lanes_[lane].is_awaited = true;
    changed_.wait(guard, [this] { return !is_used_; });
    const user use{*this, guard};
    return f(*work_);
  }

  void rest(std::size_t lane) {
    const std::lock_guard guard{mutex_};
    lanes_[lane].is_awaited = false;
    changed_.notify_all();
  }

private:
  /// What a lane waits for.
  struct request {
    enum class kind { nothing, train, evaluate };
    kind what = kind::nothing;
    part step;
    metrics values; ///< once it is done
    std::exception_ptr failure{};
    std::uint64_t number = 0; ///< in the order in which they came
  };

  struct entry {
    bool is_awaited = false;
    request wanted;
  };

  /// Uses the workload, without the lock.
  class user {
  public:
    user(lane_group& group, std::unique_lock<std::mutex>& guard)
      : group_(group), guard_(guard) {
      group_.is_used_ = true;
      guard_.unlock();
    }
    user(const user&) = delete;
    user& operator=(const user&) = delete;
    ~user() {
      guard_.lock();
      group_.is_used_ = false;
      group_.changed_.notify_all();
    }

  private:
    lane_group& group_;
    std::unique_lock<std::mutex>& guard_;
  };

  static bool is_pending(const entry& x) {
    return x.wanted.what != request::kind::nothing;
  }

  /// Waits until somebody, perhaps this thread, has done what a lane asks for.
  metrics join(std::size_t lane, request x) {
    std::unique_lock guard{mutex_};
    auto& mine = lanes_[lane];
    x.number = ++requests_;
    mine.is_awaited = true;
    mine.wanted = std::move(x);
    while (is_pending(mine))
      if (!is_used_ && all_are_there())
        launch(guard);
      else
        changed_.wait(guard);
    if (mine.wanted.failure)
      std::rethrow_exception(std::exchange(mine.wanted.failure, nullptr));
    return std::move(mine.wanted.values);
  }

  [[nodiscard]] bool all_are_there() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const entry& x) {
      return !x.is_awaited || is_pending(x);
    });
  }

  /// The lanes whose requests are to be done next, together. Measuring goes
  /// first: who has measured can train with the others.
  [[nodiscard]] std::vector<std::size_t> next_ones() const {
    const request* first = nullptr;
    const auto goes_before = [](const request& x, const request& y) {
      return x.what == y.what ? x.number < y.number
                              : x.what == request::kind::evaluate;
    };
    for (const auto& x : lanes_)
      if (is_pending(x) && (!first || goes_before(x.wanted, *first)))
        first = &x.wanted;
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (const auto& x = lanes_[i].wanted;
          x.what == first->what
          && (x.what == request::kind::evaluate
              || work_->fit(first->step, x.step)))
        result.push_back(i);
    return result;
  }

  void launch(std::unique_lock<std::mutex>& guard) {
    const auto chosen = next_ones();
    const auto what = lanes_[chosen.front()].wanted.what;
    std::vector<part> steps;
    for (auto i : chosen)
      steps.push_back(lanes_[i].wanted.step);
    std::vector<metrics> values(chosen.size());
    std::exception_ptr failure;
    try {
      const user use{*this, guard};
      if (what == request::kind::train)
        work_->train(steps);
      else
        values = work_->evaluate(chosen);
    } catch (...) {
      failure = std::current_exception();
    }
    for (std::size_t i = 0; i < chosen.size(); ++i)
      lanes_[chosen[i]].wanted = {request::kind::nothing, {},
                                  std::move(values[i]), failure};
  }

  std::unique_ptr<laned_workload> work_;
  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::vector<entry> lanes_;
  std::uint64_t requests_ = 0;
  bool is_used_ = false; ///< whether somebody uses `work_`, without the lock
};

/// One lane as a workload.
class lane_workload final : public workload {
public:
  lane_workload(std::shared_ptr<lane_group> group, std::size_t lane)
    : group_(std::move(group)), lane_(lane),
      others_(lane == 0 ? group_->size() - 1 : 0) {}

  ~lane_workload() override { group_->rest(lane_); }

  void init() override {
    group_->alone(lane_, [this](auto& x) { x.init(lane_); });
  }

  void train(const configuration& config, step_t from, step_t to) override {
    for (auto step = from; step < to; ++step)
      group_->train({lane_, &config, step});
  }

  metrics evaluate() override { return group_->evaluate(lane_); }

  std::string save() override {
    return group_->alone(lane_, [this](auto& x) { return x.save(lane_); });
  }

  void load(const std::string& bytes) override {
    group_->alone(lane_, [&](auto& x) { x.load(lane_, bytes); });
  }

  std::shared_ptr<const workload_state> snapshot() override {
    return group_->alone(lane_, [this](auto& x) { return x.snapshot(lane_); });
  }

  void restore(const workload_state& state) override {
    group_->alone(lane_, [&](auto& x) { x.restore(lane_, state); });
  }

  [[nodiscard]] workload_size size() const override {
    return group_->work().size();
  }

  void rest() override { group_->rest(lane_); }

  std::vector<std::unique_ptr<workload>> take_other_lanes() override {
    std::vector<std::unique_ptr<workload>> result;
    const auto count = std::exchange(others_, 0);
    for (std::size_t i = 1; i <= count; ++i)
      result.push_back(std::make_unique<lane_workload>(group_, i));
    return result;
  }

  void export_weights(const std::string& path) override {
    group_->alone(lane_, [&](auto& x) { x.export_weights(lane_, path); });
  }

private:
  std::shared_ptr<lane_group> group_;
  std::size_t lane_;
  std::size_t others_; ///< that are still to be taken
};

} // namespace

std::shared_ptr<const workload_state>
laned_workload::snapshot(std::size_t lane) {
  return std::make_shared<saved_state>(save(lane));
}

void laned_workload::restore(std::size_t lane, const workload_state& x) {
  load(lane, x.bytes());
}

std::unique_ptr<workload> first_lane(std::unique_ptr<laned_workload> x) {
  return std::make_unique<lane_workload>(
    std::make_shared<lane_group>(std::move(x)), 0);
}

} // namespace hippo
