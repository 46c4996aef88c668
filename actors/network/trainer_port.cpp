#include "network/trainer_port.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/keys/rpc_tls.hpp"
#include "hippo/link/link_set.hpp"
#include "hippo/wire/exceptions.hpp"
#include "network/remote_trainer.hpp"

namespace hippo {

namespace {

/// How long to wait before connections are accepted again when that has failed:
/// there may be no file descriptor left.
constexpr auto accept_retry = 100 * kj::MILLISECONDS;

/// File descriptors that are left to the rest of the service.
constexpr std::size_t files_left = 256;

/// So many of those who are turned away in a minute are in the log.
constexpr unsigned refusals_logged_max = 10;
constexpr auto refusals_span = 60 * kj::SECONDS;

/// Lets this process open as many files as so many connections need, if it may.
/// @returns how many connections there may be
std::size_t make_room_for(std::size_t most) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0)
    return most;
  const auto wanted = std::min<rlim_t>(files.rlim_max, most + files_left);
  if (files.rlim_cur < wanted) {
    files.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_NOFILE, &files);
  }
  const std::size_t n = files.rlim_cur;
  return std::min(most, n > 2 * files_left ? n - files_left : n / 2);
}

std::string name_of(kj::PeerIdentity& x) {
  if (auto* known = dynamic_cast<kj::NetworkPeerIdentity*>(&x))
    return known->getAddress().toString().cStr();
  return "an unknown address";
}

} // namespace

/// What lives on the thread.
class trainer_port::loop : private kj::TaskSet::ErrorHandler {
public:
  loop(trainer_port& owner, kj::AsyncIoContext& io)
    : owner_(owner),
      network_(io.provider->getNetwork()),
      timer_(io.provider->getTimer()),
      connections_max_(make_room_for(owner.options_.connections_max)),
      links_(timer_, limits_for(owner.options_.silence_max)) {}

  ~loop() { arrivals_.clear(); } // of whom nothing is told

  /// Begins to listen.
  kj::Promise<expected<std::uint16_t>> open() {
    const auto& where = owner_.options_.where;
    if (owner_.options_.keys) {
      auto made = rpc_tls_service::make(*owner_.options_.keys, timer_);
      if (!made)
        return expected<std::uint16_t>{made.failure()};
      tls_ = std::make_unique<rpc_tls_service>(std::move(*made));
    }
    return kj::evalNow([&] {
             return network_.parseAddress(where.host.c_str(), where.port);
           })
      .then(
        [this](kj::Own<kj::NetworkAddress> address)
          -> expected<std::uint16_t> {
          receiver_ = address->listen();
          tasks_.add(accept());
          tasks_.add(count_refusals());
          return static_cast<std::uint16_t>(receiver_->getPort());
        })
      .catch_([&where](kj::Exception&& why) -> expected<std::uint16_t> {
        return {errc::io_failed, why_not_listening(to_text(where), why)};
      });
  }

private:
  /// A connection of which it is not known yet whose it is.
  struct arrival {
    std::string from;
    std::optional<link_handle> link; ///< once TLS is through
    kj::Promise<void> handshake = nullptr;
  };

  kj::Promise<void> accept() {
    return receiver_->acceptAuthenticated().then(
      [this](kj::AuthenticatedStream x) {
        take_in(kj::mv(x));
        return accept();
      },
      [this](kj::Exception&& why) {
        turn_away("somebody", "it cannot be accepted: " + sentence_of(why));
        return timer_.afterDelay(accept_retry).then([this] {
          return accept();
        });
      });
  }

