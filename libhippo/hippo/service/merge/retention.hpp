#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "hippo/plan/schedule/collect.hpp"
#include "hippo/plan/search_plan.hpp"

namespace hippo {

/// A checkpoint of a plan that no study is trained on.
struct idle_checkpoint {
  plan_checkpoint what;
  step_t steps = 0; ///< to train it again from the one before
};

/// Chooses the checkpoints to evict so that `bytes` become free, as
/// `collect_checkpoints` does, of a plan that no study is trained on.
std::vector<idle_checkpoint> collect_idle(const search_plan& plan,
                                          std::uint64_t bytes);

/// Keeps the checkpoints of a plan within their budget.
///
/// @invariant `bytes` is the sum over the plan's checkpoints
class retention {
public:
  /// @param bytes that the plan's checkpoints take already
  /// @param base the plan's `parts_base`, if it has one
  retention(std::uint64_t bytes, std::uint64_t limit, checkpoint base = {})
    : bytes_(bytes), limit_(limit), base_(std::move(base)) {}

  /// The checkpoints may take so many bytes from now on.
  void set_limit(std::uint64_t bytes);

  /// A checkpoint has come into the plan, or was taken out of it.
  void add(const checkpoint& checkpoint);
  void remove(const checkpoint& checkpoint);

  /// Whether checkpoints are to be evicted: they take more than the limit, and
  /// more have come since no more could go.
  [[nodiscard]] bool is_due() const;

  /// Chooses what to evict, the cheapest to train again first, so that a part
  /// of the limit is free afterwards. The caller takes it out of the plan,
  /// calls `remove` for each, and then `note_evicted`.
  /// REQUIRES: `is_due()`
  /// @param spares_base whether leases may be saving states that have parts in
  ///        the base
  [[nodiscard]] std::vector<plan_checkpoint>
  choose_victims(const search_plan& plan, const stage_tree& tree,
                 bool spares_base) const;

  /// Notes that all of what `choose_victims` returned is gone.
  void note_evicted();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Returns a checkpoint whose parts others need not hold again, always the
  /// same one as long as it is kept; no file: there is none.
  [[nodiscard]] const checkpoint& base() const { return base_; }

  void check_invariants(const search_plan& plan) const;

private:
  /// Bytes that an eviction leaves free, so that another is not due at once.
  [[nodiscard]] std::uint64_t slack() const;

  std::uint64_t bytes_;
  std::uint64_t limit_;
  /// Less than this cannot be reached: not worth looking before there are more.
  std::uint64_t needed_ = 0;
  checkpoint base_;
};

/// Whether a checkpoint can be the base of others: it has all of its parts
/// itself.
bool is_base(const checkpoint& checkpoint);

} // namespace hippo
