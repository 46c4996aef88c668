#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace hippo {

/// The number of a study's trials that are in flight, and how many may be: a
/// given number, or as many as keep the trainers busy.
class concurrency_limit {
public:
  /// @param most 0: any number; nothing: one, and more by `widen`
  explicit concurrency_limit(std::optional<std::uint64_t> most)
    : most_(most == 0 ? std::numeric_limits<std::uint64_t>::max()
                      : most.value_or(1)),
      widens_(!most) {}

  [[nodiscard]] bool has_room() const noexcept { return size_ < most_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::uint64_t most() const noexcept { return most_; }

  /// Whether nothing more may start as long as nobody calls `widen`.
  [[nodiscard]] bool is_narrow() const noexcept {
    return widens_ && !has_room();
  }

  /// Lets so many trials more be in flight, unless their number was given.
  void widen(std::uint64_t trials) noexcept {
    if (widens_)
      most_ += trials;
  }

  void enter() noexcept { ++size_; }
  void leave() noexcept { --size_; }

private:
  std::uint64_t most_;
  bool widens_;
  std::uint64_t size_ = 0;
};

} // namespace hippo
