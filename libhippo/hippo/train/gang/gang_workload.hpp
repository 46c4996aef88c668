#pragma once

#include <functional>

#include "hippo/train/data_wait.hpp"
#include "hippo/train/gang/connected_gang.hpp"
#include "hippo/train/setup_time.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// The workload of a gang's lead: has the others train and measure along. All
/// else is up to its own one, which has been told to share (`shareable`).
class gang_workload final : public workload,
                            public data_wait,
                            public setup_time {
public:
  /// @param on_leave called when a member leaves, with the state that was
  ///        reached: the lease is to end there
  /// REQUIRES: `own` and `members` outlive `*this`.
  gang_workload(workload& own, connected_gang& members,
                std::function<void(step_t)> on_leave)
    : own_(own), members_(members), on_leave_(std::move(on_leave)) {}

  void prepare() override { own_.prepare(); }
  void init() override { own_.init(); }
  // These two throw `gang_lost` as well, always once one has thrown.
  void train(const configuration& config, step_t from, step_t to) override;
  metrics evaluate() override;
  std::string save() override { return own_.save(); }
  void load(const std::string& bytes) override { own_.load(bytes); }
  [[nodiscard]] std::string state_file() override { return own_.state_file(); }
  void load_file() override { own_.load_file(); }
  std::shared_ptr<const workload_state> snapshot() override {
    return own_.snapshot();
  }
  void restore(const workload_state& saved) override { own_.restore(saved); }
  [[nodiscard]] workload_size size() const override { return own_.size(); }
  [[nodiscard]] bool trains_in_one_go() const override {
    return own_.trains_in_one_go();
  }
  std::string take_output() override { return own_.take_output(); }
  std::vector<std::string> differences(const std::string& left,
                                       const std::string& right) override {
    return own_.differences(left, right);
  }
  void export_weights(const std::string& path) override {
    own_.export_weights(path);
  }
  [[nodiscard]] std::uint64_t waited_ns() const noexcept override;
  /// Of the first call, it is the time until the others were ready. Where that
  /// is one of `evaluate`, it counts as measuring.
  [[nodiscard]] std::uint64_t setup_ns() const noexcept override {
    return setup_ns_;
  }

private:
  /// Has all do something, of which the own part is `work`.
  /// @returns whether a member leaves
  bool together(const gang_order& order, const std::function<void()>& work);

  workload& own_;
  connected_gang& members_;
  const std::function<void(step_t)> on_leave_;
  bool is_ready_ = false; ///< whether the others are in the first state
  std::uint64_t setup_ns_ = 0;
  std::string ended_; ///< why it trains no more; empty: it does
};

} // namespace hippo
