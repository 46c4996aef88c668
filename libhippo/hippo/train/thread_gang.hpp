#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "hippo/train/gang.hpp"

namespace hippo {

/// A gang whose members are threads of this process.
class thread_gang {
public:
  /// @param size a power of two
  explicit thread_gang(std::size_t size);
  thread_gang(const thread_gang&) = delete;
  thread_gang& operator=(const thread_gang&) = delete;

  [[nodiscard]] std::size_t size() const { return members_.size(); }

  /// Returns the place of a member, which lives as long as this.
  [[nodiscard]] gang& member(std::size_t rank) { return members_[rank]; }

  /// Calls `work(rank)` for every member, each on a thread of its own: for
  /// member 0 on this one. Returns when all have returned. Those that exchange
  /// with a member whose call has thrown, or has returned, get a `gang_lost`.
  /// Throws what the first member, by rank, has thrown that is no `gang_lost`,
  /// or that one if there is no other. One thread at a time calls it.
  void run(const std::function<void(std::size_t rank)>& work);

private:
  class member_place final : public gang {
  public:
    member_place(thread_gang& owner, std::size_t rank)
      : owner_(owner), rank_(rank) {}
    [[nodiscard]] std::size_t size() const override { return owner_.size(); }
    [[nodiscard]] std::size_t rank() const override { return rank_; }
    void exchange(std::size_t peer, std::span<const std::byte> out,
                  std::span<std::byte> in) override {
      owner_.exchange(rank_, peer, out, in);
    }

  private:
    thread_gang& owner_;
    std::size_t rank_;
  };

  /// The bytes that a member has for another one, which copies them.
  struct offer {
    enum class state : std::uint8_t { none, open, copying, taken };
    state now = state::none;
    std::size_t peer = 0;
    std::span<const std::byte> bytes;
  };

  void exchange(std::size_t rank, std::size_t peer,
                std::span<const std::byte> out, std::span<std::byte> in);

  std::vector<member_place> members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<offer> offers_; ///< by rank
  std::vector<bool> is_gone_; ///< whose call has returned or thrown
  bool is_lost_ = false;      ///< a call has thrown
};

} // namespace hippo
