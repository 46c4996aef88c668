#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/service/pool/pool_trainer.hpp"

namespace hippo {

/// The trainers of a pool, and the last ones that are gone.
///
/// @invariant a trainer's number is that of its record, from 1, never given
///            twice
/// @invariant one that is gone is nobody's, and only one that is gone is said
///            to have left or to be lost
/// @invariant a trainer that a merger holds has been idle before, and does not
///            stall
/// @invariant a trainer is reserved only while another merger holds it
/// @invariant a sick trainer has been blamed
class trainer_table {
public:
  using map = std::map<trainer_id, pool_trainer>;

  /// Adds a trainer. It goes on with the rest of the last one of that name that
  /// is gone. @returns its number
  trainer_id add(pool_trainer trainer, moment now);

  /// Forgets those that have been gone for the longest, beyond
  /// `gone_trainers_max`. @returns their records
  std::vector<trainer_record> forget_gone();

  [[nodiscard]] map& all() noexcept { return all_; }
  [[nodiscard]] const map& all() const noexcept { return all_; }
  /// REQUIRES: it is known.
  [[nodiscard]] pool_trainer& at(trainer_id trainer) {
    return all_.at(trainer);
  }
  /// One that may be gone; null: there is none, or it is forgotten.
  [[nodiscard]] pool_trainer* find(trainer_id trainer);
  [[nodiscard]] const pool_trainer* find(trainer_id trainer) const;
  /// One that is connected; null: there is none.
  [[nodiscard]] pool_trainer* find_connected(trainer_id trainer);

  [[nodiscard]] bool any_is_there() const;
  /// The kinds of device of all that are known.
  [[nodiscard]] std::set<std::string> devices() const;
  /// Whether one of that name is gone.
  [[nodiscard]] bool has_gone(const std::string& name) const;
  /// How many are connected that no merger holds, and that have ended what they
  /// were given before.
  [[nodiscard]] std::uint64_t idle() const;
  /// Of those that are connected and have no lease, the time for which they
  /// have had none, in seconds: as their heartbeats say it.
  [[nodiscard]] std::map<trainer_id, double> idle_seconds(moment now) const;
  /// In order of their numbers. @param until up to when their time counts
  [[nodiscard]] std::vector<trainer_record> records(moment until) const;

  void check_invariants() const;

private:
  [[nodiscard]] const pool_trainer* last_gone(const std::string& name) const;

  map all_;
  trainer_id last_{};
};

} // namespace hippo
