#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hippo/net/link/frame.hpp"

namespace hippo::test {

using bytes = std::vector<kj::byte>;

/// A frame of so many words, all of them the same.
inline frame frame_of(frame_type type, std::size_t words,
                      kj::byte filling = 7) {
  if (words == 0)
    return {type, nullptr};
  auto xs = kj::heapArray<capnp::word>(words);
  std::memset(xs.asBytes().begin(), filling, xs.asBytes().size());
  return {type, std::make_shared<const frame::words_type>(kj::mv(xs))};
}

inline void append(bytes& to, const frame& frame) {
  const auto header = header_of(frame);
  to.insert(to.end(), header.begin(), header.end());
  if (!frame.message)
    return;
  const auto body = frame.message->asBytes();
  to.insert(to.end(), body.begin(), body.end());
}

/// The greeting and these frames as they go over a connection.
inline bytes stream_of(const std::vector<frame>& frames) {
  bytes result(link_greeting.begin(), link_greeting.end());
  for (const auto& x : frames)
    append(result, x);
  return result;
}

/// A header that may be false.
inline bytes raw_header(std::uint32_t words, unsigned type) {
  bytes result(frame_header_bytes);
  std::memcpy(result.data(), &words, sizeof words);
  result[4] = static_cast<kj::byte>(type);
  return result;
}

/// What one side may say, beginning with what it must say first.
inline std::vector<frame> random_frames(link_side sender,
                                        std::minstd_rand& random) {
  std::vector<frame_rule> rules;
  for (const auto& x : frame_rules)
    if (sender == link_side::trainer ? x.from_trainer : x.from_service)
      rules.push_back(x);
  const auto draw = [&](std::size_t from, std::size_t to) {
    return std::uniform_int_distribution<std::size_t>{from, to}(random);
  };
  std::vector<frame> result{frame_of(sender == link_side::trainer
                                       ? frame_type::hello
                                       : frame_type::welcome,
                                     draw(1, 40))};
  for (auto n = draw(0, 12); n > 0; --n) {
    const auto& rule = rules[draw(0, rules.size() - 1)];
    const auto most = std::min<std::size_t>(
      rule.words_max, draw(0, 4) == 0 ? 5000 : 40);
    result.push_back(frame_of(rule.type,
                              rule.words_max == 0 ? 0 : draw(1, most),
                              static_cast<kj::byte>(draw(0, 255))));
  }
  return result;
}

inline bool operator==(const frame& left, const frame& right) {
  return left.type == right.type
         && wire<void>{left.message} == wire<void>{right.message};
}

} // namespace hippo::test
