#include "network/service_link.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

#include "hippo/net/keys/handshake.hpp"
#include "hippo/net/keys/rpc_tls.hpp"
#include "hippo/net/link/link_set.hpp"
#include "hippo/net/wire/exceptions.hpp"

namespace hippo {

namespace {

/// How long a service may be silent, as pools watch trainers unless they are
/// told otherwise.
constexpr std::chrono::seconds silence_max{15};

/// An attempt to connect.
struct attempt {
  link_handle link;
  remote_service_actor service; ///< null: not there yet
  kj::Own<kj::PromiseFulfiller<remote_service_actor>> done;
};

/// Returns the address of this end of a connection.
std::string own_host_of(kj::AsyncIoStream& stream) {
  sockaddr_storage own{};
  auto* address = reinterpret_cast<sockaddr*>(&own);
  unsigned size = sizeof own;
  stream.getsockname(address, &size);
  char host[NI_MAXHOST] = "";
  const int failed =
    ::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  KJ_REQUIRE(failed == 0, "the own address is none");
  // The name of an interface means nothing to others.
  std::string result{host};
  return result.substr(0, result.find('%'));
}

} // namespace

/// What lives on the thread.
class service_link::loop {
public:
  loop(service_link& owner, kj::AsyncIoContext& io)
    : owner_(owner),
      network_(io.provider->getNetwork()),
      timer_(io.provider->getTimer()),
      links_(timer_, limits_for(silence_max)) {}

  /// The promise fails with one clause about the reason.
  kj::Promise<reached_service> connect(const endpoint& where,
                                       const trainer_actor& who) {
    auto connected =
      network_.parseAddress(where.host.c_str(), where.port)
        .then([](kj::Own<kj::NetworkAddress> address) {
          auto result = address->connect();
          return result.attach(kj::mv(address));
        })
        .then([this, who](kj::Own<kj::AsyncIoStream> x) {
          auto own_host = own_host_of(*x);
          return secure(kj::mv(x))
            .then([this, who](kj::Own<kj::AsyncIoStream> y) {
              return greet(kj::mv(y), who);
            })
            .then([host = std::move(own_host)](remote_service_actor service) {
              return reached_service{std::move(service), host};
            });
        });
    auto late = timer_.afterDelay(owner_.patience_.count() * kj::MILLISECONDS)
                  .then([]() -> kj::Promise<reached_service> {
                    return KJ_EXCEPTION(FAILED, "nobody answers in time");
                  });
    return connected.exclusiveJoin(kj::mv(late));
  }

private:
  kj::Promise<kj::Own<kj::AsyncIoStream>>
  secure(kj::Own<kj::AsyncIoStream> x) {
    int on = 1;
    x->setsockopt(IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (owner_.keys_ == nullptr)
      return kj::mv(x);
    if (!tls_) {
      auto made = rpc_tls_peer::make(*owner_.keys_);
      if (!made)
        return exception_saying(made.failure().message);
      tls_ = std::make_unique<rpc_tls_peer>(std::move(*made));
    }
    return tls_->connect(kj::mv(x));
  }

  /// Waits for the greeting: whoever answers otherwise is no service.
  kj::Promise<remote_service_actor> greet(kj::Own<kj::AsyncIoStream> x,
                                          const trainer_actor& who) {
    auto pair = kj::newPromiseAndFulfiller<remote_service_actor>();
    const auto at = std::make_shared<attempt>();
    at->done = kj::mv(pair.fulfiller);
    at->link = links_.add(
      kj::mv(x), link_side::service,
      {[this, at, who](const link_handle& link) {
         if (!at->done->isWaiting())
           return; // it took too long
         at->service = owner_.system_.spawn(remote_service, link, who);
         at->done->fulfill(remote_service_actor{at->service});
       },
       [at](const link_handle&, frame y) {
         caf::anon_send(at->service, std::move(y));
       },
       [at, has_keys = owner_.keys_ != nullptr](const std::string& why) {
         if (at->service)
           caf::anon_send(at->service, link_ended{why});
         else if (!why.empty())
           at->done->reject(exception_saying(why));
         else
           at->done->reject(exception_saying(
             has_keys ? "it closes the connection"
                      : "it closes the connection; does it want --keys FILE?"));
       }});
    return pair.promise.attach(kj::defer([at] {
      if (!at->service)
        at->link.fail("it does not answer");
    }));
  }

  service_link& owner_;
  kj::Network& network_;
  kj::Timer& timer_;
  std::unique_ptr<rpc_tls_peer> tls_; ///< null: none so far
  link_set links_;
};

service_link::service_link(caf::actor_system& system, const credentials* keys,
                           std::chrono::milliseconds patience)
  : system_(system), keys_(keys), patience_(patience) {
  thread_.run([this](kj::AsyncIoContext& io) {
    loop_ = std::make_unique<loop>(*this, io);
  });
}

service_link::~service_link() {
  thread_.run([this](kj::AsyncIoContext&) { loop_.reset(); });
}

expected<reached_service> service_link::connect(const endpoint& where,
                                                const trainer_actor& who) {
  try {
    return thread_.run([&](kj::AsyncIoContext&) {
      return loop_->connect(where, who);
    });
  } catch (const kj::Exception& failed) {
    // The reason that TLS gives is another connection away.
    if (keys_ != nullptr)
      if (auto why = why_refused(where.host, where.port, *keys_, patience_))
        return *why;
    return {errc::io_failed, sentence_of(failed)};
  }
}

} // namespace hippo
