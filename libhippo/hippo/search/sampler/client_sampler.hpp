#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "hippo/search/sampler/sampler.hpp"

namespace hippo {

/// The values of a client's trials: given by the client, or else those of
/// another sampler.
class client_sampler final : public sampler {
public:
  explicit client_sampler(std::unique_ptr<sampler> others)
    : others_(std::move(others)) {}

  /// Gives a trial its values, which have been checked. Call before `draw`.
  [[nodiscard]] bool learns() const override { return others_->learns(); }
  void learn(trial_no trial, const leaf_decisions& values, step_t at,
             double value) override {
    others_->learn(trial, values, at, value);
  }
  void give(trial_no trial, trial_parameters values) {
    given_[trial] = std::move(values);
    was_given_.insert(was_given_.end(), trial);
  }

  void begin_with(const std::vector<leaf_decisions>& first) override {
    others_->begin_with(first);
  }
  [[nodiscard]] std::optional<leaf_decisions>
  given(trial_no trial) const override {
    return others_->given(trial);
  }
  void follow(trial_no next, const std::vector<tried_trial>& tried) override {
    others_->follow(next, tried);
  }
  void give(trial_no trial, leaf_decisions values) override {
    others_->give(trial, std::move(values));
  }
  trial_parameters draw(trial_no trial) override;
  /// It does not keep given values.
  [[nodiscard]] std::optional<trial_parameters>
  recall(trial_no trial) const override;
  [[nodiscard]] std::optional<trial_choice>
  choice_of(trial_no trial) const override {
    return others_->choice_of(trial);
  }
  void restore(trial_no trial, trial_choice choice) override {
    others_->restore(trial, std::move(choice));
  }
  trial_parameters branch(const fork& fork) override {
    return others_->branch(fork);
  }
  void lengthen(const search_space& space,
                const std::vector<step_t>& marks) override {
    others_->lengthen(space, marks);
  }
  void on_result(trial_no trial, step_t at, double value) override {
    others_->on_result(trial, at, value);
  }
  void on_failure(trial_no trial) override { others_->on_failure(trial); }
  void on_retry(trial_no trial) override { others_->on_retry(trial); }
  void on_removal(trial_no trial) override { others_->on_removal(trial); }
  void on_return(trial_no trial) override { others_->on_return(trial); }

private:
  std::unique_ptr<sampler> others_;
  std::unordered_map<trial_no, trial_parameters> given_; ///< until drawn
  std::set<trial_no> was_given_;
};

} // namespace hippo
