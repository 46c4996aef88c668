#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include <kj/async.h>
#include <kj/refcount.h>

namespace hippo {

/// Bytes that answers may take while they are made and until they have been
/// taken. Who finds no room waits for it, in the order of asking.
///
/// Belongs to one event loop.
class answer_budget {
public:
  explicit answer_budget(std::size_t most) : most_(most) {}
  answer_budget(const answer_budget&) = delete;
  answer_budget& operator=(const answer_budget&) = delete;

  /// A part of a budget, given back when it is destroyed.
  class share {
  public:
    share() = default;
    share(share&& x) noexcept
      : of_(std::exchange(x.of_, nullptr)), bytes_(x.bytes_) {}
    share& operator=(share&& x) noexcept {
      std::swap(of_, x.of_);
      std::swap(bytes_, x.bytes_);
      return *this;
    }
    ~share() { resize(0); }

    /// From now on it is this much, which may be more than there is room for.
    void resize(std::size_t bytes);

  private:
    friend class answer_budget;
    share(answer_budget& of, std::size_t bytes) : of_(&of), bytes_(bytes) {}

    answer_budget* of_ = nullptr;
    std::size_t bytes_ = 0;
  };

  /// Waits for room, of which nothing needs none. What is larger than all of
  /// it has room once nobody else has any.
  /// REQUIRES: `*this` outlives the share.
  kj::Promise<share> take(std::size_t bytes);

  [[nodiscard]] std::size_t used() const noexcept { return used_; }

private:
  struct waiting {
    std::size_t bytes;
    kj::Own<kj::PromiseFulfiller<share>> who;
  };

  [[nodiscard]] bool fits(std::size_t bytes) const noexcept {
    return used_ == 0 || (used_ < most_ && bytes <= most_ - used_);
  }
  share grant(std::size_t bytes);
  void serve_waiting();

  const std::size_t most_;
  std::size_t used_ = 0;
  std::deque<waiting> waiting_;
};

/// What the answers to one client take: a part of its own budget and of that of
/// all clients, from before they are made until they have been written.
class answer_ledger final : public kj::Refcounted {
public:
  /// REQUIRES: `all` outlives `*this`.
  answer_ledger(answer_budget& all, std::size_t most)
    : all_(all), own_(most) {}

  /// The room for one answer.
  struct entry {
    answer_budget::share own;
    answer_budget::share of_all;
    std::size_t unwritten = 0; ///< bytes
  };

  /// Waits for room for an answer of about so many bytes.
  kj::Promise<entry> open(std::size_t bytes);

  /// The answer is made, and so large; its room is given back when it has been
  /// written.
  void post(entry x, std::size_t bytes);

  /// So many bytes have been written to the client.
  void note_written(std::size_t bytes);

private:
  answer_budget& all_;
  answer_budget own_;
  std::deque<entry> posted_; ///< in the order in which they are written
};

} // namespace hippo
