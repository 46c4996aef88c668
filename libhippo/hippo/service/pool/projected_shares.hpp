#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/plan/schedule/fair_shares.hpp"
#include "hippo/service/pool/kind_gains.hpp"
#include "hippo/service/pool/pool_view.hpp"

namespace hippo {

/// The shares as they will be once every trainer that was asked back is with
/// the merger that it is reserved for.
class projected_shares {
public:
  explicit projected_shares(const pool_view& view);

  /// A merger gets another one's trainer.
  void move(std::size_t from, std::size_t to);
  /// A merger gets a trainer that nobody has.
  void grant(std::size_t to);
  /// The same of one that helps it.
  void lend(std::size_t to) { shares_.hold(to, 1); }
  /// Nothing can be asked back for that merger.
  void pass(std::size_t place);

  [[nodiscard]] const fair_shares& shares() const noexcept { return shares_; }
  /// Whether a trainer would first be given to a merger that was passed.
  [[nodiscard]] bool is_spoken_for(const pool_view& view,
                                   const pool_trainer& trainer) const;

private:
  fair_shares shares_;
  std::vector<std::uint64_t> wanted_; ///< by place
  std::vector<std::size_t> passed_;   ///< mergers that are asked for no more
};

/// The merger that a trainer goes to, by shares as they are or will be: the one
/// whose turn it is, or one that gains more by the trainer's kind and is not
/// too far ahead of it. Nothing: nobody that waits could use it.
std::optional<std::size_t> next_for(const pool_view& view,
                                    const kind_gains& gains,
                                    const pool_trainer& trainer,
                                    const fair_shares& shares);

/// The merger that a trainer may help which nobody has a use for alone: of
/// those that could use it, the one that is behind the others. Nothing: there
/// is none.
std::optional<std::size_t> next_helped(const pool_view& view,
                                       const pool_trainer& trainer,
                                       const fair_shares& shares);

/// A trainer that a merger may be asked for.
struct yield_candidate {
  trainer_id trainer{};
  std::size_t from = 0; ///< place of the merger
  friend bool operator==(const yield_candidate&,
                         const yield_candidate&) = default;
};

/// Finds the trainer that can best be asked back for a merger: of those that
/// are of use to it, one of the merger that is ahead the most; there one by
/// whose kind it gains most beside what is lost, and of those the one that was
/// granted first.
std::optional<yield_candidate> candidate_for(const pool_view& view,
                                             const kind_gains& gains,
                                             const projected_shares& next,
                                             std::size_t to);

/// Finds a trainer that only helps another merger, of use to this one: of the
/// merger that is ahead the most, one without a lease if it has such.
std::optional<yield_candidate>
helper_for(const pool_view& view, const projected_shares& next, std::size_t to);

} // namespace hippo
