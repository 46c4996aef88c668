#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "hippo/core/error.hpp"
#include "hippo/core/ids.hpp"

namespace hippo {

/// What the books of a service's studies and plans take in memory, in bytes,
/// and what is refused because of it: new studies once all together have come
/// to the limit, and new trials of a client's study also once that study has
/// come to half of it, so that one study leaves room for others. What has begun
/// goes on.
///
/// A study's share is its own books, and an equal part of those of its plan.
/// Pure: the same calls give the same answers.
/// @invariant `total()` is the sum of what was noted last of each study and
///            plan
class memory_shares {
public:
  /// @param limit in bytes; nothing: nothing is refused
  explicit memory_shares(std::optional<std::uint64_t> limit = std::nullopt)
    : limit_(limit) {}

  /// A study of the plan of a workload key is there; counts as `bytes` until
  /// more is known of it.
  void add_study(study_id id, std::string workload_key,
                 std::uint64_t bytes);
  void remove_study(study_id id);
  void remove_plan(const std::string& workload_key);

  /// Its books take so much now. Nothing happens if the study is not there.
  void note_study(study_id id, std::uint64_t bytes);
  void note_plan(const std::string& workload_key, std::uint64_t bytes);

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] bool is_limited() const noexcept { return limit_.has_value(); }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// @returns 0 if the study is not there. O(log studies).
  [[nodiscard]] std::uint64_t share_of(study_id study) const;
  /// Whether everything together has come to the limit.
  [[nodiscard]] bool is_full() const noexcept {
    return limit_ && total_ >= *limit_;
  }

  /// Why no new study is taken, if so: one sentence for who submits one.
  [[nodiscard]] std::optional<error> refusal_of_study() const;
  /// Why a study may ask for no new trials, if so: likewise for its client.
  [[nodiscard]] std::optional<error>
  refusal_of_trial(study_id study) const;

  /// Asserts what is said above. Does nothing in release builds.
  void check_invariants() const;

private:
  struct study_entry {
    std::string workload_key;
    std::uint64_t bytes = 0;
  };
  struct plan_entry {
    std::uint64_t studies = 0; ///< that are there
    std::uint64_t bytes = 0;
  };

  /// A study takes one part of so many of the limit.
  static constexpr std::uint64_t study_divisor = 2;

  std::optional<std::uint64_t> limit_;
  std::uint64_t total_ = 0;
  std::map<study_id, study_entry> studies_; ///< by id
  std::map<std::string, plan_entry> plans_;      ///< by workload key
};

} // namespace hippo
