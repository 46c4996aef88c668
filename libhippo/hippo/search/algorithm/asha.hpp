#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/concurrency_limit.hpp"
#include "hippo/search/split_ranking.hpp"
#include "hippo/search/trial_outcomes.hpp"
#include "hippo/search/trial_states.hpp"
#include "hippo/sequence/family.hpp"

namespace hippo {

/// The common part of both forms of ASHA and of `freeze_thaw`: which trials are
/// in flight, and that something new starts whenever one comes to rest.
///
/// New trials start in the order of their numbers, whatever work they make. To
/// begin with those that share most brings similar trials together, and ASHA
/// promotes too many of them, which costs more than it saves.
class asha : public algorithm {
public:
  /// @param concurrent trials in flight at most; see `concurrency_limit`
  /// REQUIRES: `rungs` is not empty and increases strictly; `eta >= 2`.
  asha(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
       direction better, std::optional<std::uint64_t> concurrent);

  [[nodiscard]] std::uint64_t trials() const override { return most_; }
  [[nodiscard]] std::vector<step_t> rungs() const override { return rungs_; }
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool wants_capacity() const override {
    return limit_.is_narrow() && !done_;
  }
  std::vector<action> widen(std::uint64_t trials) override;
  [[nodiscard]] bool can_grow() const override { return true; }
  void grow(std::uint64_t trials) override {
    most_ += trials;
    done_ = false;
  }
  std::vector<action> withdraw(const std::vector<trial_no>& withdrawn,
                               std::uint64_t trials) override;
  [[nodiscard]] step_t length_max() const override { return step_limit; }
  /// Further rungs are at `last * eta^k`. Trials that had ended at the last one
  /// are at rest there, and go on if they are good enough.
  std::vector<trial_no> lengthen(step_t max) override;
  std::vector<action> go_on() override;
  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] expected_work to_come() const override;

protected:
  enum class trial_phase : std::uint8_t {
    fresh,    ///< not started
    training, ///< to its rung
    resting,  ///< paused on its rung
    finished, ///< trained as far as it goes
    ended,    ///< pruned or failed
  };

  struct trial_state {
    trial_phase phase = trial_phase::fresh;
    std::uint32_t rung = 0; ///< where it is, or is going to
    standing at_rung;       ///< its latest, on a rung
  };

  /// Trial `trial` has come to its rung, which is not the last one, with the
  /// standing in its state.
  virtual void on_rung(trial_no trial, std::vector<action>& out) = 0;

  /// Trial `trial` failed while it was in phase `before`: training or resting.
  virtual void on_lost(trial_no trial, trial_phase before) = 0;

  /// Trial `trial`, which was lost in training, is on its way again.
  virtual void on_taken_back(trial_no /*trial*/) {}

  /// Trials go on from the former last rung.
  /// @param finished are at rest there, each with its standing
  virtual void on_longer(const std::vector<trial_no>& finished) = 0;

  /// Those at rest have ended: none of them goes on, whatever is taken back.
  virtual void on_done() {}

  /// Lets a trial at rest go on, if one may.
  virtual bool resume(std::vector<action>& out) = 0;

  /// Nothing is in flight and no new trial is to come, but none was trained as
  /// far as trials go: lets one at rest go on, if there is one.
  virtual bool resume_last(std::vector<action>& out) = 0;

  /// The trial that would start next, if one is open.
  [[nodiscard]] std::optional<trial_no> next_fresh() const;

  [[nodiscard]] std::uint64_t eta() const { return eta_; }
  [[nodiscard]] direction better() const { return better_; }
  [[nodiscard]] std::size_t last_rung() const { return rungs_.size() - 1; }
  trial_state& state(trial_no trial) { return trials_[trial]; }
  [[nodiscard]] const trial_state& state(trial_no trial) const {
    return trials_[trial];
  }

  [[nodiscard]] step_t rung_step(std::size_t rung) const {
    return rungs_[rung];
  }
  void train(trial_no trial, std::uint32_t rung, std::vector<action>& out);
  void end(trial_no trial, std::vector<action>& out);

private:
  bool start_next(std::vector<action>& out);

  /// Fills free slots; once all trials were started and nothing is in flight,
  /// sees to it that one gets to the end, then ends the rest.
  void proceed(std::vector<action>& out);

  std::uint64_t most_; ///< trials
  std::uint64_t withdrawn_ = 0; ///< of these
  std::vector<step_t> rungs_;
  std::uint64_t eta_;
  direction better_;
  concurrency_limit limit_;
  std::vector<trial_state> trials_; ///< that are open
  trial_no next_ = 0; ///< the first that was not looked at for a start
  std::vector<std::uint64_t> sent_; ///< by rung: trials that were sent there
  bool has_finished_ = false; ///< whether one was trained as far as trials go
  bool done_ = false;
};

