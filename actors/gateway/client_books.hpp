#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <capnp/capability.h>

#include "gateway/actor_caller.hpp"
#include "gateway/client_connection.hpp"
#include "gateway/client_work.hpp"
#include "gateway/limits.hpp"

namespace hippo {

/// What one client makes a service keep: calls that are being answered, and
/// studies that it holds.
class client_books : public kj::Refcounted {
public:
  client_books(const gateway_limits& limits, kj::Own<client_connection> whose,
               kj::Own<client_work> work)
    : calls_max_(limits.calls),
      studies_max_(limits.studies),
      whose_(kj::mv(whose)),
      work_(kj::mv(work)) {}

  /// Where what the client asks for is worked out.
  [[nodiscard]] client_work& work() { return *work_; }

  /// Makes a call, unless there are too many, or they take too much.
  /// @param function makes the promise of its answer
  template <class Context, class F>
  kj::Promise<void> admit(Context& context, F&& function) {
    if (calls_ >= calls_max_)
      return to_exception({errc::resource_exhausted,
                           "a client may make at most "
                             + std::to_string(calls_max_)
                             + " calls at a time: wait for some to end"});
    const auto words = context.getParams().totalSize().wordCount;
    auto room
      = whose_->line().take_now(call_bytes + words * sizeof(capnp::word));
    if (!room)
      return to_exception(room.failure());
    ++calls_;
    whose_->begin_work();
    auto done = kj::defer([self = kj::addRef(*this)]() mutable {
      --self->calls_;
      self->whose_->end_work();
    });
    return kj::Promise<void>{function()}.attach(kj::mv(*room), kj::mv(done));
  }

  /// The same for an answer that may be long: it is made when there is room.
  /// @param bytes how long it is taken to be
  /// @param function makes the promise of its answer
  template <class Context, class F>
  kj::Promise<void> admit(std::size_t bytes, Context context, F function) {
    return admit(context, [&] {
      return whose_->line()
        .take(bytes, making)
        .then(
          [this, context, function = kj::mv(function)](held_room room) mutable {
            return function().then(
              [this, context, room = kj::mv(room)]() mutable {
                return post(context, kj::mv(room));
              });
          });
    });
  }

  /// The same of an answer that may have to be waited for. Nothing is held
  /// while there is nothing to answer.
  /// @param look makes a promise of whether there is an answer; it is made then
  /// @param next makes a promise of the time to look again
  template <class Context, class Look, class Next>
  kj::Promise<void> admit_waiting(std::size_t bytes, Context context, Look look,
                                  Next next) {
    return admit(context, [&] {
      return look_until(bytes, context, kj::mv(look), kj::mv(next));
    });
  }

  /// Why the client gets no further study; nothing: it does. One counts until
  /// the client lets go of it.
  [[nodiscard]] std::optional<error> refusal_of_study() const {
    if (studies_ < studies_max_)
      return std::nullopt;
    return error{errc::resource_exhausted,
                 "a client may hold at most " + std::to_string(studies_max_)
                   + " studies at a time: let go of some, or make another "
                     "connection"};
  }
  void add_study() { ++studies_; }
  void remove_study() { --studies_; }

private:
  static constexpr auto making = response_memory::line::purpose::make;

  /// An answer is made: it has as much room as it is long.
  template <class Context>
  kj::Promise<void> post(Context context, held_room room) {
    const auto bytes = context.getResults().asReader().totalSize().wordCount
                       * sizeof(capnp::word);
    room.end_turn();
    if (auto why = room.resize(bytes))
      return to_exception(std::move(*why));
    whose_->post(kj::mv(room), bytes);
    return kj::READY_NOW;
  }

  template <class Context, class Look, class Next>
  kj::Promise<void> look_until(std::size_t bytes, Context context, Look look,
                               Next next) {
    return whose_->line().take(bytes, making).then(
      [=, this](held_room room) mutable {
        return look().then(
          [=, this, room = kj::mv(room)](bool is_there) mutable {
            if (is_there)
              return post(context, kj::mv(room));
            room = {};
            return next().then([=, this]() mutable {
              return look_until(bytes, context, look, next);
            });
          });
      });
  }

  std::size_t calls_max_;
  std::size_t calls_ = 0;
  std::size_t studies_max_;
  std::size_t studies_ = 0;
  kj::Own<client_connection> whose_;
  kj::Own<client_work> work_;
};

} // namespace hippo
