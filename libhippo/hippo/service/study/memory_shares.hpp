#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"

namespace hippo {

/// The memory of a service's studies and plans, in bytes, and the work that is
/// refused because of it, so that all together stay within the limit, and one
/// study leaves half of it to others.
///
/// A study *reserves* what it may take before anything of it is trained: what
/// is not there is not let in. Later it takes its own books, and of its plan's
/// the part that its trials' segments are of those of all studies that are
/// there. Its *share* is what it takes or has reserved, whichever is more. A
/// study that has come to its half, or is above an equal part of the limit when
/// all is taken, gets no new trials; others notice nothing.
///
/// Pure: the same calls give the same answers.
/// @invariant `total()` is the sum of the shares, and of plans without a study
class memory_shares {
public:
  /// @param limit in bytes; nothing: nothing is refused
  explicit memory_shares(std::optional<std::uint64_t> limit = std::nullopt)
    : limit_(limit) {}

  /// A study of the plan of a workload key is there, and may take so many
  /// bytes before anything of it is trained.
  void add_study(study_id id, std::string workload_key,
                 std::uint64_t reserved);
  void remove_study(study_id id);
  void remove_plan(const std::string& workload_key);

  /// Its books take so much now. Nothing happens if the study is not there.
  void note_study(study_id id, std::uint64_t bytes);
  /// @param segments of the trials of each study, also of those that are gone
  void note_plan(const std::string& workload_key, std::uint64_t bytes,
                 const std::map<study_id, std::uint64_t>& segments);

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] bool is_limited() const noexcept { return limit_.has_value(); }
  /// O(1) unless something has been noted since, then O(studies + plans).
  [[nodiscard]] std::uint64_t total() const;
  /// @returns 0 if the study is not there. As `total`.
  [[nodiscard]] std::uint64_t share_of(study_id study) const;
  /// Whether everything together has come to the limit.
  [[nodiscard]] bool is_full() const { return limit_ && total() >= *limit_; }
  /// How much a new study's first trials may take; nothing: as much as they do.
  [[nodiscard]] std::optional<std::uint64_t> first_bytes_max() const;

  /// Why no new study is taken that would reserve so much, if so: one sentence
  /// for who submits it.
  [[nodiscard]] std::optional<error>
  refusal_of_study(std::uint64_t reserved) const;
  /// Why a client may ask for no new trials of a study, if so: likewise.
  [[nodiscard]] std::optional<error> refusal_of_trial(study_id study) const;
  /// Why a study that decides by itself is to rest, if so. It is to rest until
  /// there is a little more room than that.
  [[nodiscard]] std::optional<error> reason_to_rest(study_id study,
                                                    bool rests) const;

  /// Asserts what is said above. Does nothing in release builds.
  void check_invariants() const;

private:
  struct study_entry {
    std::string workload_key;
    std::uint64_t reserved = 0;
    std::uint64_t bytes = 0;    ///< of its own books
    std::uint64_t segments = 0; ///< of its trials in the plan
    std::uint64_t share = 0;    ///< as of `settle`
  };
  struct plan_entry {
    std::uint64_t studies = 0; ///< that are there
    std::uint64_t bytes = 0;
    std::uint64_t segments = 0; ///< of these
  };

  /// Works the shares out.
  void settle() const;
  [[nodiscard]] std::uint64_t half() const { return *limit_ / study_divisor; }
  [[nodiscard]] error above_half(study_id study,
                                 const std::string& refused) const;

  /// A study takes one part of so many of the limit.
  static constexpr std::uint64_t study_divisor = 2;

  std::optional<std::uint64_t> limit_;
  mutable std::map<study_id, study_entry> studies_; ///< by id
  std::map<std::string, plan_entry> plans_;         ///< by workload key
  mutable bool settled_ = true;
  mutable std::uint64_t total_ = 0;
};

} // namespace hippo
