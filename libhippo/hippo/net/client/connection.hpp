#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/refcount.h>
#include <service.capnp.h>

#include "hippo/net/client/client.hpp"
#include "hippo/net/client/transport.hpp"

namespace hippo {

/// Whether a call may be repeated when the connection is lost on its way.
enum class repeating : bool { no, yes };

/// Returns an exception that `error_of` turns into this error.
kj::Exception exception_of(errc code, const std::string& sentence);

/// Returns the code and the sentence of a failed call, the service's or ours.
error error_of(const kj::Exception& why);

/// One connection, for as long as it holds.
class session final : public kj::Refcounted {
public:
  session(kj::Own<kj::AsyncIoStream> stream, std::uint64_t number);

  /// The first interface of the service. To be called once.
  kj::Promise<void> greet(const std::string& client);

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const service_summary& info() const noexcept { return info_; }

  schema::Service::Client& service();

  /// The study of that number. If there is none, its calls fail.
  schema::Study::Client& study(std::uint64_t id);

  kj::Promise<void> on_disconnect() { return network_.onDisconnect(); }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
  kj::Maybe<schema::Service::Client> service_;
  std::map<std::uint64_t, schema::Study::Client> studies_;
  service_summary info_;
  std::uint64_t number_;
};

/// A connection to one address that is made again when it is lost. Lives on one
/// event loop; every method is to be called there.
class connection final : private kj::TaskSet::ErrorHandler {
public:
  connection(kj::Network& network, kj::Timer& timer, std::string address,
             client_options options, transport secure);

  /// Connects, without trying again.
  kj::Promise<void> open();

  /// The service's description of itself at the last connection.
  [[nodiscard]] const service_summary& info() const noexcept { return info_; }

  /// Makes a call: `call(session&)` sends it and returns a promise of a `T`.
  ///
  /// Where nothing was sent, trying again harms nobody. What has been sent is
  /// sent again only if `again` allows it.
  template <class T, class Call>
  kj::Promise<T> run(repeating again, Call call) {
    return attempt<T>(again, kj::mv(call), outage{});
  }

  /// Lets a promise go on by itself; it must not fail.
  void add(kj::Promise<void> task) { tasks_.add(kj::mv(task)); }

private:
  /// For how long a call has been in vain.
  struct outage {
    kj::Maybe<kj::TimePoint> since;
    unsigned failures = 0;
  };

  template <class T, class Call>
  kj::Promise<T> attempt(repeating again, Call call, outage before) {
    return connected(before).then(
      [this, again, call = kj::mv(call),
       before](kj::Own<session> x) mutable -> kj::Promise<T> {
        const auto begin = timer_.now();
        auto sent = call(*x);
        return sent.catch_(
          [this, again, call = kj::mv(call), before, begin,
           x = kj::mv(x)](kj::Exception&& why) mutable -> kj::Promise<T> {
            if (why.getType() != kj::Exception::Type::DISCONNECTED)
              return kj::mv(why);
            drop(x->number());
            if (again == repeating::no)
              return maybe_done();
            // A call that was on its way for long had a connection.
            if (timer_.now() - begin > patience_)
              before = {};
            before = prolonged(before);
            if (is_spent(before))
              return lost(why);
            return attempt<T>(again, kj::mv(call), before);
          });
      });
  }

  /// Waits until there is a session, or fails when it takes too long. After a
  /// failure it pauses first.
  kj::Promise<kj::Own<session>> connected(outage since);

  /// The same without a pause.
  kj::Promise<kj::Own<session>> connected_now(outage pause);

  /// One attempt to make a session.
  kj::Promise<void> make_session();

  /// Counts one more failure, now.
  outage prolonged(outage pause);

  /// Whether it is time to give up.
  [[nodiscard]] bool is_spent(const outage& pause) const;

  /// Forgets a session that is of no use any more.
  void drop(std::uint64_t number);

  kj::Exception maybe_done() const;
  kj::Exception lost(const kj::Exception& why) const;
  void taskFailed(kj::Exception&& why) override;

  kj::Network& network_;
  kj::Timer& timer_;
  std::string address_;
  client_options options_;
  kj::Duration patience_;
  transport secure_;
  service_summary info_;
  std::uint64_t sessions_ = 0; ///< made so far
  kj::Maybe<kj::Own<session>> session_;
  kj::ForkedPromise<void> making_ = nullptr; ///< of the last session
  bool was_answered_ = false; ///< whether somebody was ever there
  bool is_making_ = false;
  kj::TaskSet tasks_;
};

} // namespace hippo
