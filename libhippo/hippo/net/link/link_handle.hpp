#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "hippo/net/link/frame.hpp"
#include "hippo/net/link/loop_calls.hpp"

namespace hippo {

class framed_connection;

/// A connection as other threads see it. Copies stand for the same one, and may
/// outlive it: what they are told then is forgotten. Thread-safe.
class link_handle {
public:
  link_handle() = default;

  /// Sends a frame after those before.
  void send(frame frame) const;

  /// So much of what came has been worked through.
  void give_back(std::size_t frames, std::size_t bytes) const;

  /// Ends the connection once all that was sent is on its way.
  void finish() const;

  /// Lets the peer go. @param why one clause
  void fail(std::string why) const;

private:
  friend class link_set;
  struct place {
    framed_connection* connection = nullptr; ///< null: has ended
  };
  link_handle(std::shared_ptr<loop_calls> calls, std::shared_ptr<place> at)
    : calls_(std::move(calls)), at_(std::move(at)) {}

  template <class F>
  void post(F function) const;

  std::shared_ptr<loop_calls> calls_;
  std::shared_ptr<place> at_; ///< what is in it belongs to the loop
};

} // namespace hippo
