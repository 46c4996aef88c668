#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/service/merge/lease_table.hpp"
#include "hippo/service/merge/moment.hpp"

namespace hippo {

/// The uses of the trainers' time, in seconds, added up over them.
struct usage_totals {
  double busy_seconds = 0; ///< in which they had a lease
  // Of these, as trainers report it; the rest is dispatch.
  double load_seconds = 0;
  double train_seconds = 0;
  double evaluate_seconds = 0;
  double save_seconds = 0;
  double dispatch_seconds = 0;
  double wait_seconds = 0; ///< of `train_seconds`, waiting for data
  std::vector<busy_record> timeline;
  bool timeline_is_whole = true; ///< else it got too long
};

/// Books the time of trainers, once however many lanes share it.
///
/// @invariant `busy_seconds` is the sum of what was booked for each trainer
/// @invariant no time of a trainer is booked twice: what is booked of it is the
///            union of the times that its leases have reported
class usage {
public:
  /// The timeline keeps so many entries and then stops growing.
  static constexpr std::size_t timeline_entries_max = 200'000;

  /// @param begun where the timeline begins
  /// @param before what earlier runs have trained
  explicit usage(moment begun, trained_time before = {})
    : begun_(begun), before_(before) {}

  /// Books the time since the last report of a lease, and the steps trained.
  /// Time that others in the same launches have booked does not count again:
  /// the rest of the time stands for all of its parts.
  /// @param lease the lease, as it was before the report
  /// @param unreported_since the earliest last report of the trainer's other
  ///        leases; `now` if there is none. No later report goes back further.
  /// @returns the seconds since then
  /// @complexity O(log trainers + gaps of the trainer since
  ///             `unreported_since`); no gaps remain with one lane
  double book(const running_lease& lease, const stop_report& report, moment now,
              moment unreported_since);

  /// Counts the steps of a report whose time is not known.
  void count_steps(std::uint64_t steps) { trained_steps_ += steps; }

  /// A trainer has left: what is booked of it stays so.
  void forget(trainer_id trainer);

  /// Returns what was not returned before, to be stored, or nothing.
  std::optional<steps_trained> take_unstored(const std::string& workload_key);

  [[nodiscard]] const usage_totals& totals() const { return totals_; }
  /// Returns the seconds since the timeline began.
  [[nodiscard]] double age(moment now) const {
    return seconds_between(begun_, now);
  }
  [[nodiscard]] std::uint64_t trained_steps() const { return trained_steps_; }
  /// Returns the mean time of a trained step, those of earlier runs included;
  /// 0: none was trained.
  [[nodiscard]] double step_seconds() const { return trained().step_seconds(); }
  /// Returns what was trained, in earlier runs too.
  [[nodiscard]] trained_time trained() const;

  void check_invariants() const;

private:
  struct interval {
    moment begin;
    moment end;
  };
  struct booked {
    /// Disjoint and in order; of these, what a later report may overlap.
    std::vector<interval> intervals;
    double seconds = 0; ///< in all
  };

  /// Adds [`since`, `now`) to the intervals. @returns the seconds that are new
  static double add(std::vector<interval>& to, moment since, moment now);

  moment begun_;
  trained_time before_;
  usage_totals totals_;
  std::map<trainer_id, booked> by_trainer_;
  double forgotten_seconds_ = 0; ///< booked for trainers that have left
  std::uint64_t trained_steps_ = 0;
  std::uint64_t stored_steps_ = 0;  ///< of these
  double stored_device_seconds_ = 0; ///< of the time that was booked
};

} // namespace hippo