  void take_in(kj::AuthenticatedStream x) {
    auto from = name_of(*x.peerIdentity);
    if (links_.size() + arrivals_.size() >= connections_max_) {
      turn_away(from, "there are " + std::to_string(connections_max_)
                        + " connections already");
      return;
    }
    if (arrivals_.size() >= owner_.options_.arrivals_max)
      send_off_oldest();
    int on = 1;
    x.stream->setsockopt(IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto number = ++last_;
    auto& guest = arrivals_[number];
    guest.from = std::move(from);
    if (!tls_) {
      begin(number, kj::mv(x.stream));
      return;
    }
    guest.handshake
      = kj::evalNow([&] { return tls_->accept(kj::mv(x)); })
          .then(
            [this, number](admitted_peer peer) {
              begin(number, kj::mv(peer.stream));
            },
            [this, number](const kj::Exception& why) {
              leave(number, explain(why));
            })
          .eagerlyEvaluate(nullptr);
  }

  /// Frames may come.
  void begin(std::uint64_t number, kj::Own<kj::AsyncIoStream> stream) {
    const auto trainer = std::make_shared<remote_trainer_actor>();
    arrivals_.at(number).link = links_.add(
      kj::mv(stream), link_side::trainer,
      {nullptr,
       [this, number, trainer](const link_handle& link, frame x) {
         if (!*trainer) {
           *trainer
             = owner_.system_.spawn(remote_trainer, link, owner_.pool_);
           forget(number);
         }
         caf::anon_send(*trainer, std::move(x));
       },
       [this, number, trainer](const std::string& why) {
         if (*trainer)
           caf::anon_send(*trainer, link_ended{why});
         else
           leave(number, why.empty() ? "it went away without a word; a trainer "
                                       "of a release before 5 of the protocol "
                                       "does so"
                                     : why);
       }});
  }

  /// Makes room for somebody who may have more to say.
  void send_off_oldest() {
    const auto& oldest = *arrivals_.begin();
    if (oldest.second.link)
      oldest.second.link->fail("others came");
    leave(oldest.first, "others came, and it does not say who it is");
  }

  void leave(std::uint64_t number, const std::string& why) {
    const auto guest = arrivals_.find(number);
    if (guest == arrivals_.end())
      return;
    turn_away(guest->second.from, why);
    forget(number);
  }

  /// Not now: it may be called by what would be destroyed.
  void forget(std::uint64_t number) {
    if (auto guest = arrivals_.extract(number))
      tasks_.add(kj::evalLater([] {}).attach(
        kj::mv(guest.mapped().handshake)));
  }

  /// Logs that somebody must stay outside, but not for ever: whoever comes all
  /// the time must not fill the disk.
  void turn_away(const std::string& who, const std::string& why) {
    if (++refusals_ <= refusals_logged_max)
      spdlog::warn("network: {} is turned away from the trainers' port: {}",
                   who, why);
  }

  kj::Promise<void> count_refusals() {
    return timer_.afterDelay(refusals_span).then([this] {
      if (refusals_ > refusals_logged_max)
        spdlog::warn("network: {} more were turned away from the trainers' "
                     "port in the last minute",
                     refusals_ - refusals_logged_max);
      refusals_ = 0;
      return count_refusals();
    });
  }

  void taskFailed(kj::Exception&& why) override {
    spdlog::critical("network: {}", sentence_of(why));
  }

  trainer_port& owner_;
  kj::Network& network_;
  kj::Timer& timer_;
  std::unique_ptr<rpc_tls_service> tls_; ///< null: none
  kj::Own<kj::ConnectionReceiver> receiver_;
  const std::size_t connections_max_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, arrival> arrivals_; ///< in the order of their coming
  unsigned refusals_ = 0; ///< in this minute
  kj::TaskSet tasks_{*this};
  link_set links_; ///< last: what it ends uses the above
};

trainer_port::trainer_port(caf::actor_system& system, registrar_actor pool,
                           trainer_port_options options)
  : system_(system), pool_(std::move(pool)), options_(std::move(options)) {}

trainer_port::~trainer_port() {
  if (loop_)
    thread_->run([this](kj::AsyncIoContext&) { loop_.reset(); });
}

expected<std::uint16_t> trainer_port::open() {
  thread_ = std::make_unique<event_thread>();
  return thread_->run([this](kj::AsyncIoContext& io) {
    loop_ = std::make_unique<loop>(*this, io);
    return loop_->open();
  });
}

} // namespace hippo
