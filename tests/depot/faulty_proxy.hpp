#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <kj/async-io.h>

#include "hippo/checkpoint/depot/event_thread.hpp"

namespace hippo {

/// What goes wrong with the first connection through a proxy, once so many
/// bytes have passed in one direction.
struct fault {
  enum class kind { cut, flip, stall };
  kind what = kind::cut;
  bool upwards = true; ///< from the client to the server
  std::uint64_t at = 0;
};

/// Forwards connections to a port of the loopback interface.
class faulty_proxy {
public:
  faulty_proxy(std::uint16_t target, fault first) : first_(first) {
    thread_.run([&](kj::AsyncIoContext& io) {
      auto& network = io.provider->getNetwork();
      return network.parseAddress("127.0.0.1", target)
        .then([&](kj::Own<kj::NetworkAddress> address) {
          target_ = kj::mv(address);
          return network.parseAddress("127.0.0.1", 0);
        })
        .then([&](kj::Own<kj::NetworkAddress> address) {
          listener_ = address->listen();
          running_ = accept().eagerlyEvaluate(nullptr);
        });
    });
  }
  faulty_proxy(const faulty_proxy&) = delete;
  faulty_proxy& operator=(const faulty_proxy&) = delete;
  ~faulty_proxy() {
    thread_.run([this](kj::AsyncIoContext&) {
      running_ = nullptr;
      listener_ = nullptr;
      target_ = nullptr;
    });
  }

  [[nodiscard]] std::uint16_t port() {
    return static_cast<std::uint16_t>(listener_->getPort());
  }

  /// How many connections there have been.
  [[nodiscard]] int connections() {
    return thread_.run([this](kj::AsyncIoContext&) { return connections_; });
  }

private:
  /// One direction of a connection.
  struct pipe {
    kj::AsyncIoStream& from;
    kj::AsyncIoStream& to;
    std::optional<fault> breaks;
    std::uint64_t passed = 0;
    std::array<kj::byte, 1 << 16> buffer{};

    kj::Promise<void> run() {
      return from.tryRead(buffer.data(), 1, buffer.size())
        .then([this](std::size_t n) -> kj::Promise<void> {
          if (n == 0)
            return kj::READY_NOW;
          if (breaks && passed + n > breaks->at) {
            const auto at = breaks->at - passed;
            if (breaks->what == fault::kind::stall)
              return run(); // what comes is thrown away
            if (breaks->what == fault::kind::cut)
              return to.write(buffer.data(), at);
            buffer[at] ^= 0x10;
            breaks.reset();
          }
          passed += n;
          return to.write(buffer.data(), n).then([this] { return run(); });
        });
    }
  };

  kj::Promise<void> accept() {
    return listener_->accept().then([this](kj::Own<kj::AsyncIoStream> client) {
      return target_->connect().then(
        [this,
         client = kj::mv(client)](kj::Own<kj::AsyncIoStream> server) mutable {
          const auto breaks =
            connections_++ == 0 ? std::optional{first_} : std::nullopt;
          const auto of = [&](bool upwards) {
            return breaks && breaks->upwards == upwards ? breaks : std::nullopt;
          };
          auto up = kj::heap<pipe>(pipe{*client, *server, of(true)});
          auto down = kj::heap<pipe>(pipe{*server, *client, of(false)});
          // Whoever ends first ends the other, and with it the connection.
          auto both =
            up->run()
              .exclusiveJoin(down->run())
              .attach(kj::mv(up), kj::mv(down), kj::mv(client), kj::mv(server));
          return accept().exclusiveJoin(both.then(
            [] { return kj::Promise<void>{kj::NEVER_DONE}; },
            [](kj::Exception&&) { return kj::Promise<void>{kj::NEVER_DONE}; }));
        });
    });
  }

  const fault first_;
  int connections_ = 0;
  event_thread thread_;
  // The thread's.
  kj::Own<kj::NetworkAddress> target_;
  kj::Own<kj::ConnectionReceiver> listener_;
  kj::Promise<void> running_ = nullptr;
};

} // namespace hippo
