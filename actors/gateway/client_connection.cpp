#include "gateway/client_connection.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "gateway/actor_caller.hpp"

namespace hippo {

namespace {

/// Why somebody has to go; nothing of who need not.
const char* reason_of(connection_clock::verdict x) {
  using verdict = connection_clock::verdict;
  switch (x) {
    case verdict::fine:
      return nullptr;
    case verdict::no_handshake:
      return "no handshake within the time for it";
    case verdict::silent:
      return "nothing was asked within the time for it";
    case verdict::slow_request:
      return "a request comes more slowly than is waited for";
    case verdict::slow_answer:
      return "the client does not take what it has asked for";
  }
  return nullptr;
}

} // namespace

client_connection::client_connection(setup arguments, connection_slots& slots,
                                     response_memory& room, byte_account held,
                                     const connection_times& times)
  : client_connection(std::move(arguments), slots, room, std::move(held), times,
                      kj::newPromiseAndFulfiller<void>()) {}

client_connection::client_connection(setup arguments, connection_slots& slots,
                                     response_memory& room, byte_account held,
                                     const connection_times& times,
                                     kj::PromiseFulfillerPair<void> gone)
  : setup_(std::move(arguments)), slots_(slots), all_held_(std::move(held)),
    line_(room, account_of(setup_.party), setup_.held_max), clock_(times),
    gone_(gone.promise.fork()), go_(kj::mv(gone.fulfiller)) {}

byte_account client_connection::account_of(const std::string& party) const {
  return all_held_.open(party).open("connection "
                                    + std::to_string(setup_.number) + " of "
                                    + party);
}

void client_connection::note_greeted() {
  clock_.note_greeted();
  slots_.note_greeted(setup_.number);
}

void client_connection::note_identity(const std::string& who) {
  slots_.note_party(setup_.number, who);
  line_.move_to(account_of(who));
}

void client_connection::note_read(std::size_t bytes) {
  clock_.note_read(bytes);
  slots_.note_moved(setup_.number);
}

void client_connection::note_unwritten(std::size_t bytes) {
  has_been_answered_ = true;
  clock_.note_unwritten(bytes);
}

void client_connection::post(held_room room, std::size_t bytes) {
  posted_.push_back({std::move(room), bytes});
  posted_bytes_ += bytes;
}

void client_connection::note_written(std::size_t bytes) {
  clock_.note_written(bytes);
  slots_.note_moved(setup_.number);
  while (bytes > 0 && !posted_.empty()) {
    auto& first = posted_.front();
    const auto part = std::min(bytes, first.unwritten);
    first.unwritten -= part;
    posted_bytes_ -= part;
    bytes -= part;
    if (first.unwritten > 0)
      return;
    posted_.pop_front();
  }
}

void client_connection::begin_work() {
  if (works_++ == 0)
    slots_.note_busy(setup_.number, true);
}

void client_connection::end_work() {
  assert(works_ > 0);
  if (--works_ == 0)
    slots_.note_busy(setup_.number, false);
}

void client_connection::beat() {
  if (const auto* why = reason_of(clock_.beat()))
    let_go({errc::cancelled, why});
}

void client_connection::let_go(const error& why) {
  if (std::exchange(has_to_go_, true))
    return;
  go_->reject(to_exception(why));
}

client_connection* slow_holder(const std::vector<client_connection*>& all) {
  client_connection* result = nullptr;
  for (auto* x : all)
    if (x->is_behind() && !x->has_to_go()
        && (result == nullptr || x->held() > result->held()))
      result = x;
  return result;
}

} // namespace hippo
