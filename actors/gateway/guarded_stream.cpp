#include "gateway/guarded_stream.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace hippo {

namespace {

/// What is written at a time, to see how fast it is taken.
constexpr std::size_t part_bytes = std::size_t{64} << 10;

/// Messages that are no longer take no room of their own: a connection has as
/// much memory in any case.
constexpr std::size_t small_bytes = std::size_t{16} << 10;

} // namespace

guarded_stream::guarded_stream(kj::Own<kj::AsyncIoStream> inner,
                               kj::Own<client_connection> whose, speech how,
                               std::size_t message_bytes_max)
  : inner_(kj::mv(inner)),
    whose_(kj::mv(whose)),
    how_(how),
    message_bytes_max_(message_bytes_max) {}

// -- reading ------------------------------------------------------------------

kj::Promise<void> guarded_stream::may_read() {
  if (writes_ > 0) {
    auto idle = kj::newPromiseAndFulfiller<void>();
    reader_ = kj::mv(idle.fulfiller);
    return idle.promise.then([this] { return may_read(); });
  }
  const auto wanted = messages_.announced();
  if (wanted <= small_bytes || wanted > message_bytes_max_ || wanted == booked_)
    return kj::READY_NOW;
  half_ = {};
  booked_ = wanted;
  whose_->note_paused(true);
  return whose_->line()
    .take(wanted, response_memory::line::purpose::hold)
    .then([this](held_room x) {
      half_ = kj::mv(x);
      whose_->note_paused(false);
    });
}

kj::Promise<size_t> guarded_stream::tryRead(void* buffer, size_t min,
                                            size_t max) {
  auto* const to = static_cast<kj::byte*>(buffer);
  if (writes_ == 0 && !messages_.is_inside())
    return fill(to, 0, min, max);
  return may_read().then([=, this] { return fill(to, 0, min, max); });
}

kj::Promise<size_t> guarded_stream::fill(kj::byte* to, size_t got, size_t min,
                                         size_t max) {
  return inner_->tryRead(to + got, 1, max - got)
    .then([=, this](size_t n) -> kj::Promise<size_t> {
      note_read(to + got, n);
      const auto all = got + n;
      if (n == 0 || all >= min)
        return all;
      return fill(to, all, min, max);
    });
}

void guarded_stream::note_read(const kj::byte* from, std::size_t count) {
  if (count == 0)
    return;
  if (how_ == speech::messages) {
    const auto ended =
      messages_.take(std::as_bytes(std::span<const kj::byte>{from, count}));
    if (ended > 0) {
      half_ = {};
      booked_ = 0;
      whose_->note_request_ended();
    }
  }
  if (how_ == speech::requests || messages_.is_inside())
    whose_->note_request_begun();
  whose_->note_read(count);
}

// -- writing ------------------------------------------------------------------

kj::Promise<void> guarded_stream::write(const void* buffer, size_t size) {
  const auto* const from = static_cast<const kj::byte*>(buffer);
  if (size <= part_bytes)
    return watch(inner_->write(from, size), size);
  auto whole = kj::heapArray<bytes>({bytes{from, size}});
  auto written = write(whole.asPtr());
  return written.attach(kj::mv(whole));
}

kj::Promise<void> guarded_stream::write(
  kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  std::size_t all = 0;
  for (const auto& x : pieces)
    all += x.size();
  if (all <= part_bytes)
    return watch(inner_->write(pieces), all);
  whose_->note_unwritten(all);
  return watch(write_parts(pieces, 0), 0);
}

/// Writes the rest of some pieces, of the first one from `offset` on.
kj::Promise<void>
guarded_stream::write_parts(kj::ArrayPtr<const bytes> pieces,
                            std::size_t offset) {
  while (pieces.size() > 0 && offset == pieces[0].size()) {
    pieces = pieces.slice(1, pieces.size());
    offset = 0;
  }
  if (pieces.size() == 0)
    return kj::READY_NOW;
  const auto n = std::min(part_bytes, pieces[0].size() - offset);
  return inner_->write(pieces[0].begin() + offset, n)
    .then([=, this] {
      whose_->note_written(n);
      return write_parts(pieces, offset + n);
    });
}

/// @param unwritten bytes that are told of when all are written
kj::Promise<void> guarded_stream::watch(kj::Promise<void> write,
                                        std::size_t unwritten) {
  ++writes_;
  whose_->note_unwritten(unwritten);
  return write.then([=, this] { whose_->note_written(unwritten); })
    .attach(kj::defer([this] {
      if (--writes_ > 0)
        return;
      KJ_IF_MAYBE(x, reader_) {
        (*x)->fulfill();
        reader_ = nullptr;
      }
    }));
}

} // namespace hippo
