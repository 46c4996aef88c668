#include "hippo/net/link/framed_connection.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hippo/net/wire/exceptions.hpp"

namespace hippo {

namespace {

/// That are read at a time; the latter of a message that is large. So a
/// connection that says little takes little.
constexpr std::size_t input_bytes = 4 << 10;
constexpr std::size_t large_input_bytes = 16 << 10;
/// What any connection may hold without a booking: each of two kinds.
constexpr std::size_t unbooked_bytes = 8 << 10;
constexpr std::size_t output_bytes = 64 << 10; ///< that are written at a time

kj::Exception make_exception(const std::string& why) {
  return {kj::Exception::Type::FAILED, __FILE__, __LINE__,
          kj::heapString(why.data(), why.size())};
}

/// Keeps a promise if somebody waits for it.
void wake(kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>>& who) {
  KJ_IF_MAYBE(x, who) {
    auto fulfiller = kj::mv(*x);
    who = nullptr;
    fulfiller->fulfill();
  }
}

kj::Promise<void>
sleep(kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>>& who) {
  auto pair = kj::newPromiseAndFulfiller<void>();
  who = kj::mv(pair.fulfiller);
  return kj::mv(pair.promise);
}

} // namespace

framed_connection::framed_connection(kj::Own<kj::AsyncIoStream> stream,
                                     link_side peer,
                                     const link_limits& limits,
                                     std::optional<byte_account> account,
                                     room_maker make_room)
  : stream_(kj::mv(stream)),
    peer_(peer),
    limits_(limits),
    watch_(limits),
    decoder_(peer),
    account_(std::move(account)),
    make_room_(std::move(make_room)),
    input_(kj::heapArray<kj::byte>(input_bytes)) {
  const auto* greeting
    = reinterpret_cast<const kj::byte*>(link_greeting.data());
  output_.assign(greeting, greeting + link_greeting.size());
  unsent_bytes_ = output_.size();
  if (peer == link_side::service)
    watch_.note_hello(); // who connects knows whom it wants
}

kj::Promise<void> framed_connection::run(std::function<void()> greeted,
                                         std::function<void(frame)> take) {
  greeted_ = std::move(greeted);
  take_ = std::move(take);
  return read().exclusiveJoin(write()).exclusiveJoin(
    kj::mv(failure_.promise));
}

// -- from the peer ------------------------------------------------------------

bool framed_connection::is_paused() const noexcept {
  return !is_finishing_
         && (unread_frames_ >= limits_.unread_frames_max || is_beyond_
             || unread_bytes_ >= limits_.unread_bytes_max
             || (peer_ == link_side::trainer
                 && unsent_bytes_ >= limits_.unsent_bytes_pause));
}

void framed_connection::read_on() {
  if (!is_paused())
    wake(reader_);
}

kj::Promise<void> framed_connection::read() {
  if (is_paused())
    return sleep(reader_).then([this] { return read(); });
  make_input();
  return stream_->tryRead(input_.begin(), 1, input_.size())
    .then([this](std::size_t size) -> kj::Promise<void> {
      if (size == 0) {
        if (decoder_.is_amid())
          return make_exception("it went away in the midst of a message");
        return kj::READY_NOW;
      }
      watch_.note_received();
      frames_.clear();
      const auto why = decoder_.feed(input_.slice(0, size), frames_);
      if (greeted_ && decoder_.is_greeted())
        std::exchange(greeted_, nullptr)();
      for (auto& x : frames_) {
        watch_.note_hello();
        watch_.note_message();
        if (x.type == frame_type::alive || is_finishing_)
          continue;
        ++unread_frames_;
        unread_bytes_ += x.bytes();
        take_(std::move(x));
      }
      if (why)
        return make_exception(why->message);
      if (const auto refused = book())
        return make_exception("a message of it is not taken: "
                              + refused->message);
      // Others come first: this peer may always have something to say.
      return kj::evalLater([this] { return read(); });
    });
}

void framed_connection::give_back(std::size_t frames, std::size_t bytes) {
  unread_frames_ -= std::min(unread_frames_, frames);
  unread_bytes_ -= std::min(unread_bytes_, bytes);
  static_cast<void>(book()); // it may only be less than before
  read_on();
}

void framed_connection::make_input() {
  const auto size = decoder_.held_bytes() > input_bytes ? large_input_bytes
                                                        : input_bytes;
  if (input_.size() != size)
    input_ = kj::heapArray<kj::byte>(size);
}

std::size_t framed_connection::begun_bytes() const noexcept {
  const auto bytes = decoder_.held_bytes();
  return bytes > unbooked_bytes ? bytes : 0;
}

std::optional<error> framed_connection::book() {
  if (!account_)
    return std::nullopt;
  const auto begun = begun_bytes();
  const auto unread = unread_bytes_ > unbooked_bytes ? unread_bytes_ : 0;
  if (begun + unread == booked_.bytes() && !is_beyond_)
    return std::nullopt;
  if (begun + unread == 0) {
    booked_ = {};
    is_beyond_ = false;
    return std::nullopt;
  }
  const auto hold = [this](std::size_t bytes) -> std::optional<error> {
    if (booked_.bytes() > 0)
      return booked_.resize(bytes);
    auto taken = account_->take(bytes);
    if (!taken)
      return taken.failure();
    booked_ = std::move(*taken);
    return std::nullopt;
  };
  is_beyond_ = false;
  auto refused = hold(begun + unread);
  if (refused && make_room_ && make_room_())
    refused = hold(begun + unread);
  if (!refused || unread == 0)
    return refused;
  // What is to be worked through is soon done with.
  is_beyond_ = true;
  return begun == 0 ? std::nullopt : hold(begun);
}

std::optional<unsigned> framed_connection::beats_begun() const noexcept {
  if (begun_bytes() == 0)
    return std::nullopt;
  return watch_.beats_begun();
}

// -- to the peer --------------------------------------------------------------

void framed_connection::send(frame frame) {
  if (is_finishing_)
    return;
  unsent_bytes_ += frame.bytes();
  outbox_.push_back(std::move(frame));
  watch_.note_sent();
  if (unsent_bytes_ > limits_.unsent_bytes_max)
    fail("it does not take what is sent to it");
  wake(writer_);
}

void framed_connection::fill() {
  output_.clear();
  while (!outbox_.empty() && output_.size() < output_bytes) {
    const auto& x = outbox_.front();
    if (written_ == 0) {
      const auto header = header_of(x);
      output_.insert(output_.end(), header.begin(), header.end());
      written_ = header.size();
    }
    const auto body = x.message ? x.message->asBytes() : nullptr;
    const auto rest
      = body.slice(written_ - frame_header_bytes, body.size());
    const auto part = rest.slice(
      0, std::min(rest.size(), std::max(output_bytes, output_.size())
                                 - output_.size()));
    output_.insert(output_.end(), part.begin(), part.end());
    written_ += part.size();
    if (written_ == x.bytes()) {
      outbox_.pop_front();
      written_ = 0;
    }
  }
}

kj::Promise<void> framed_connection::write() {
  if (output_.empty())
    fill();
  if (output_.empty() && is_finishing_) {
    stream_->shutdownWrite();
    return kj::NEVER_DONE; // the peer closes now
  }
  if (output_.empty())
    return sleep(writer_).then([this] { return write(); });
  return stream_->write(output_.data(), output_.size()).then([this] {
    unsent_bytes_ -= output_.size();
    output_.clear();
    watch_.note_taken();
    read_on();
    return kj::evalLater([this] { return write(); });
  });
}

// -- the end ------------------------------------------------------------------

void framed_connection::finish() {
  if (std::exchange(is_finishing_, true))
    return;
  watch_.note_finishing();
  wake(reader_);
  wake(writer_);
}

void framed_connection::fail(const std::string& why) {
  failure_.fulfiller->reject(make_exception(why));
}

void framed_connection::beat() {
  using verdict = link_watch::verdict;
  if (is_paused())
    watch_.note_received(); // it may have said much that is not read yet
  const auto begun = decoder_.is_amid() && !is_paused()
                       ? std::optional{decoder_.bytes_begun()}
                       : std::nullopt;
  switch (watch_.beat(unsent_bytes_ > 0, begun)) {
    case verdict::fine: break;
    case verdict::speak: send({frame_type::alive, nullptr}); break;
    case verdict::late: fail("it does not say who it is"); break;
    case verdict::slow:
      fail("it has begun a message and does not go on with it");
      break;
    case verdict::silent: fail("nothing is heard of it"); break;
    case verdict::stuck: fail("it does not take what is sent to it"); break;
    case verdict::over: fail("it does not close the connection"); break;
  }
}

std::string explain_end(const kj::Exception& why) {
  if (why.getType() == kj::Exception::Type::DISCONNECTED)
    return "the connection was lost";
  return sentence_of(why);
}

} // namespace hippo
