#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>
#include <optional>
#include <vector>

#include "hippo/plan/search_plan.hpp"
#include "hippo/service/merge/orders.hpp"

namespace hippo {

/// The studies of a plan: their trials by their own numbers, whether they are
/// paused, and whether they would start more trials if there were capacity.
///
/// A trial of a study with repeats is a trial of the plan for each of its seeds
/// (a run). The study hears of every measurement of a run, and has the summary
/// with that of the last one.
///
/// News and offers of capacity to a study are counted. With its orders a study
/// says how many it had taken in by then, so that nothing is offered while what
/// it has yet to hear may make it start something.
///
/// @invariant a study has acknowledged, and need have, no more than was sent
/// @invariant requests are deferred only while the study is paused
/// @invariant a study that has left wants nothing
/// @invariant each trial of the plan is one run of one number of its study
class study_table {
public:
  /// The run of a trial that does not exist.
  static constexpr trial_id no_trial{UINT64_MAX};

  /// @param plan outlives the table; studies are added to both
  /// @param cold where the numbers of trials are; outlives the table
  explicit study_table(search_plan& plan, std::pmr::memory_resource* cold
                                          = std::pmr::get_default_resource())
    : plan_(plan),
      cold_(cold),
      number_in_study_(std::pmr::deque<trial_no>(cold)) {}

  study_no add(const study_registration& registration);

  /// Does what a study wants of its trials. Until it has taken in what the plan
  /// answers at once, as it is known, nothing is offered.
  /// @param merge false: every trial is trained alone
  /// @returns nothing, or what is wrong with the orders, of which nothing is
  ///          done then
  [[nodiscard]] std::optional<error>
  apply(study_no study, const study_orders& orders, bool merge);

  /// Pauses a study: it waits only for what is being trained. Or lets it go on
  /// with what it waited for.
  void set_paused(study_no study, bool paused);

  /// A study is gone: its trials wait for nothing any more.
  /// REQUIRES: it is there and has not left
  void leave(study_no study);

  /// Steps that an ended lease did not reach are no longer on their way: paused
  /// studies must not have them trained again.
  void follow_ended_lease();

  /// Takes what the plan has for the studies. @returns it by study
  std::map<study_no, study_news> take_news();

  /// Returns the paused studies of which nothing is being trained any more,
  /// each once for each time that it was paused, again or anew.
  std::vector<study_no> take_quiesced();

  // -- capacity ---------------------------------------------------------------

  /// Whether a study would start more if it were offered capacity.
  [[nodiscard]] bool wants_capacity(study_no study) const;
  /// Whether any of them would.
  [[nodiscard]] bool any_wants_capacity() const;
  /// Whether a study that wants capacity has yet to take in what it was sent
  /// before `await_all`, or the last offer.
  [[nodiscard]] bool is_awaiting_any() const;
  /// Nothing is to be offered until all that was sent is taken in.
  void await_all();
  /// A study is offered capacity.
  void count_offer(study_no study);

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] std::uint64_t size() const { return studies_.size(); }
  [[nodiscard]] id_range<study_no> ids() const { return studies_.ids(); }
  [[nodiscard]] bool has(study_no study) const { return studies_.has(study); }
  /// Whether a study that was there is gone. REQUIRES: `has(study)`
  [[nodiscard]] bool has_left(study_no study) const {
    return studies_[study].has_left;
  }
  /// The store's number of a study.
  [[nodiscard]] study_id stored_id(study_no study) const {
    return studies_[study].id;
  }
  /// About how much of the cold memory it takes, in bytes: a run has a number
  /// here and one in its study. O(1).
  [[nodiscard]] std::uint64_t cold_bytes() const {
    return number_in_study_.size() * (sizeof(trial_no) + sizeof(trial_id));
  }

  void check_invariants() const;

private:
  struct entry {
    entry(const study_registration& study, std::pmr::memory_resource* cold)
      : id(study.id), repeats(study.repeats), runs(cold), paused(study.paused) {
    }

    study_id id; ///< the store's
    repeat_plan repeats;
    /// The trials of the plan: run i of trial t is at `t * seeds + i`.
    std::pmr::vector<trial_id> runs;
    /// Of trials with several seeds, what runs have measured that others have
    /// not, by step: of a trial that has failed or was dropped too, as it may
    /// go on. At most what the runs of a trial are ahead of each other.
    std::map<trial_no, std::map<step_t, std::vector<metrics>>> parts;
    bool paused;
    /// Of a paused study: trials that wait for what runs, and up to where.
    std::map<trial_id, step_t> running;
    std::vector<study_orders::request> deferred; ///< until it goes on
    bool is_told_quiesced = false;
    bool wants_capacity = false;
    bool has_left = false;
    std::uint64_t sent = 0;  ///< news and offers
    std::uint64_t acked = 0; ///< of these, when it last gave orders
    std::uint64_t awaited = 0; ///< of these, before it is offered more
    bool has_ordered = false;  ///< since news was taken last
  };

  [[nodiscard]] std::optional<error> check(const entry& study,
                                           const study_orders& orders) const;
  /// Calls `function` with the index and the trial of the plan of each run.
  template <class F>
  static void for_each_run(const entry& study, trial_no no, F&& function);
  static bool has_trial(const entry& study, trial_no no);
  void add_trial(study_no no, const study_orders::trial& added, bool merge);
  [[nodiscard]] std::uint64_t strand_for(const entry& study,
                                         const study_orders::trial& added,
                                         std::uint32_t index, bool merge) const;
  void request(entry& study, const std::vector<study_orders::request>& asked);
  /// @param index of the seed, from 0
  void request_run(const entry& study, const study_orders::request& asked,
                   std::uint32_t index);
  void wait_for_running_only(entry& study);
  /// Takes a measurement of one of several seeds to those of the others. Once
  /// it is the last one, the values are their summary.
  static void take_part(entry& study, trial_measured& what);

  search_plan& plan_;
  std::pmr::memory_resource* cold_;
  by_id<study_no, entry> studies_;
  /// The place of each run among those of its study (`entry::runs`).
  by_id<trial_id, trial_no, std::pmr::deque<trial_no>> number_in_study_;
};

} // namespace hippo
