#include "hippo/train/process/answer_buffer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <string>

#include <capnp/serialize.h>

namespace hippo {

namespace {

/// How much is read at a time at least, in words.
constexpr std::size_t room_words = 8192;

} // namespace

std::span<char> answer_buffer::room() {
  const auto used = (bytes_ + sizeof(capnp::word) - 1) / sizeof(capnp::word);
  // Doubling, so that each byte is moved a few times at most.
  if (words_.size() < used + room_words) {
    auto more
      = kj::heapArray<capnp::word>(std::max(used + room_words, 2 * used));
    if (bytes_ > 0)
      std::memcpy(more.begin(), words_.begin(), bytes_);
    words_ = kj::mv(more);
  }
  auto* const begin = reinterpret_cast<char*>(words_.begin());
  return {begin + bytes_, words_.size() * sizeof(capnp::word) - bytes_};
}

void answer_buffer::add(std::size_t bytes) {
  bytes_ += bytes;
  assert(bytes_ <= words_.size() * sizeof(capnp::word));
}

std::optional<kj::Array<capnp::word>> answer_buffer::take() {
  const auto whole = bytes_ / sizeof(capnp::word);
  if (whole == 0)
    return std::nullopt;
  // More than has come, as long as not even the segment table has.
  const auto size
    = capnp::expectedSizeInWordsFromPrefix({words_.begin(), whole});
  if (size > words_max_)
    throw std::runtime_error("sent an answer of more than "
                             + std::to_string(words_max_ * sizeof(capnp::word))
                             + " bytes");
  if (size > whole)
    return std::nullopt;
  auto result = kj::heapArray<capnp::word>(size);
  const auto bytes = size * sizeof(capnp::word);
  std::memcpy(result.begin(), words_.begin(), bytes);
  bytes_ -= bytes;
  std::memmove(words_.begin(), words_.begin() + size, bytes_);
  return result;
}

} // namespace hippo
