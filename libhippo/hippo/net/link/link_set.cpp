#include "hippo/net/link/link_set.hpp"

#include <utility>

namespace hippo {

link_set::link_set(kj::Timer& timer, const link_limits& limits)
  : timer_(timer), limits_(limits) {
  tasks_.add(calls_->serve());
  tasks_.add(beat());
}

link_set::~link_set() {
  calls_->close();
  for (const auto& kvp : links_)
    if (std::exchange(kvp.second->at->connection, nullptr) != nullptr)
      kvp.second->heard_by->ended("the connection was closed");
}

link_handle link_set::add(kj::Own<kj::AsyncIoStream> stream, link_side peer,
                          listener who, std::optional<party> whose) {
  const auto number = ++last_;
  const bool is_booked = whose.has_value();
  auto made = std::make_unique<entry>(
    kj::mv(stream), peer, limits_, std::move(whose),
    is_booked ? [this, number] { return make_room_for(number); }
              : framed_connection::room_maker{});
  auto& x = *made;
  links_.emplace(number, std::move(made));
  x.at = std::make_shared<link_handle::place>();
  x.at->connection = &x.connection;
  const link_handle result{calls_, x.at};
  const auto heard = std::make_shared<listener>(std::move(who));
  x.heard_by = heard;
  x.work = x.connection
             .run(
               [heard, result] {
                 if (heard->greeted)
                   heard->greeted(result);
               },
               [heard, result](frame y) {
                 heard->take(result, std::move(y));
               })
             .then([this, number] { end(number, {}); },
                   [this, number](const kj::Exception& why) {
                     end(number, explain_end(why));
                   })
             .eagerlyEvaluate(nullptr);
  return result;
}

bool link_set::make_room_for(std::uint64_t number) {
  const auto& address = links_.at(number)->address;
  entry* oldest = nullptr;
  unsigned longest = 0;
  for (auto& [other, x] : links_) {
    const auto beats = x->connection.beats_begun();
    if (other == number || x->address != address || !beats
        || x->at->connection == nullptr || *beats <= longest)
      continue;
    oldest = x.get();
    longest = *beats;
  }
  if (oldest == nullptr)
    return false;
  oldest->connection.fail("it has begun a message and does not go on with it, "
                          "and another connection of its address needs the "
                          "memory");
  oldest->connection.let_go();
  return true;
}

void link_set::end(std::uint64_t number, const std::string& why) {
  auto& x = *links_.at(number);
  x.at->connection = nullptr;
  // Not now: this is called by what would be destroyed.
  tasks_.add(kj::evalLater([this, number] { links_.erase(number); }));
  x.heard_by->ended(why);
}

kj::Promise<void> link_set::beat() {
  return timer_.afterDelay(limits_.beat.count() * kj::MILLISECONDS)
    .then([this] {
      for (const auto& kvp : links_)
        if (kvp.second->at->connection != nullptr)
          kvp.second->connection.beat();
      return beat();
    });
}

void link_set::taskFailed(kj::Exception&& why) {
  kj::throwFatalException(kj::mv(why)); // nothing here can fail
}

} // namespace hippo
