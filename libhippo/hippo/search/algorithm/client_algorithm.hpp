#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/measuring.hpp"
#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/concurrency_limit.hpp"
#include "hippo/search/trial_states.hpp"

namespace hippo {

/// The decisions come from outside: a client of the service asks for trials,
/// says how far each goes and which ones end. What it wants is checked and
/// turned into actions; results decide nothing.
///
/// It is done once it was closed, or all trials that it may have were asked
/// for, and none is left that could go on. Replaying it takes what the client
/// wanted as well as the results, in one order.
class client_algorithm : public algorithm {
public:
  /// @param most trials that there may be
  /// @param when at which states a trial is measured: to one of them it may be
  ///             trained
  /// @param concurrent trials in flight at most; see `concurrency_limit`
  /// @param states says how long each trial is; null: to the last rung
  client_algorithm(std::uint64_t most, measuring when,
                   std::optional<std::uint64_t> concurrent,
                   const trial_states* states = nullptr);

  // -- what a client may want; each answers with an error that says why not,
  //    and changes nothing then

  /// Asks for a new trial, at rest at step 0. Its number is `trials() - 1`
  /// afterwards.
  expected<std::vector<action>> ask();

  /// Lets a trial at rest go on to state `to`.
  expected<std::vector<action>> train(trial_no trial, step_t to);

  /// Ends a trial, at rest or on its way.
  expected<std::vector<action>> stop(trial_no trial);

  /// Nothing more will be wanted: trials at rest end; those in flight finish.
  std::vector<action> close();

  // -- why that is not possible now, or an empty text

  [[nodiscard]] std::string refusal_of_ask() const;
  /// Of whatever trial, to a step.
  [[nodiscard]] static std::string refusal_of_step(const measuring& when,
                                                   step_t to);
  [[nodiscard]] std::string refusal_of_train(trial_no trial, step_t to) const;
  [[nodiscard]] std::string refusal_of_stop(trial_no trial) const;

  // -- algorithm

  [[nodiscard]] std::uint64_t trials() const override {
    return states_.size();
  }
  [[nodiscard]] std::vector<step_t> rungs() const override {
    return when_.rungs;
  }
  std::vector<action> open(std::uint64_t) override { return {}; }
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  /// Rungs are as far from each other as before.
  [[nodiscard]] step_t length_max() const override;
  /// A study that was closed is open again.
  std::vector<trial_no> lengthen(step_t max) override;
  [[nodiscard]] bool done() const override {
    return (closed_ || states_.size() == most_) && ended_ == states_.size();
  }

private:
  enum class trial_phase : std::uint8_t { training, resting, ended };

  struct trial_state {
    trial_phase phase = trial_phase::resting;
    step_t to = 0; ///< where it is, or is going to
    bool finished = false; ///< whether it has ended at the last rung
  };

  void end(trial_state& state);
  [[nodiscard]] step_t end_of(trial_no trial) const;

  std::uint64_t most_;
  measuring when_;
  concurrency_limit limit_;
  const trial_states* lengths_;
  std::vector<trial_state> states_;
  std::uint64_t ended_ = 0;
  bool closed_ = false;
};

/// The options of `client`.
class client_settings final : public algorithm_settings {
public:
  step_t interval = 1; ///< steps between two rungs

  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override;
  /// Makes a sampler that takes values of clients, and else those of
  /// `sampling`.
  [[nodiscard]] std::unique_ptr<sampler>
  make_sampler(const study_spec& study, const sampler_settings& sampling,
               const sampler_context& context) const override;
};

extern const algorithm_type client_type;

} // namespace hippo
