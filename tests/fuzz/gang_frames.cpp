// Bytes between members of a gang: a greeting or, of another first byte, the
// frames of a connection, of which some calls await values.

#include <algorithm>
#include <array>
#include <span>

#include <sys/socket.h>

#include "fuzz/target.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/gang/gang_greeting.hpp"
#include "hippo/train/gang/member_connection.hpp"

namespace hippo::fuzz {

namespace {

/// Room for as many bytes in a connection that nobody reads yet.
constexpr std::size_t input_bytes_max = 64 << 10;

void greet(std::string_view input) {
  const auto bytes = std::as_bytes(std::span{input});
  const auto greeting = gang_greeting::read(bytes);
  if (!greeting)
    return;
  require(std::ranges::equal(greeting->write(), bytes),
          "a greeting is another one once it is written");
  require(!greeting->is_proved_by("a secret that nobody has"),
          "a greeting proves that its sender knows an unknown secret");
}

/// @param values one call in so many awaits values; 0: none
void talk(std::string_view input, unsigned values) {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                       ends.data())
            == 0,
          "there is no socket");
  const file_descriptor other{ends[1]};
  member_connection connection{member_socket{file_descriptor{ends[0]}},
                               "member 1",
                               {},
                               [] { return false; },
                               member_connection::cancel_way::hurries};
  input = input.substr(0, input_bytes_max);
  require(::send(other.number(), input.data(), input.size(), MSG_NOSIGNAL)
            == static_cast<ssize_t>(input.size()),
          "there is no room for the input");
  ::shutdown(other.number(), SHUT_WR);
  std::array<std::byte, 24> own{}, others{};
  // Each call takes a frame, of 16 bytes or more.
  for (std::size_t calls = 0; calls <= input.size() / 16; ++calls)
    try {
      if (values != 0 && calls % values == 0)
        connection.exchange(own, others);
      else
        connection.receive();
    } catch (const gang_lost& e) {
      const std::string_view text = e.what();
      require(utf8_prefix(text) == text.size(), "an error is no text");
      connection.say_last(member_connection::frame_kind::lost, e.what());
      return;
    }
  require(false, "more frames have come than were sent");
}

void handle(std::string_view input) {
  if (input.empty())
    return;
  const unsigned first = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  if (first == 0)
    greet(input);
  else
    talk(input, first % 4);
}

} // namespace

// The words: headers of a sign of life, of the values that are awaited, of
// steps, of a failure and of a frame that is too long.
const target gang_frames{"gang_frames",
                         handle,
                         {std::string("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16),
                          std::string("\2\0\0\0\0\0\0\0\x18\0\0\0\0\0\0\0", 16),
                          std::string("\3\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0", 16),
                          std::string("\5\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16),
                          std::string("\6\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0", 16),
                          "hippogg1"},
                         1 << 20};

} // namespace hippo::fuzz
