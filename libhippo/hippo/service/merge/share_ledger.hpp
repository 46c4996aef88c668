#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/plan/schedule/fair_shares.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/merge/orders.hpp"

namespace hippo {

/// The time that a study has had.
struct served_study {
  study_no study{};
  double seconds = 0; ///< of devices
  double cost = 0;    ///< of these seconds
  friend bool operator==(const served_study&, const served_study&) = default;
};

/// A study that has had all that it may have.
struct spent_study {
  study_no study{};
  study_limit what{};
  std::uint64_t raises = 0; ///< of its budgets before
  friend bool operator==(const spent_study&, const spent_study&) = default;
};

/// Which studies the trainers' time counts for, and what it costs them.
///
/// A trainer's time is divided equally among its leases, however many lanes
/// they leave empty: who trains alone has all of it. A lease's part of it
/// counts for its *beneficiaries*, the studies that wait for what it trains,
/// divided among them by weight, so that it brings all of them on equally: none
/// falls back because others want the same. What the time costs is divided
/// likewise; what trainers cost while they have no lease is nobody's.
///
/// @invariant the parts of one trainer's leases add up to 1
/// @invariant the devices that studies hold are the sum of their parts
/// @invariant of no study more seconds were taken than it has had
/// @invariant what the time of each study costs now is what its parts do
class share_ledger {
public:
  /// @param begun when time begins to count
  explicit share_ledger(moment begun) : advanced_to_(begun) {}

  /// @param seconds of devices that the study may have; nothing: any
  /// @param cost that these may have, likewise
  /// REQUIRES: `weight > 0`, here as below
  void add_study(double weight, std::optional<double> seconds = {},
                 std::optional<double> cost = {});
  void set_weight(study_no study, double weight);
  /// A study may have so much more of its budgets than before, also of those
  /// that it has had.
  /// REQUIRES: neither is below 0, and it has a budget of what is above.
  void raise(study_no study, double seconds, double cost);
  /// Whether the study could use a trainer more; see `fair_shares`.
  void set_waiting(study_no study, bool waiting);

  /// Books the time until now. Whatever changes who holds what, or with which
  /// weight, comes after this. Time that goes backwards counts as none.
  void advance(moment now);

  /// An hour of a trainer costs so much, from its next lease on.
  void set_price(trainer_id trainer, double price) { prices_[trainer] = price; }
  void forget_price(trainer_id trainer) { prices_.erase(trainer); }

  /// A trainer works on a lease from now on.
  /// @param studies that wait for what it trains first
  /// REQUIRES: the lease is not here.
  void begin(lease_id lease_number, trainer_id trainer,
             const std::vector<study_no>& studies);

  /// A lease trains what these studies wait for from now on. Without any it
  /// goes on to count for those that it did: it ends soon.
  void serve(lease_id lease_number, const std::vector<study_no>& studies);

  /// A lease has failed: so many seconds of a device count as had by those that
  /// it is for, divided among them as its time is. REQUIRES: it is here.
  void charge(lease_id lease_number, double seconds);

  /// A lease has ended. REQUIRES: it is here.
  void end(lease_id lease_number);

  /// Returns the studies that have had their budgets, each once for each.
  std::vector<spent_study> take_spent();

  /// Returns what each study has had since it was returned last, of those that
  /// have had at least `least` seconds since, or have had a budget.
  std::vector<served_study> take_served(double least);

  // -- looking ----------------------------------------------------------------

  /// Whether a study has a budget that it has not had.
  [[nodiscard]] bool has_budgets() const { return !budgets_.empty(); }
  /// The cost of a study's time since the ledger began.
  [[nodiscard]] double cost(study_no study) const { return books_[study].cost; }
  [[nodiscard]] const fair_shares& shares() const { return shares_; }
  /// The moment up to which time is booked.
  [[nodiscard]] moment advanced_to() const { return advanced_to_; }
  [[nodiscard]] bool has(lease_id lease) const {
    return leases_.count(lease) > 0;
  }
  [[nodiscard]] std::size_t leases() const { return leases_.size(); }
  /// Returns the studies that a lease counts for.
  [[nodiscard]] std::vector<study_no> beneficiaries(lease_id lease) const;
  /// Returns the shares as they will be once a lease has ended, and those that
  /// it is for wait.
  [[nodiscard]] fair_shares projected_without(lease_id lease) const;

  void check_invariants() const;

private:
  struct entry {
    trainer_id trainer{};
    double price = 0; ///< of a second of the trainer
    double part = 1; ///< of the trainer's time that counts as the lease's
    /// The studies that it is for, and their parts of the trainer.
    std::vector<std::pair<study_no, double>> beneficiaries;
  };

  /// Divides a trainer's time anew among the leases that it has now.
  void divide(trainer_id trainer);
  void take_back(entry& place);
  /// Lets a study hold more of a lease's trainer, or less.
  void hold(const entry& place, study_no study, double part);

  /// Beside what the shares know of a study.
  struct book {
    double rate = 0; ///< what a second costs now
    double cost = 0; ///< up to now
    // Of seconds and cost, what was returned:
    double taken_seconds = 0;
    double taken_cost = 0;
    bool is_due = false; ///< to be returned, however little it is
    std::uint64_t raises = 0; ///< of its budgets
  };
  struct budget {
    study_no study{};
    study_limit what{};
    double most = 0;
  };

  fair_shares shares_;
  moment advanced_to_;
  std::vector<budget> budgets_; ///< that studies have not had
  std::vector<budget> spent_;   ///< that they have
  by_id<study_no, book> books_;
  std::map<trainer_id, double> prices_; ///< of an hour
  std::map<lease_id, entry> leases_;
  std::map<trainer_id, std::vector<lease_id>> by_trainer_;
};

} // namespace hippo
