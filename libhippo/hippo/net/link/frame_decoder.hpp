#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "hippo/net/link/frame.hpp"

namespace hippo {

/// Takes frames out of what comes over a connection, in pieces of any size.
/// A frame that is not allowed is refused with its header. Memory follows what
/// has come, whatever a header announces: at most twice that, beside one step.
class frame_decoder {
public:
  /// @param sender whose frames come
  explicit frame_decoder(link_side sender) : sender_(sender) {}

  /// Takes in the next bytes.
  /// @param out receives the frames that they complete
  /// @returns why the peer may go no further: `errc::malformed_message`.
  ///          Nothing is taken in after that
  std::optional<error> feed(kj::ArrayPtr<const kj::byte> bytes,
                            std::vector<frame>& out);

  /// Whether the peer has sent the greeting.
  [[nodiscard]] bool is_greeted() const noexcept {
    return greeted_ == link_greeting.size();
  }

  /// Whether the peer has begun something that it has not ended.
  [[nodiscard]] bool is_amid() const noexcept {
    return (greeted_ > 0 && !is_greeted()) || header_size_ > 0;
  }

  /// How many bytes of the unfinished frame have come.
  [[nodiscard]] std::size_t bytes_begun() const noexcept {
    return header_size_ + filled_;
  }

  /// The memory that the unfinished frame has, in bytes.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    return message_.size() * sizeof(capnp::word);
  }

private:
  std::optional<error> take_greeting(kj::ArrayPtr<const kj::byte>& bytes);
  std::optional<error> take_header(kj::ArrayPtr<const kj::byte>& bytes);
  void take_message(kj::ArrayPtr<const kj::byte>& bytes);

  link_side sender_;
  std::size_t greeted_ = 0; ///< bytes of the greeting that have come
  bool is_first_ = true;
  std::optional<error> failed_;

  std::array<kj::byte, frame_header_bytes> header_{};
  std::size_t header_size_ = 0; ///< that have come
  frame_type type_{};
  std::size_t words_ = 0;             ///< that are to come
  kj::Array<capnp::word> message_;    ///< has room for some of them
  std::size_t filled_ = 0;            ///< bytes of it
};

} // namespace hippo
