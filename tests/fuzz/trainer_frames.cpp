// What comes over the connection between a service and a trainer: bytes in
// pieces. The first byte says who sends them and how large the pieces are.

#include "fuzz/target.hpp"
#include "link/check_frames.hpp"

namespace hippo::fuzz {

namespace {

void handle(std::string_view input) {
  if (input.empty())
    return;
  const auto first = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  test::check_frames(
    {reinterpret_cast<const kj::byte*>(input.data()), input.size()},
    first % 2 == 0 ? link_side::trainer : link_side::service,
    std::size_t{1} + first / 2u * (first / 2u));
}

} // namespace

// The words: the greeting, an empty frame, headers of a hello, of a report and
// of what is far too long.
const target trainer_frames{
  "trainer_frames",
  handle,
  {std::string{link_greeting}, std::string("\0\0\0\0\1\0\0\0", 8),
   std::string("\2\0\0\0\2\0\0\0", 8), std::string("\2\0\0\0\7\0\0\0", 8),
   std::string("\xff\xff\xff\x7f\4\0\0\0", 8)},
  16 << 20};

} // namespace hippo::fuzz
