#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <capnp/common.h>
#include <kj/array.h>

#include "hippo/base/error.hpp"
#include "hippo/net/wire/wire.hpp"

namespace hippo {

// The content of the connection between a service and one of its trainers: a
// greeting, which is the same in every version, then frames. A frame is a
// header of 8 bytes and a Cap'n Proto message:
//
//     0..3  length of the message in 8-byte words, little-endian
//     4     its type
//     5..7  0

/// The greeting of either side. As long as the header of BASP, which trainers
/// before version 5 speak: they see at once that they are in the wrong place.
inline constexpr std::string_view link_greeting
  = "Hippo: trainers connect here. 1\n";

inline constexpr std::size_t frame_header_bytes = 8;

/// The content of a frame. Numbers are those on the wire: never reused.
enum class frame_type : std::uint8_t {
  alive = 1,   ///< nothing: the sender is there
  hello,       ///< `schema::Hello`, of a trainer that registers
  welcome,     ///< `schema::Welcome`, the answer
  lease,       ///< `schema::Lease`
  stop,        ///< `schema::Stop`
  cancel,      ///< `schema::Cancel`
  report,      ///< `schema::StopReport`
  ended,       ///< `schema::LeaseEnd`
  ack,         ///< `schema::Ack`
  resent,      ///< `schema::Resent`
  heartbeat,   ///< `schema::Heartbeat`
  lost,        ///< nothing: the trainer has to register anew
  goodbye,     ///< `schema::Goodbye`
  farewell,    ///< nothing: the answer
};

/// The sides of a connection.
enum class link_side : std::uint8_t { trainer, service };

/// The sender of a type of frame, and its maximal length.
struct frame_rule {
  frame_type type{};
  bool from_trainer = false;
  bool from_service = false;
  std::size_t words_max = 0; ///< of its message; 0: it has none
};

/// Words of a message without lists or text, and some for later versions.
inline constexpr std::size_t plain_words_max = 64;

/// Everything that may be said, and by whom; what is not here is refused before
/// memory is taken for it.
inline constexpr std::array<frame_rule, 14> frame_rules{{
  {frame_type::alive, true, true, 0},
  {frame_type::hello, true, false, (256 << 10) / 8},
  {frame_type::welcome, false, true, (128 << 10) / 8},
  {frame_type::lease, false, true, max_wire_words},
  {frame_type::stop, false, true, plain_words_max},
  {frame_type::cancel, false, true, plain_words_max},
  {frame_type::report, true, false, (8 << 20) / 8},
  {frame_type::ended, true, false, (256 << 10) / 8},
  {frame_type::ack, false, true, plain_words_max},
  {frame_type::resent, true, false, (8 << 20) / 8 + (64 << 10) / 8},
  {frame_type::heartbeat, true, false, plain_words_max},
  {frame_type::lost, false, true, 0},
  {frame_type::goodbye, true, false, plain_words_max},
  {frame_type::farewell, false, true, 0},
}};

/// A message on its way. Copies share it.
struct frame {
  using words_type = kj::Array<const capnp::word>;

  frame_type type{};
  std::shared_ptr<const words_type> message; ///< null: there is none

  /// Returns the message, which is not looked at.
  template <class Schema>
  [[nodiscard]] wire<Schema> as() const {
    return wire<Schema>{message};
  }

  /// Its approximate size on the way and in memory.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return frame_header_bytes
           + (message ? message->size() * sizeof(capnp::word) : 0);
  }
};

/// Makes a frame of a message.
template <class Schema>
frame make_frame(frame_type type, const wire<Schema>& message) {
  return {type, message.shared()};
}

/// Returns what goes before the message.
std::array<kj::byte, frame_header_bytes> header_of(const frame& frame);

/// Checks a header.
/// @param sender who has sent it
/// @param is_first whether nothing came before: only a trainer's `hello` and a
///        service's `welcome` may
/// @returns type and length in words, or `errc::malformed_message`
expected<std::pair<frame_type, std::size_t>>
read_header(kj::ArrayPtr<const kj::byte> header, link_side sender,
            bool is_first);

} // namespace hippo
