#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// A sum that is kept as it was.
class kept_sum final : public workload_state {
public:
  /// @param before_bytes called before each of these calls, if it is set
  kept_sum(double value, std::function<void()> before_bytes)
    : sum(value), on_bytes_(std::move(before_bytes)) {}

  [[nodiscard]] std::string bytes() const override {
    if (on_bytes_)
      on_bytes_();
    return "sum " + to_text(sum);
  }

  [[nodiscard]] std::uint64_t size() const override { return 40; }

  const double sum;

private:
  const std::function<void()> on_bytes_;
};

/// A workload whose state is the sum of its learning rates.
class summing_workload : public workload {
public:
  void prepare() override {
    if (on_prepare)
      on_prepare();
  }

  void init() override {
    if (on_init)
      on_init();
    sum = 0;
  }

  void train(const configuration& config, step_t from, step_t to) override {
    if (on_train)
      on_train(from, to);
    for (auto at = from; at < to; ++at) {
      if (on_step)
        on_step(at);
      sum += std::get<double>(config.at("lr").at(at));
    }
  }

  metrics evaluate() override {
    if (on_evaluate)
      on_evaluate();
    metrics result{{"other", 1}, {"sum", sum}};
    result.insert(more.begin(), more.end());
    return result;
  }

  std::string save() override {
    if (on_save)
      on_save();
    return "sum " + to_text(sum);
  }

  void load(const std::string& bytes) override {
    if (on_load)
      on_load();
    if (!bytes.starts_with("sum "))
      throw std::runtime_error("no sum");
    sum = std::stod(bytes.substr(4));
  }

  std::shared_ptr<const workload_state> snapshot() override {
    if (!keeps)
      return workload::snapshot();
    if (on_snapshot)
      on_snapshot();
    return std::make_shared<kept_sum>(sum, on_bytes);
  }

  void restore(const workload_state& saved) override {
    if (on_restore)
      on_restore();
    sum = dynamic_cast<const kept_sum&>(saved).sum;
  }

  [[nodiscard]] bool trains_in_one_go() const override { return in_one_go; }

  std::string take_output() override {
    if (on_output)
      on_output();
    return std::exchange(printed, {});
  }

  [[nodiscard]] workload_size size() const override {
    if (on_size)
      on_size();
    return {};
  }

  double sum = -1;
  metrics more; ///< is measured as well
  bool in_one_go = false;
  bool keeps = false; ///< states, as `kept_sum`
  std::string printed; ///< and not taken yet
  std::function<void()> on_prepare;
  std::function<void()> on_init;
  std::function<void(step_t, step_t)> on_train; ///< at the begin of each call
  std::function<void(step_t)> on_step; ///< before each step
  std::function<void()> on_evaluate;   ///< before each of these calls
  std::function<void()> on_save;
  std::function<void()> on_load;
  std::function<void()> on_snapshot;
  std::function<void()> on_restore;
  std::function<void()> on_output;
  std::function<void()> on_size;
  std::function<void()> on_bytes; ///< of what is kept, whichever thread calls
};

} // namespace hippo
