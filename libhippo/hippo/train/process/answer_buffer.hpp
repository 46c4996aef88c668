#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <capnp/common.h>
#include <kj/array.h>

namespace hippo {

/// Puts messages of Cap'n Proto together from what has come of them. Memory
/// follows what has come, not what a message says of its size.
class answer_buffer {
public:
  /// @param words_max of a message, its segment table included
  explicit answer_buffer(std::size_t words_max) : words_max_(words_max) {}

  /// Returns where the next bytes are to be read to; at least one.
  std::span<char> room();

  /// Says how many of the last `room` have been used.
  void add(std::size_t bytes);

  /// Whether a part of a message has come.
  [[nodiscard]] bool has_begun() const noexcept { return bytes_ > 0; }

  /// @returns the next message once all of it has come
  /// @throws std::runtime_error if it is, or says it is, too large
  std::optional<kj::Array<capnp::word>> take();

private:
  std::size_t words_max_;
  kj::Array<capnp::word> words_;
  std::size_t bytes_ = 0; ///< that have come, from the begin of `words_`
};

} // namespace hippo
