#include "gateway/connection_clock.hpp"

#include <cassert>

namespace hippo {

namespace {

/// Beats for which somebody may be slower than the least rate before he makes
/// room for others.
constexpr unsigned slow_beats_max = 2;

/// The beats that so many bytes give.
std::uint64_t given(const phase_limit& limit, std::uint64_t bytes) noexcept {
  return limit.bytes_per_beat == 0 ? 0 : bytes / limit.bytes_per_beat;
}

} // namespace

bool connection_clock::meter::is_over(const phase_limit& limit) noexcept {
  return ++beats > limit.beats + given(limit, bytes);
}

bool connection_clock::meter::is_behind(
  const phase_limit& limit) const noexcept {
  return beats > slow_beats_max + given(limit, bytes);
}

bool connection_clock::is_behind() const noexcept {
  return unwritten_ > 0 ? answer_.is_behind(times_.answer)
                        : in_request_ && !is_paused_
                            && request_.is_behind(times_.request);
}

void connection_clock::note_let_in() noexcept {
  is_let_in_ = true;
  opening_ = {};
}

void connection_clock::note_greeted() noexcept {
  assert(is_let_in_);
  has_greeted_ = true;
}

void connection_clock::note_read(std::size_t bytes) noexcept {
  opening_.bytes += bytes;
  request_.bytes += bytes;
}

void connection_clock::note_request_begun() noexcept {
  if (in_request_)
    return;
  in_request_ = true;
  request_ = {};
}

void connection_clock::note_unwritten(std::size_t bytes) noexcept {
  if (unwritten_ == 0)
    answer_ = {};
  unwritten_ += bytes;
}

void connection_clock::note_written(std::size_t bytes) noexcept {
  assert(bytes <= unwritten_);
  unwritten_ -= bytes;
  answer_.bytes += bytes;
}

connection_clock::verdict connection_clock::beat() noexcept {
  if (!is_let_in_)
    return opening_.is_over(times_.handshake) ? verdict::no_handshake
                                              : verdict::fine;
  if (unwritten_ > 0) {
    if (answer_.is_over(times_.answer))
      return verdict::slow_answer;
    return verdict::fine;
  }
  if (is_paused_)
    return verdict::fine;
  if (!has_greeted_ && opening_.is_over(times_.greeting))
    return verdict::silent;
  if (in_request_ && request_.is_over(times_.request))
    return verdict::slow_request;
  return verdict::fine;
}

} // namespace hippo
