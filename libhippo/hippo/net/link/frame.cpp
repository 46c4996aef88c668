#include "hippo/net/link/frame.hpp"

#include <algorithm>
#include <string>

namespace hippo {

static_assert(link_greeting.size() == 32);

std::array<kj::byte, frame_header_bytes> header_of(const frame& frame) {
  const auto words =
    static_cast<std::uint32_t>(frame.message ? frame.message->size() : 0);
  std::array<kj::byte, frame_header_bytes> result{};
  for (std::size_t i = 0; i < 4; ++i)
    result[i] = static_cast<kj::byte>(words >> (8 * i));
  result[4] = static_cast<kj::byte>(frame.type);
  return result;
}

expected<std::pair<frame_type, std::size_t>>
read_header(kj::ArrayPtr<const kj::byte> header, link_side sender,
            bool is_first) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < 4; ++i)
    words |= std::size_t{header[i]} << (8 * i);
  const auto number = header[4];
  const auto rule = std::find_if(
    frame_rules.begin(), frame_rules.end(),
    [=](const auto& x) { return static_cast<kj::byte>(x.type) == number; });
  const auto refuse = [](std::string why) {
    return error{errc::malformed_message, std::move(why)};
  };
  if (rule == frame_rules.end() || header[5] != 0 || header[6] != 0
      || header[7] != 0)
    return refuse("it sends what is no frame of this protocol");
  const auto text = "a frame of type " + std::to_string(number);
  const bool is_trainer = sender == link_side::trainer;
  if (!(is_trainer ? rule->from_trainer : rule->from_service))
    return refuse("it sends " + text + ", which a "
                  + (is_trainer ? "trainer" : "service") + " may not");
  const auto first = is_trainer ? frame_type::hello : frame_type::welcome;
  if (is_first && rule->type != first)
    return refuse("it sends " + text + " before it has said who it is");
  if (words > rule->words_max || (words == 0) != (rule->words_max == 0))
    return refuse("it sends " + text + " of " + std::to_string(words)
                  + " words; there may be "
                  + std::to_string(rule->words_max));
  return std::pair{rule->type, words};
}

} // namespace hippo
