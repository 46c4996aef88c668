#pragma once

#include <chrono>
#include <map>
#include <set>

#include "hippo/base/backoff.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/service/merge/moment.hpp"

namespace hippo {

/// Trainers that a merger holds without a lease until there are enough of them
/// for a path of several ranks. It does so at the cost of others for a while
/// only: then it gives them all back and *rests*, longer each time, until a
/// path begins. Two mergers that hold what the other one lacks so get on, one
/// after the other.
class collecting {
public:
  /// A trainer is held for so long although others need it.
  static constexpr std::chrono::seconds held_max{10};
  /// How long a merger rests: at first, and at most.
  static constexpr std::chrono::seconds rest_first{10};
  static constexpr std::chrono::seconds rest_last{240};

  /// These are held without a lease.
  void hold(const std::set<trainer_id>& trainers, moment now);
  /// The pool asks for a trainer. @returns false if it is none of these
  bool ask_back(trainer_id trainer);
  /// All are given back. @returns how long the merger rests
  std::chrono::milliseconds give_back();
  /// A path has begun on some of them.
  void note_begun() { rests_.reset(); }

  /// Whether others have needed a trainer that has been held for long.
  [[nodiscard]] bool is_due(moment now) const;
  /// Whether others need that trainer.
  [[nodiscard]] bool is_asked_back(trainer_id trainer) const;

private:
  struct entry {
    moment since;
    bool asked_back = false;
  };
  std::map<trainer_id, entry> held_;
  backoff rests_{rest_first, rest_last};
};

} // namespace hippo
