#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <kj/async-io.h>

#include "hippo/net/link/framed_connection.hpp"
#include "hippo/net/link/link_handle.hpp"
#include "hippo/net/link/loop_calls.hpp"

namespace hippo {

/// The connections of an event loop, which have one heartbeat in common.
class link_set : private kj::TaskSet::ErrorHandler {
public:
  /// The listener of a connection, on the loop.
  struct listener {
    std::function<void(const link_handle&)> greeted; ///< may be null
    std::function<void(const link_handle&, frame)> take;
    /// The connection has ended. @param why one clause; empty: in good order
    std::function<void(const std::string& why)> ended;
  };

  /// REQUIRES: `timer` outlives `*this`.
  link_set(kj::Timer& timer, const link_limits& limits);
  /// Ends all connections.
  ~link_set();

  /// On whose behalf what has come over a connection is held.
  struct party {
    byte_account account; ///< of the connection alone
    std::string address;  ///< whose connections make room for each other
  };

  /// Takes in a connection. Where it is beyond its share with a message that is
  /// not complete, the one of its address makes room whose message has been
  /// coming for the longest.
  /// @param whose nothing: what it holds is booked nowhere
  link_handle add(kj::Own<kj::AsyncIoStream> stream, link_side peer,
                  listener who, std::optional<party> whose = std::nullopt);

  [[nodiscard]] std::size_t size() const noexcept { return links_.size(); }

private:
  struct entry {
    entry(kj::Own<kj::AsyncIoStream> stream, link_side peer,
          const link_limits& limits, std::optional<party> whose,
          framed_connection::room_maker make_room)
      : address(whose ? whose->address : std::string{}),
        connection(kj::mv(stream), peer, limits,
                   whose ? std::optional{whose->account} : std::nullopt,
                   std::move(make_room)) {}

    const std::string address;
    framed_connection connection;
    std::shared_ptr<listener> heard_by;
    std::shared_ptr<link_handle::place> at;
    kj::Promise<void> work = nullptr; ///< last: it uses the above
  };

  /// Lets one of a connection's address go. @returns whether there was one
  bool make_room_for(std::uint64_t number);
  kj::Promise<void> beat();
  void end(std::uint64_t number, const std::string& why);
  void taskFailed(kj::Exception&& why) override;

  kj::Timer& timer_;
  const link_limits limits_;
  const std::shared_ptr<loop_calls> calls_ = std::make_shared<loop_calls>();
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::unique_ptr<entry>> links_;
  kj::TaskSet tasks_{*this};
};

} // namespace hippo
