#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/forecast/machines/machines.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/model/trainers_cost.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/pool/events.hpp"
#include "hippo/service/pool/pool_trainer.hpp"

namespace hippo {

/// It is said this long after the first trainer has come which devices of the
/// list of machines none has.
inline constexpr std::chrono::seconds listed_devices_after{60};

/// The list of machines that trainers may be on, if there is one: on which a
/// trainer is, and what trainers have cost.
///
/// @invariant a trainer's machine is one of the list, and has its price
class machine_prices {
public:
  explicit machine_prices(std::optional<fleet> machines)
    : machines_(std::move(machines)) {}

  /// Finds out on which machine of the list a trainer is. It trains all the
  /// same if that is not known.
  /// @param said the kind that it gave; empty: none
  /// @returns what the log is to say; nothing: there is no list
  std::optional<pool_effect::log_line> place(pool_trainer& trainer,
                                             const std::string& said) const;

  /// A trainer has come.
  void note_joined(moment now);

  /// Keeps what a trainer has cost that is forgotten.
  void keep(const trainer_record& record);

  /// Returns once which devices of the list no trainer has, when those that are
  /// to come have had time to.
  /// @param reported the kinds of device of all trainers
  std::optional<pool_effect::log_line>
  take_missing(const std::set<std::string>& reported, moment now);

  /// Whether `take_missing` is due.
  [[nodiscard]] bool is_due(moment now) const;

  /// The costs of trainers whose machines are known, by kind, in the order of
  /// the list; those that were forgotten included.
  /// @param known those that were not
  [[nodiscard]] std::vector<trainers_cost>
  costs(const std::vector<trainer_record>& known) const;

  [[nodiscard]] bool has_list() const noexcept { return machines_.has_value(); }

  /// Asserts what is said above of one trainer.
  void check(const trainer_record& record) const;

private:
  std::optional<fleet> machines_;
  /// The costs of trainers that were forgotten, by kind of machine.
  std::map<std::string, trainers_cost> forgotten_;
  std::optional<moment> first_joined_;
  bool has_said_missing_ = false;
};

} // namespace hippo
