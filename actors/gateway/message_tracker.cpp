#include "gateway/message_tracker.hpp"

#include <algorithm>

namespace hippo {

namespace {

constexpr std::uint64_t word_bytes = 8;

std::uint64_t little_endian(std::span<const std::byte, 4> x) noexcept {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    result |= static_cast<std::uint64_t>(x[i]) << (8 * i);
  return result;
}

} // namespace

std::size_t
message_tracker::take(std::span<const std::byte> bytes) noexcept {
  std::size_t ended = 0;
  while (!bytes.empty()) {
    std::size_t used = 0;
    if (body_left_ > 0) {
      used = static_cast<std::size_t>(
        std::min<std::uint64_t>(body_left_, bytes.size()));
      body_left_ -= used;
    } else {
      used = std::min(word_.size() - in_word_, bytes.size());
      std::copy_n(bytes.begin(), used,
                  word_.begin() + static_cast<std::ptrdiff_t>(in_word_));
      in_word_ += used;
      if (in_word_ == word_.size())
        read_word();
    }
    bytes = bytes.subspan(used);
    if (begun_ && sizes_left_ == 0 && body_left_ == 0) {
      ++ended;
      begun_ = false;
      announced_ = 0;
    }
  }
  return ended;
}

void message_tracker::read_word() noexcept {
  const std::span<const std::byte, 8> word{word_};
  const auto first = little_endian(word.first<4>());
  const auto second = little_endian(word.last<4>());
  in_word_ = 0;
  if (!begun_) {
    begun_ = true;
    sizes_left_ = first;
    segments_ = second * word_bytes;
    announced_ = word_bytes;
  } else {
    segments_ += first * word_bytes;
    --sizes_left_;
    if (sizes_left_ > 0) {
      segments_ += second * word_bytes;
      --sizes_left_;
    }
    announced_ += word_bytes;
  }
  if (sizes_left_ == 0) {
    body_left_ = segments_;
    announced_ += segments_;
  }
}

} // namespace hippo
