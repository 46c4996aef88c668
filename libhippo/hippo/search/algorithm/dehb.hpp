#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/concurrency_limit.hpp"
#include "hippo/search/split_ranking.hpp"

namespace hippo {

/// A bracket of DEHB: how many trials there are on each of its rungs.
struct dehb_bracket {
  std::size_t first_rung = 0;       ///< index into the algorithm's rungs
  std::vector<std::uint64_t> sizes; ///< on this rung and those above it
  friend bool operator==(const dehb_bracket&, const dehb_bracket&) = default;
};

/// Returns the brackets s = M - 1, ..., 0 of one round over M rungs: bracket s
/// has floor(M / (s + 1)) * eta^s trials on rung M - 1 - s, and max(1,
/// floor(n / eta^k)) of these n on the k-th after it. Fewer than Hyperband's,
/// which rounds up.
/// REQUIRES: `rungs > 0`, `eta >= 2`, and eta^(rungs - 1) * rungs fits
std::vector<dehb_bracket> dehb_brackets(std::size_t rungs, std::uint64_t eta);

/// DEHB (Awad, Mallik, Hutter, *DEHB: Evolutionary Hyperband for Scalable,
/// Robust and Efficient Hyperparameter Optimization*, IJCAI 2021): Hyperband's
/// brackets, whose trials are crossed from those that did well (differential
/// evolution) instead of drawn at random.
///
/// Each rung has a population, as large as the most trials that a bracket has
/// there; its places are targets in turn. A new trial is a cross of the target
/// with three of the ten best: those of the highest rung, then those of the one
/// below it, and so on, so that all that is known of late steps comes back to
/// the first ones. It takes the target's place if it is no worse. While the
/// place is empty, or there are fewer than three others, values are drawn at
/// random.
///
/// On its later rungs a bracket has the best n of its rung before go on, as
/// soon as nobody on that one is awaited any more. Brackets overlap: a trainer
/// is given work of the first bracket that has some, else a further bracket
/// begins. What is decided depends on the order of results.
///
/// The paper has trials go on in the first round only, and begins new ones on
/// later rungs from then on. It takes parents from the best n of the next lower
/// population, or of the rung's own one on a bracket's first rung, n being the
/// bracket's number of trials on the rung; where these are fewer than three,
/// members of all populations are added.
///
/// NaN is the worst. A trial that fails takes no place and does not go on.
/// @complexity O(brackets that have not ended + largest population) a result
class dehb : public algorithm {
public:
  /// @param trials that there are, the last bracket getting those that are left
  /// @param promotes_always whether trials go on after the first round too, and
  ///                        parents are those that have come farthest; else as
  ///                        in the paper
  /// @param concurrent trials in flight at most; see `concurrency_limit`
  /// @param seed of the draws of parents
  /// REQUIRES: `rungs` has two at least and increases strictly; `eta >= 2`.
  dehb(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
       bool promotes_always, direction better,
       std::optional<std::uint64_t> concurrent, std::uint64_t seed);

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
  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] expected_work to_come() const override;

private:
  enum class trial_phase : std::uint8_t {
    fresh,    ///< not started
    training, ///< to its rung
    resting,  ///< there, until it goes on or is pruned
    ended,    ///< pruned, failed, or trained as far as it goes
  };

  struct trial_state {
    trial_phase phase = trial_phase::fresh;
    std::uint32_t rung = 0; ///< where it is, or is going to
    std::uint32_t bracket = 0;
    std::uint32_t place = 0; ///< of its target in the rung's population
  };

  /// The trials of a rung that others are crossed from.
  struct population {
    std::vector<std::optional<standing>> places;
    std::vector<standing> ranking; ///< of those in places, the best first
    std::size_t next = 0;          ///< target

    /// @returns the next target's place
    std::size_t take_turn();
    /// `standing` takes the place if it is empty, or what is there is worse.
    void compete(std::size_t place, const standing& standing);
  };

  struct bracket {
    std::size_t first_rung = 0;
    std::vector<std::uint64_t> sizes;
    bool promotes = true;
    std::size_t at = 0; ///< rung, counted from its first one
    std::uint64_t started = 0;        ///< on that rung
    std::uint64_t awaited = 0;        ///< of these
    std::vector<standing> reported;   ///< on that rung
    std::vector<trial_no> to_go_on;   ///< to that rung, the best last
    bool all_failed = false;

    [[nodiscard]] bool begins_trials() const { return at == 0 || !promotes; }
    [[nodiscard]] bool has_ended() const {
      return all_failed || at == sizes.size();
    }
    /// How many trials it has yet to begin.
    [[nodiscard]] std::uint64_t to_begin() const;
  };

  /// Returns the bracket `index` if `left` trials are left to begin.
  [[nodiscard]] bracket planned(std::size_t index, std::uint64_t left) const;
  /// How many trials no bracket has yet been given.
  [[nodiscard]] std::uint64_t left() const;
  /// Finds the next trial to begin. @returns whether one is open
  bool find_fresh();

  /// Starts as many as may be in flight.
  void proceed(std::vector<action>& out);
  /// Starts or continues a trial. @returns whether there was one
  bool start_next(std::vector<action>& out);
  /// The same in one bracket.
  bool start_on(std::size_t index, std::vector<action>& out);
  /// Ends the bracket's rungs on which nobody is awaited any more.
  void settle(bracket& which, std::vector<action>& out);
  void end_rung(bracket& which, std::vector<action>& out);
  /// Returns the best of the highest rung, then of those below it, up to a
  /// number.
  [[nodiscard]] std::vector<trial_no> farthest() const;
  /// Returns the trials of which three are crossed in a bracket, but for the
  /// target.
  [[nodiscard]] std::vector<trial_no> possible_parents(std::size_t index) const;
  /// Three trials to cross with the target, or none if there are not as many.
  [[nodiscard]] std::vector<trial_no>
  choose_parents(trial_no trial, std::size_t index, trial_no target) const;

  [[nodiscard]] step_t hop(const bracket& which, std::size_t at) const;
  void add_work(const bracket& which, expected_work& to) const;
  void check_invariants() const;

  std::uint64_t most_; ///< trials
  std::vector<step_t> rungs_;
  std::uint64_t eta_;
  bool promotes_always_;
  direction better_;
  concurrency_limit limit_;
  std::uint64_t seed_;
  std::vector<dehb_bracket> round_;
  std::vector<population> populations_; ///< by rung
  std::vector<bracket> brackets_;       ///< that have begun
  std::size_t first_active_ = 0;        ///< those before it have ended
  std::vector<trial_state> trials_;     ///< that are open
  trial_no next_ = 0; ///< the first that was not looked at for a start
  bool done_ = false;
};

/// The options of `dehb`.
class dehb_settings final : public rung_settings {
public:
  bool promotes_always = true; ///< else as in the paper

  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override;
  /// Makes crosses of trials: the algorithm has no other sampler.
  [[nodiscard]] std::unique_ptr<sampler>
  make_sampler(const study_spec& study, const sampler_settings& sampling,
               const sampler_context& context) const override;
};

extern const algorithm_type dehb_type;

} // namespace hippo
