#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "hippo/base/backoff.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "hippo/service/merge/lease_table.hpp"
#include "hippo/service/merge/settings_table.hpp"

namespace hippo {

/// The path is leased again.
struct retry {
  bool trainer_leaves = false; ///< it hands back whatever it is given
};

/// The trainer's disk or network failed, or it cannot start the workload or
/// lacks its data, by no fault of the path. It gets no work of this merger for
/// that long.
struct cool_down {
  std::chrono::milliseconds span{0};
  std::string unable{}; ///< why it cannot start the workload; empty: it can
};

/// The measurement of a state is not finite.
struct mark_diverged {
  node_id node{};
  step_t at = 0;
};

/// The checkpoint that the lease started from cannot be used, as so many
/// trainers say as it takes for training to have failed.
struct forget_checkpoint {
  node_id node{};
  step_t at = 0;
};

/// A state could be reached and not be measured, too often: every trial that is
/// measured there fails.
struct fail_measuring {
  node_id node{};
  step_t at = 0;
  error reason; ///< as of `fail_from`
  std::set<settings_table::settings> under{}; ///< likewise
};

/// Training has failed too often: every trial that needs that state fails.
struct fail_from {
  node_id node{};
  step_t at = 0;
  /// `errc::fails_everywhere` if so many trainers have said the same that
  /// nobody need try again.
  error reason;
  /// The settings under which it was tried.
  std::set<settings_table::settings> under{};
};

/// The meaning of a failed lease.
using verdict
  = std::variant<retry, cool_down, mark_diverged, forget_checkpoint,
                 fail_measuring, fail_from>;

/// Counts failures, and says what each of them means and whose fault it is.
///
/// An *attempt* is whatever a lease cost without what it was to record next,
/// its *goal*: whichever call failed, or the trainer was lost over it. Only a
/// measurement or a checkpoint that is recorded and was not known is progress:
/// it ends what was counted up to there, and shows that those that could not
/// get there are to blame. What a trainer says of how far it came is none.
///
/// A failure on one trainer is no verdict on what it trained as long as there
/// is another that has not tried: only when so many different trainers have
/// failed at it, or all that there are as often together, there or on the way,
/// do the trials fail that need it. So a state takes `attempts_max` leases, and
/// one more for each trainer that comes while it is tried.
///
/// A trainer that was lost may not have been lost for what it trained: it is no
/// attempt that it ends in good order. A loss is *excused* if the trainer goes
/// before it has taken the lease up, or comes again, cut off but alive: it is
/// no attempt then. But training may do that to each trainer, so of a state
/// that many are: `excused_max` times what it takes to fail. A trainer that
/// stalls has not been cut off. What a trainer was lost over is *suspect*: it
/// is trained alone, beside no other lane, until it gets on.
///
/// Training that *diverges* is common, and ends a trial for good; so one
/// trainer's word for it is not enough where there is another one. The path is
/// leased to that one, from the last state that was saved: says it the same,
/// the state has diverged; measures it there, the first one was wrong and is to
/// blame. A trainer whose word was confirmed `confirmed_for_trust` times in a
/// row is believed, but for one time of `trusted_asked_every`.
///
/// A lease that is *handed back* unasked is an attempt as well. One that a
/// trainer has not taken up may cross its leave: that is none, once.
///
/// Attempts count for the settings under which they were made: what one study
/// says of how the workload is run may be why nobody got further, and no
/// trainer is to blame for it. A state has failed when it has under the
/// settings of all who wait for it. Whether a checkpoint can be read has
/// nothing to do with them: those attempts count together. So each attempt
/// brings some verdict nearer.
///
/// @invariant of each failed state at least one trainer has tried or was lost,
///            and no more than attempts were made, or losses were excused
class retry_policy {
public:
  /// How long a trainer gets no work of this merger whose disk or network has
  /// failed, or which cannot start the workload: at first, and at most after it
  /// has failed again and again.
  static constexpr std::chrono::milliseconds cool_down_first{1000};
  static constexpr std::chrono::milliseconds cool_down_last{60'000};

  /// The number of trainers that must fail at one step with the same words.
  static constexpr std::size_t agreeing_trainers = 3;

  /// The losses of a state that are excused, for each attempt that it may take.
  static constexpr unsigned excused_max = 8;

  /// The number of trainers that must report a state as diverged.
  static constexpr std::size_t divergence_words = 2;
  /// Whose word was confirmed so often in a row is believed, but for each time
  /// of so many.
  static constexpr unsigned confirmed_for_trust = 3;
  static constexpr unsigned trusted_asked_every = 8;

  /// @param attempts_max how often training from a state may fail; not 0
  explicit retry_policy(unsigned attempts_max);

  /// These could train for the merger, as far as is known, whoever has them.
  void set_able(std::set<trainer_id> trainers) { able_ = std::move(trainers); }

  /// Whether a trainer may train the path at all.
  using trainer_filter = std::function<bool(trainer_id)>;

  using settings = settings_table::settings;
  /// The settings of those who wait for what a stage reaches beyond a state.
  using settings_source
    = std::function<std::vector<settings>(const stage&, step_t)>;

  /// Takes in the failure of a lease.
  /// @param plan what its checkpoint is looked up in
  /// @param others who may try it again, of those who are able; none: all
  /// @param waiting none: nobody has other settings than the lease
  /// REQUIRES: `end.failure` is set.
  verdict judge(const running_lease& lease, const lease_end& end,
                const search_plan& plan, const trainer_filter& others = {},
                const settings_source& waiting = {});

  /// How a trainer was lost over a lease.
  enum class loss : std::uint8_t {
    gone,    ///< it is not there; it may have been cut off alone
    untaken, ///< likewise, before it had said anything of the lease
    stalled, ///< it is there, and does not get on
  };

  /// Takes in that the trainer of a lease was lost.
  /// @param why a line
  /// @param others,waiting as of `judge`
  verdict judge_lost(const running_lease& lease, const std::string& why,
                     const trainer_filter& others = {},
                     const settings_source& waiting = {},
                     loss how = loss::gone);

  /// Whether a trainer could not train for the merger, as far as is known.
  [[nodiscard]] bool is_unable(trainer_id trainer) const {
    return !able_.contains(trainer);
  }

  /// Whether a trainer may hand back, free of charge, a lease that it has not
  /// taken up: once, until it has done one well.
  bool may_hand_back(trainer_id trainer) {
    return handed_back_.insert(trainer).second;
  }

  /// Whether somebody could not read the checkpoint that a lease starts from:
  /// who hands it back has not read it either.
  [[nodiscard]] bool is_start_doubted(const running_lease& lease) const;

  /// A trainer of that name was lost and is there again: it was cut off.
  void note_back(const std::string& name);

  /// A lease has recorded something new of state `at`.
  /// @returns the trainers that are to blame, since they could not get as far
  /// @complexity O(1) if nothing has failed
  std::set<trainer_id> note_recorded(const running_lease& lease, step_t at);

  /// Something new was recorded of state `at` of a node, by nobody's lease.
  void note_recorded(node_id node, step_t at);

  /// A lease of the trainer has ended well.
  void note_success(trainer_id trainer) {
    hindered_.erase(trainer);
    handed_back_.erase(trainer);
  }

  /// A trainer has kept what it trained: what was in its way is not any more,
  /// though it may come again.
  void note_kept(trainer_id trainer) {
    if (const auto i = hindered_.find(trainer); i != hindered_.end())
      i->second.why.clear();
  }

  /// A trainer has left.
  void forget(trainer_id trainer) {
    note_success(trainer);
    trust_.erase(trainer);
  }

  /// Whether something was in a trainer's way, by no fault of the path, and is
  /// yet as far as is known.
  [[nodiscard]] bool is_hindered(trainer_id trainer) const {
    const auto i = hindered_.find(trainer);
    return i != hindered_.end() && !i->second.why.empty();
  }

  /// Says of those who are hindered by what; empty: nobody is.
  [[nodiscard]] std::string hindrance() const;

  /// Whether a trainer has failed at a state on a path to which others could
  /// get: those that have failed neither there nor before it. One that has
  /// failed as late as any is never left out, so somebody always may try.
  /// @param by the settings with which it would be trained
  /// @param others who may, of those who are able; none: all
  /// @complexity O(failures on the path's nodes squared * trainers)
  [[nodiscard]] bool is_left_to_others(trainer_id trainer, const path& what,
                                       const settings& by = {},
                                       const trainer_filter& others = {}) const;

  /// Whether a trainer was lost over something on a path, or a lease, and
  /// nobody has got past it: it must not take others along.
  [[nodiscard]] bool is_suspect(const std::vector<stage>& stages) const;

  /// Whether a stage was tried under these settings as often as it takes to
  /// have failed, but for others who wait with settings of their own.
  /// @complexity O(failures on its node)
  [[nodiscard]] bool is_spent(const stage& stage, const settings& by) const;

  void check_invariants() const;

private:
  /// Where training has failed: on the node of the goal, from the state that
  /// was saved last, whether that could not be read, under some settings. None
  /// if it could not be read.
  using place = std::tuple<node_id, step_t, bool, settings>;
  struct attempt {
    std::string name; ///< of the trainer, or its number
    node_id node{};
    step_t at = 0; ///< the state that could not be had
    lease_part during{};
    error why;
    bool may_return = false; ///< whether the trainer may have been cut off
    unsigned times = 1; ///< attempts of this trainer, of which this is the last
  };
  struct failed_state {
    unsigned attempts = 0;
    unsigned excused = 0;  ///< losses that were no attempts
    bool is_spent = false; ///< whether they are enough
    step_t passed_at = 0; ///< who records this state has got past it
    std::map<trainer_id, attempt> trainers; ///< that say so, the last of each
    std::map<trainer_id, attempt> lost;     ///< and those that were lost
    attempt farthest; ///< of those that said so, else of those that were lost

    void add(trainer_id trainer, attempt other, bool is_lost);
    /// How many different ones have tried: who comes again counts once.
    [[nodiscard]] std::size_t different() const;
    /// Whether enough have failed at the same step with the same words.
    [[nodiscard]] bool agree() const;
    [[nodiscard]] bool has_tried(trainer_id trainer) const {
      return trainers.count(trainer) > 0 || lost.count(trainer) > 0;
    }
  };
  struct goal;

  /// Whether what has failed there counts for who has some settings.
  [[nodiscard]] static bool counts(const place& where, const settings& by) {
    return std::get<bool>(where) || std::get<settings>(where) == by;
  }
  /// Whether one more loss of a state may be no attempt.
  [[nodiscard]] bool may_excuse(const failed_state& of) const {
    return of.excused < excused_max * attempts_max_;
  }
  static goal goal_of(const running_lease& lease);
  verdict judge_training(const running_lease& lease, const lease_end& end,
                         const trainer_filter& others,
                         const settings_source& waiting);
  verdict take_attempt(const running_lease& lease, const goal& wanted,
                       attempt failed, bool is_lost,
                       const trainer_filter& others,
                       const settings_source& waiting);
  /// Whether others are to find the same before a state has diverged.
  verdict judge_divergence(const running_lease& lease, const lease_end& end,
                           const trainer_filter& others);
  /// Whether others are to try before a checkpoint counts as bad.
  verdict judge_checkpoint(const running_lease& lease, const lease_end& end,
                           const search_plan& plan,
                           const trainer_filter& others,
                           const settings_source& waiting);
  /// Calls `function` with each state that has failed under some settings, is
  /// on a path and not behind where it begins.
  template <class F>
  void for_each_failed(const std::vector<stage>& stages, const settings& by,
                       F function) const;
  /// Returns the trainers that could not pass a state of a path, or one before
  /// it, wherever they started: `at` is what would show that they have.
  [[nodiscard]] std::set<trainer_id>
  failed_up_to(const std::vector<stage>& stages, const settings& by,
               step_t at) const;
  [[nodiscard]] bool is_anyone_able_but(const std::set<trainer_id>& xs,
                                        const trainer_filter& others) const;

  unsigned attempts_max_;
  std::set<trainer_id> able_;
  std::map<place, failed_state> failures_;
  /// Of trainers that failed last by no fault of the path.
  struct hindered {
    backoff span{cool_down_first, cool_down_last};
    std::string name{}; ///< of the trainer
    std::string why{};  ///< of the first failure of this kind
  };
  std::map<trainer_id, hindered> hindered_;
  std::set<trainer_id> handed_back_; ///< a lease untouched, and none done since
  /// Of a trainer's word that training has diverged.
  struct trust {
    unsigned confirmed = 0; ///< times in a row
    unsigned believed = 0;  ///< times since it is trusted
  };
  std::map<trainer_id, trust> trust_;
};

} // namespace hippo
