#include "hippo/net/link/frame_decoder.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <tuple>

namespace hippo {

namespace {

/// Room for the first words of a message, before any of them has come.
constexpr std::size_t first_words = 512;

/// Takes up to `most` bytes from the front.
kj::ArrayPtr<const kj::byte> take(kj::ArrayPtr<const kj::byte>& from,
                                  std::size_t most) {
  const auto size = std::min(from.size(), most);
  const auto result = from.slice(0, size);
  from = from.slice(size, from.size());
  return result;
}

} // namespace

std::optional<error> frame_decoder::feed(kj::ArrayPtr<const kj::byte> bytes,
                                         std::vector<frame>& out) {
  if (!failed_)
    failed_ = take_greeting(bytes);
  while (!failed_ && bytes.size() > 0) {
    if (header_size_ < frame_header_bytes) {
      failed_ = take_header(bytes);
      if (failed_ || header_size_ < frame_header_bytes)
        break;
    }
    take_message(bytes);
    if (filled_ < words_ * sizeof(capnp::word))
      continue;
    frame done{type_, nullptr};
    if (words_ > 0)
      done.message = std::make_shared<const frame::words_type>(
        kj::mv(message_));
    out.push_back(std::move(done));
    message_ = nullptr;
    header_size_ = 0;
    filled_ = 0;
    is_first_ = false;
  }
  return failed_;
}

std::optional<error>
frame_decoder::take_greeting(kj::ArrayPtr<const kj::byte>& bytes) {
  const auto part = take(bytes, link_greeting.size() - greeted_);
  if (part.size() > 0
      && std::memcmp(part.begin(), link_greeting.data() + greeted_,
                     part.size())
           != 0)
    return error{errc::malformed_message,
                 "it does not speak the protocol between Hippo's services and "
                 "trainers, or is of a release before 5 of it: run the same "
                 "release of both"};
  greeted_ += part.size();
  return std::nullopt;
}

std::optional<error>
frame_decoder::take_header(kj::ArrayPtr<const kj::byte>& bytes) {
  const auto part = take(bytes, frame_header_bytes - header_size_);
  std::copy(part.begin(), part.end(), header_.begin() + header_size_);
  header_size_ += part.size();
  if (header_size_ < frame_header_bytes)
    return std::nullopt;
  const auto read
    = read_header({header_.data(), header_.size()}, sender_, is_first_);
  if (!read)
    return read.failure();
  std::tie(type_, words_) = *read;
  return std::nullopt;
}

void frame_decoder::take_message(kj::ArrayPtr<const kj::byte>& bytes) {
  while (bytes.size() > 0 && filled_ < words_ * sizeof(capnp::word)) {
    if (filled_ == held_bytes()) {
      const auto room
        = std::min(words_, std::max(first_words, 2 * message_.size()));
      auto larger = kj::heapArray<capnp::word>(room);
      if (filled_ > 0)
        std::memcpy(larger.begin(), message_.begin(), filled_);
      message_ = kj::mv(larger);
    }
    const auto part = take(bytes, held_bytes() - filled_);
    std::memcpy(message_.asBytes().begin() + filled_, part.begin(),
                part.size());
    filled_ += part.size();
  }
  assert(filled_ <= held_bytes());
}

} // namespace hippo