/// ASHA by promotion (arXiv 1810.05934): a trial rests on each rung until it is
/// among the best floor(n / eta) of the n that have come there. A free slot
/// goes to the best such trial of the highest rung, else to a new trial. Failed
/// trials count in n, as the worst. In the end, if there were too few trials
/// for any to get to the last rung, the best on the highest rung go on one by
/// one until one is there.
///
/// Trials that share all their steps up to a rung are equal on it. Of equal
/// ones that goes on, in the place of the first, of which a model expected
/// most; of those of which as much or nothing was expected, the one that
/// differs most from those that have gone on, in the sense of `spread`.
class asha_promotion : public asha {
public:
  /// @param states if not null, it outlives this; else the first of equal
  ///               trials goes on
  /// @param outcomes null: values tell; else the order of a rung is theirs,
  ///                 anew whenever a trial comes there
  asha_promotion(std::uint64_t trials, std::vector<step_t> rungs,
                 std::uint64_t eta, direction better,
                 std::optional<std::uint64_t> concurrent,
                 const trial_states* states = nullptr,
                 const trial_outcomes* outcomes = nullptr);

private:
  /// The trials that have reached one rung.
  struct rung_board {
    split_ranking values;       ///< of all that have not failed since
    std::set<standing> resting; ///< of these, those that are there still
    std::uint64_t failed = 0;   ///< on the way there, or while resting there
    bool is_stale = false; ///< a trial has come since the order was made
    /// Whose place each is that another trial has; an equal one's.
    std::unordered_map<trial_no, trial_no> places;

    [[nodiscard]] trial_no trial_at(const standing& standing) const {
      const auto i = places.find(standing.trial);
      return i == places.end() ? standing.trial : i->second;
    }
  };

  /// Puts a trial that rests on its rung on the board.
  void place(trial_no trial);
  /// Brings the board of a rung into the order that outcomes make.
  void reorder(std::size_t rung);
  /// Takes the best trial at rest off the board of a rung.
  trial_no take_best(std::size_t rung);
  /// Leaves of some trials those of which most was expected.
  void keep_promising(std::vector<trial_no>& trials) const;
  /// Finds whom of the trials at rest that are as good as the best to take.
  [[nodiscard]] trial_no choose_equal(std::size_t rung) const;

  void on_rung(trial_no trial, std::vector<action>&) override { place(trial); }
  void on_lost(trial_no trial, trial_phase before) override;
  void on_taken_back(trial_no trial) override;
  void on_longer(const std::vector<trial_no>& finished) override;
  void on_done() override;
  bool resume(std::vector<action>& out) override;
  bool resume_last(std::vector<action>& out) override;

  std::vector<rung_board> boards_; ///< by rung; nothing rests on the last one
  const trial_states* states_;
  const trial_outcomes* outcomes_;
};

/// ASHA by stopping, as Ray Tune's AsyncHyperBandScheduler: on each rung a
/// trial ends if it is worse than the 1 - 1/eta percentile of what was recorded
/// there before it; the first one never is. What is stopped is not resumed. A
/// NaN is worse than any number and is not recorded.
///
/// Where outcomes tell, a trial ends unless it is among the best ceil(n / eta)
/// of the n that have come there, itself included.
class asha_stopping : public asha {
public:
  asha_stopping(std::uint64_t trials, std::vector<step_t> rungs,
                std::uint64_t eta, direction better,
                std::optional<std::uint64_t> concurrent,
                const trial_outcomes* outcomes = nullptr);

private:
  /// Whether a trial that has come to a rung is too bad to go on.
  bool record(trial_no trial, std::size_t rung);
  bool record_outcome(trial_no trial, std::size_t rung);
  void on_rung(trial_no trial, std::vector<action>& out) override;
  void on_lost(trial_no trial, trial_phase) override {
    std::erase(passed_, trial); // nothing else is recorded
  }
  void on_longer(const std::vector<trial_no>& finished) override;
  bool resume(std::vector<action>& out) override;
  bool resume_last(std::vector<action>&) override { return false; }

  std::vector<split_ranking> recorded_; ///< by rung; the last one has none
  /// Trials that go on from a former last rung, in their turn.
  std::deque<trial_no> passed_;
  const trial_outcomes* outcomes_;
};

/// The options of `asha`.
class asha_settings final : public rung_settings {
public:
  bool may_resume = true; ///< by promotion; else by stopping

  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override;
};

extern const algorithm_type asha_type;

} // namespace hippo
