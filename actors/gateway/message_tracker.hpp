#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hippo {

/// Follows where the Cap'n Proto messages of a stream begin and end, without
/// decoding them: the table before each says how long it is.
class message_tracker {
public:
  /// Takes the next bytes of the stream.
  /// @returns how many messages have come to their end in them
  std::size_t take(std::span<const std::byte> bytes) noexcept;

  /// Whether a message has begun and is not there as a whole.
  [[nodiscard]] bool is_inside() const noexcept {
    return begun_ || in_word_ > 0;
  }

  /// How long the message is that has begun, as far as its table has said.
  [[nodiscard]] std::uint64_t announced() const noexcept { return announced_; }

private:
  void read_word() noexcept;

  std::array<std::byte, 8> word_{}; ///< of a table
  std::size_t in_word_ = 0;         ///< bytes of it that are there
  bool begun_ = false;              ///< its first word is there
  std::uint64_t sizes_left_ = 0;    ///< of segments, in words yet to come
  std::uint64_t segments_ = 0;      ///< bytes, by those that have come
  std::uint64_t body_left_ = 0;     ///< bytes yet to come
  std::uint64_t announced_ = 0;
};

} // namespace hippo
