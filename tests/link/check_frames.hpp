#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "hippo/net/link/frame_decoder.hpp"

namespace hippo::test {

/// Feeds a decoder with any bytes, in pieces, and aborts if it does what it
/// must not: lets a frame pass that the sender may not send, or holds more
/// memory than twice what has come. For fuzzers.
/// @param piece length of the pieces, at least 1
/// @returns the frames that pass
inline std::vector<frame> check_frames(kj::ArrayPtr<const kj::byte> bytes,
                                       link_side sender, std::size_t piece) {
  const auto require = [](bool holds) {
    if (!holds)
      std::abort();
  };
  frame_decoder decoder{sender};
  std::vector<frame> result;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto end = std::min(bytes.size(), at + piece);
    const auto failed = decoder.feed(bytes.slice(at, end), result);
    require(decoder.held_bytes() <= std::max<std::size_t>(4096, 2 * end));
    if (failed)
      break;
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto& x = result[i];
    const auto words = x.message ? x.message->size() : 0;
    const auto rule
      = std::find_if(frame_rules.begin(), frame_rules.end(),
                     [&](const auto& y) { return y.type == x.type; });
    require(rule != frame_rules.end() && words <= rule->words_max);
    require(sender == link_side::trainer ? rule->from_trainer
                                         : rule->from_service);
    require(i > 0 || x.type == frame_type::hello
            || x.type == frame_type::welcome);
  }
  return result;
}

} // namespace hippo::test
