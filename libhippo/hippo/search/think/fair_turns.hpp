#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace hippo {

/// The owner of a job.
enum class job_kind : std::uint8_t {
  decision,  ///< of a study: which values come next
  admission, ///< a study is read and checked, for a client who waits
  question,  ///< a preview, say: nothing waits but the client who asked
};
inline constexpr std::size_t job_kinds = 3;

/// On whose behalf jobs run; from 1, never used again.
enum class party_no : std::uint64_t {};
enum class job_no : std::uint64_t {};

/// Decides which job runs next on a few threads: parties take turns, one job a
/// turn, and a party has one job at a time, in the order in which they came.
///
/// Kinds do not wait for each other: of each kind of which nothing runs, one
/// thread is kept free.
///
/// Pure: the same calls give the same turns.
/// @invariant at most one job of a party runs
/// @invariant as many threads are free as there are kinds of which nothing runs
/// @invariant between a job's arrival at the head of its party and its begin,
///            each other party of its kind begins at most one job
class fair_turns {
public:
  /// REQUIRES: `threads >= job_kinds`
  explicit fair_turns(std::size_t threads);

  party_no join(job_kind kind);

  /// A job waits. REQUIRES: the party has joined and has not left.
  job_no add(party_no party);

  struct turn {
    job_no job{};
    party_no party{};
  };
  /// Begins the next job; nothing: none may begin now. O(log parties).
  std::optional<turn> take();

  /// A job that was begun has ended.
  void end(job_no job);

  struct departure {
    std::vector<job_no> dropped;   ///< which waited and will never begin
    std::optional<job_no> running; ///< whose end is yet to be told
  };
  /// A party has gone. Nothing happens if it has left before.
  departure leave(party_no party);

  // -- looking ----------------------------------------------------------------

  /// Jobs of a party that wait; 0 if it has left.
  [[nodiscard]] std::size_t waiting(party_no party) const;
  /// Jobs that run.
  [[nodiscard]] std::size_t running() const noexcept {
    return jobs_.size();
  }
  [[nodiscard]] std::size_t parties() const noexcept {
    return parties_.size();
  }
  /// Whether a job waits that could begin if another one paused.
  [[nodiscard]] bool has_waiting() const;

  /// Asserts what is said above. Does nothing in release builds.
  void check_invariants() const;

private:
  struct party {
    job_kind kind{};
    std::deque<job_no> waiting;
    std::optional<job_no> running;
    bool has_left = false; ///< kept until its job has ended
  };
  struct kind_turns {
    std::deque<party_no> next; ///< parties that wait for their turn
    std::size_t running = 0;
  };

  [[nodiscard]] kind_turns& turns_of(job_kind job_kind) {
    return kinds_[static_cast<std::size_t>(job_kind)];
  }
  [[nodiscard]] bool may_begin(const kind_turns& turns) const;

  std::size_t threads_;
  std::uint64_t last_party_ = 0;
  std::uint64_t last_job_ = 0;
  std::size_t next_kind_ = 0; ///< which is looked at first
  std::array<kind_turns, job_kinds> kinds_;
  std::map<party_no, party> parties_;
  std::map<job_no, party_no> jobs_; ///< that run
};

} // namespace hippo
