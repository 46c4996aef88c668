#include "gateway/response_memory.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

namespace hippo {

namespace {

/// The calls of a connection that waits for its first answer take about this.
constexpr std::uint64_t little = std::uint64_t{512} << 10;

/// Requests that are half there leave room for answers: there must be so many
/// times as much for one.
constexpr std::uint64_t left_for_answers = 4;

} // namespace

// -- held_room ----------------------------------------------------------------

held_room::held_room(held_room&& room) noexcept
  : from_(std::exchange(room.from_, nullptr)), bytes_(std::move(room.bytes_)),
    turn_(std::exchange(room.turn_, std::nullopt)), whose_(room.whose_) {}

held_room& held_room::operator=(held_room&& room) noexcept {
  std::swap(from_, room.from_);
  std::swap(bytes_, room.bytes_);
  std::swap(turn_, room.turn_);
  std::swap(whose_, room.whose_);
  return *this;
}

held_room::~held_room() {
  if (from_ == nullptr)
    return;
  bytes_ = {};
  end_turn();
  from_->serve();
}

void held_room::end_turn() {
  if (!turn_)
    return;
  whose_->had_ += from_->timer_.now() - **turn_;
  from_->making_.erase(*turn_);
  turn_.reset();
  from_->serve();
}

std::optional<error> held_room::resize(std::uint64_t bytes) {
  const bool is_less = bytes < bytes_.bytes();
  auto why = bytes_.resize(bytes);
  if (is_less && from_ != nullptr)
    from_->serve();
  return why;
}

// -- response_memory
// --------------------------------------------------------------

bool response_memory::has_turn() const {
  const auto now = timer_.now();
  const auto n = std::ranges::count_if(making_, [&](kj::TimePoint since) {
    return now - since < limits_.making_time;
  });
  return static_cast<std::size_t>(n) < limits_.makers;
}

void response_memory::serve() {
  if (is_closed_)
    return;
  std::vector<line*> waiting;
  for (auto* x : lines_)
    if (!x->asked_.empty())
      waiting.push_back(x);
  for (bool any = true; any && !waiting.empty();) {
    // Answers come before requests that are half there: who sends those slowly
    // must not keep others from what they have asked for.
    std::ranges::stable_sort(waiting, {}, [](const line* x) {
      return std::pair{x->asked_.front().what == line::purpose::hold, x->had_};
    });
    any = false;
    for (auto* x : waiting)
      any = x->serve_first() || any;
    std::erase_if(waiting, [](const line* x) { return x->asked_.empty(); });
  }
  if (on_starving_ && somebody_starves())
    on_starving_();
}

void response_memory::forget_half() {
  for (auto* x : lines_)
    x->had_ = x->had_ / 2;
}

bool response_memory::somebody_starves() const {
  return std::ranges::any_of(lines_,
                             [](const line* x) { return x->starves(); });
}

// -- line ---------------------------------------------------------------------

response_memory::line::line(response_memory& room, byte_account account,
                            std::uint64_t most)
  : room_(room), account_(std::move(account)), most_(most) {
  room_.lines_.push_back(this);
}

response_memory::line::~line() {
  room_.lines_.remove(this);
}

bool response_memory::line::holds_nothing() const {
  return account_.held() <= little;
}

bool response_memory::line::starves() const {
  return !asked_.empty() && holds_nothing()
         && account_.available() < asked_.front().bytes;
}

expected<held_room> response_memory::line::take_now(std::uint64_t bytes) {
  auto booked = account_.take(bytes);
  if (!booked)
    return booked.failure();
  held_room result;
  result.from_ = &room_;
  result.bytes_ = std::move(*booked);
  return result;
}

std::optional<held_room> response_memory::line::find(std::uint64_t bytes,
                                                     purpose what) {
  if (what == purpose::make && !room_.has_turn())
    return std::nullopt;
  if (!holds_nothing() && account_.held() + bytes > most_)
    return std::nullopt;
  if (what == purpose::hold
      && account_.available()
           < std::min(left_for_answers * bytes, room_.limits_.most))
    return std::nullopt;
  auto room = take_now(bytes);
  if (!room)
    return std::nullopt;
  if (what == purpose::make) {
    room->turn_ = room_.making_.insert(room_.making_.end(), room_.timer_.now());
    room->whose_ = this;
  }
  return std::optional{std::move(*room)};
}

kj::Promise<held_room> response_memory::line::take(std::uint64_t bytes,
                                                   purpose what) {
  bytes = std::min(bytes, room_.limits_.most);
  if (asked_.empty())
    if (auto room = find(bytes, what))
      return kj::mv(*room);
  auto pair = kj::newPromiseAndFulfiller<held_room>();
  asked_.push_back({bytes, what, kj::mv(pair.fulfiller)});
  if (room_.on_starving_ && starves())
    room_.on_starving_();
  return kj::mv(pair.promise);
}

bool response_memory::line::serve_first() {
  while (!asked_.empty() && !asked_.front().who->isWaiting())
    asked_.pop_front();
  if (asked_.empty())
    return false;
  auto room = find(asked_.front().bytes, asked_.front().what);
  if (!room)
    return false;
  auto first = kj::mv(asked_.front());
  asked_.pop_front();
  first.who->fulfill(kj::mv(*room));
  return true;
}

} // namespace hippo
