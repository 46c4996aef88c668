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

#include "hippo/net/keys/rpc_tls.hpp"
#include "hippo/net/link/link_set.hpp"
#include "hippo/net/link/peer_address.hpp"
#include "hippo/net/wire/exceptions.hpp"
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

  ~loop() { guests_.clear(); } // of whom nothing is told

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
  /// A connection.
  struct guest {
    std::string from;
    std::string address;
    bool is_known = false; ///< whether it has said which trainer it is
    std::optional<link_handle> link{}; ///< once TLS is through
    kj::Promise<void> handshake = nullptr;
  };

  /// How many connections addresses have.
  using counts = std::map<std::string, std::size_t>;

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
    auto address = peer_address(*x.peerIdentity);
    if (guests_.size() >= connections_max_ && !send_off_for(address)) {
      turn_away(from, "there are " + std::to_string(connections_max_)
                        + " connections already");
      return;
    }
    if (unknown_ >= owner_.options_.arrivals_max)
      send_off_oldest();
    int on = 1;
    x.stream->setsockopt(IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto number = ++last_;
    auto& fresh = guests_[number];
    fresh.from = std::move(from);
    ++all_[address];
    ++unknown_;
    ++unknown_of_[address];
    fresh.address = std::move(address);
    if (!tls_) {
      begin(number, kj::mv(x.stream));
      return;
    }
    fresh.handshake
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
    auto& x = guests_.at(number);
    auto account = owner_.options_.held->root()
                     .open(x.address.empty() ? "an unknown address"
                                             : x.address)
                     .open("connection " + std::to_string(number));
    x.link = links_.add(
      kj::mv(stream), link_side::trainer,
      {nullptr,
       [this, number, trainer](const link_handle& link, frame y) {
         if (!*trainer) {
           *trainer
             = owner_.system_.spawn(remote_trainer, link, owner_.pool_);
           know(number);
         }
         caf::anon_send(*trainer, std::move(y));
       },
       [this, number, trainer](const std::string& why) {
         if (!*trainer) {
           leave(number, why.empty() ? "it went away without a word; a trainer "
                                       "of a release before 5 of the protocol "
                                       "does so"
                                     : why);
           return;
         }
         caf::anon_send(*trainer, link_ended{why});
         forget(number);
       }},
      link_set::party{std::move(account), x.address});
  }

  /// Of those who have not said who they are, the oldest of the address that
  /// has the most makes room for somebody who may have more to say.
  void send_off_oldest() {
    const auto most = std::ranges::max_element(
      unknown_of_, {}, [](const auto& kvp) { return kvp.second; });
    const auto oldest = std::ranges::find_if(guests_, [&](const auto& kvp) {
      return !kvp.second.is_known && kvp.second.address == most->first;
    });
    send_off(oldest->first, "others came, and it does not say who it is");
  }

  /// Of the address that has the most connections the last one makes room, if
  /// that still leaves it at least as many as the one of whoever comes.
  /// @returns whether there was one
  bool send_off_for(const std::string& address) {
    const auto most = std::ranges::max_element(
      all_, {}, [](const auto& kvp) { return kvp.second; });
    const auto mine = all_.find(address);
    if (most->second < (mine == all_.end() ? 0 : mine->second) + 2)
      return false;
    for (auto i = guests_.rbegin(); i != guests_.rend(); ++i)
      if (i->second.address == most->first) {
        send_off(i->first, "its address has more connections than any other, "
                           "and others came");
        return true;
      }
    return false;
  }

  void send_off(std::uint64_t number, const std::string& why) {
    if (auto& link = guests_.at(number).link)
      link->fail(why);
    leave(number, why);
  }

  void leave(std::uint64_t number, const std::string& why) {
    const auto x = guests_.find(number);
    if (x == guests_.end())
      return;
    turn_away(x->second.from, why);
    forget(number);
  }

  /// It has said which trainer it is.
  void know(std::uint64_t number) {
    if (const auto x = guests_.find(number); x != guests_.end())
      count_known(x->second);
  }

  void count_known(guest& x) {
    if (std::exchange(x.is_known, true))
      return;
    --unknown_;
    count_off(unknown_of_, x.address);
  }

  static void count_off(counts& from, const std::string& address) {
    if (const auto i = from.find(address); --i->second == 0)
      from.erase(i);
  }

  /// Not now: it may be called by what would be destroyed.
  void forget(std::uint64_t number) {
    auto x = guests_.extract(number);
    if (!x)
      return;
    count_known(x.mapped());
    count_off(all_, x.mapped().address);
    tasks_.add(kj::evalLater([] {}).attach(kj::mv(x.mapped().handshake)));
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
  std::map<std::uint64_t, guest> guests_; ///< in the order of their coming
  std::size_t unknown_ = 0; ///< of them, who have not said who they are
  counts all_;              ///< by address
  counts unknown_of_;       ///< likewise
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
