#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "hippo/search/think/fair_turns.hpp"

namespace hippo {

/// The questions that a running job can ask.
class job_turn {
public:
  virtual ~job_turn() = default;

  /// Whether the job should pause: it has had its time. What is left is posted
  /// again, and goes on when the others have had their turns.
  [[nodiscard]] virtual bool is_over() const = 0;

  /// Whether nobody wants the result any more.
  [[nodiscard]] virtual bool is_cancelled() const = 0;
};

/// Where jobs run that may take long: in fair turns by party (`fair_turns`), on
/// threads that do nothing else. Jobs bring their results back themselves, by a
/// message. Nothing that a job throws leaves it.
///
/// Thread-safe.
class thinking {
public:
  using job = std::function<void(const job_turn&)>;

  virtual ~thinking() = default;

  virtual party_no join(job_kind kind) = 0;
  /// Jobs of the party that wait never begin; one that runs is told.
  virtual void leave(party_no party) = 0;
  /// REQUIRES: the party has joined and has not left.
  virtual void post(party_no party, job work) = 0;
  /// Jobs of the party that wait.
  [[nodiscard]] virtual std::size_t waiting(party_no party) const = 0;
};

/// A party's place: it joins, and leaves with this.
class thinking_place {
public:
  thinking_place() = default;
  thinking_place(std::shared_ptr<thinking> where, job_kind kind)
    : where_(std::move(where)), party_(where_->join(kind)) {}
  ~thinking_place() { leave(); }
  thinking_place(thinking_place&& place) noexcept
    : where_(std::move(place.where_)), party_(place.party_) {}
  thinking_place& operator=(thinking_place&& place) noexcept {
    leave();
    where_ = std::move(place.where_);
    party_ = place.party_;
    return *this;
  }

  void post(thinking::job job) { where_->post(party_, std::move(job)); }
  [[nodiscard]] std::size_t waiting() const { return where_->waiting(party_); }

private:
  void leave() {
    if (const auto x = std::exchange(where_, nullptr))
      x->leave(party_);
  }

  std::shared_ptr<thinking> where_;
  party_no party_{};
};

/// Runs each job at once, where it is posted: for runs in virtual time, in
/// which no time passes while something is worked out.
class thinking_at_once final : public thinking {
public:
  party_no join(job_kind) override { return party_no{++last_}; }
  void leave(party_no) override {}
  void post(party_no party, job work) override;
  [[nodiscard]] std::size_t waiting(party_no) const override { return 0; }

private:
  std::uint64_t last_ = 0;
};

} // namespace hippo
