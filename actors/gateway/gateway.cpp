#include "gateway/gateway.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <capnp/rpc-twoparty.h>
#include <kj/compat/http.h>
#include <spdlog/spdlog.h>

#include "gateway/client_connection.hpp"
#include "gateway/connection_books.hpp"
#include "gateway/guarded_stream.hpp"
#include "gateway/http.hpp"
#include "gateway/http_reply.hpp"
#include "gateway/response_memory.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/checkpoint/depot/depot.hpp"
#include "hippo/checkpoint/depot/event_thread.hpp"
#include "hippo/net/link/peer_address.hpp"
#include "hippo/net/wire/exceptions.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

namespace {

/// How long to wait before connections are accepted again when that has failed:
/// there may be no file descriptor left.
constexpr auto accept_retry = 100 * kj::MILLISECONDS;

/// A client whose machine is gone is noticed after two minutes.
constexpr int keepalive_idle_seconds = 60;
constexpr int keepalive_interval_seconds = 10;
constexpr int keepalive_probes = 6;

/// kj's own limit for an HTTP client's headers: `connection_clock` has a lower
/// one.
constexpr auto http_header_time = 1 * kj::HOURS;

/// How long a client that has its answer has to hang up first.
constexpr auto http_linger_time = 20 * kj::MILLISECONDS;

/// How long there is between two who must go because others need the memory.
constexpr auto reclaim_interval = 10 * kj::MILLISECONDS;

/// So many of those who were let go in a minute are in the log.
constexpr unsigned let_go_logged_max = 10;
constexpr auto let_go_span = 60 * kj::SECONDS;

/// Lets an HTTP connection end with its answer: it has one request.
class one_request final : public kj::HttpServerCallbacks {
public:
  bool shouldClose() override { return true; }
};

/// Answers the first request of a connection, and none that is sent after it.
class first_request final : public kj::HttpService {
public:
  first_request(kj::Own<kj::HttpService> answers) : answers_(kj::mv(answers)) {}

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                            const kj::HttpHeaders& headers,
                            kj::AsyncInputStream& body,
                            Response& response) override {
    if (std::exchange(is_taken_, true))
      return KJ_EXCEPTION(DISCONNECTED, "a connection has one request");
    return answers_->request(method, url, headers, body, response);
  }

private:
  kj::Own<kj::HttpService> answers_;
  bool is_taken_ = false;
};

/// Makes what of each connection takes one request.
kj::HttpServer::HttpServiceFactory one_request_to(http_answers& answers) {
  return [&answers](kj::AsyncIoStream& from) -> kj::Own<kj::HttpService> {
    auto& stream = kj::downcast<guarded_stream>(from);
    return kj::heap<first_request>(answers.serve(stream.whose()));
  };
}

void set(kj::AsyncIoStream& stream, int level, int option, int value) {
  stream.setsockopt(level, option, &value, sizeof(value));
}

/// Has the system notice a client whose machine is gone; one that comes
/// through a file is on this machine.
void prepare(kj::AsyncIoStream& stream) {
  sockaddr_storage own{};
  kj::uint length = sizeof own;
  stream.getsockname(reinterpret_cast<sockaddr*>(&own), &length);
  if (own.ss_family == AF_UNIX)
    return;
  set(stream, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(stream, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_seconds);
  set(stream, IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_seconds);
  set(stream, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
  set(stream, IPPROTO_TCP, TCP_NODELAY, 1);
}

/// One client of the RPC interface.
struct rpc_connection {
  guarded_stream stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;

  rpc_connection(kj::Own<kj::AsyncIoStream> inner,
                 kj::Own<client_connection> whose, const gateway_limits& limits,
                 capnp::Capability::Client first)
    : stream(kj::mv(inner), kj::mv(whose), guarded_stream::speech::messages,
             limits.message_bytes),
      network(stream, capnp::rpc::twoparty::Side::SERVER, options_of(limits)),
      system(capnp::makeRpcServer(network, kj::mv(first))) {
    system.setFlowLimit(limits.message_bytes / sizeof(capnp::word));
  }

  static capnp::ReaderOptions options_of(const gateway_limits& limits) {
    capnp::ReaderOptions result;
    result.traversalLimitInWords = limits.message_bytes / sizeof(capnp::word);
    return result;
  }
};

/// Who has connected, as far as that is known without asking.
struct visitor {
  std::string address; ///< for the log
  std::string party;
  bool is_here = false; ///< on this machine
};

visitor visitor_of(kj::PeerIdentity& x) {
  auto* known = dynamic_cast<kj::NetworkPeerIdentity*>(&x);
  if (known == nullptr)
    return {"this machine", "this machine", true};
  visitor result{known->getAddress().toString().cStr(), {}, false};
  result.party = result.address.substr(0, result.address.rfind(':'));
  if (result.party.starts_with('[')) // as addresses of IPv6 are written
    result.party = result.party.substr(1, result.party.size() - 2);
  result.is_here = is_loopback({result.party, 0});
  if (result.is_here)
    result.party = "this machine";
  return result;
}

} // namespace

/// What lives on the gateway's thread.
class gateway::loop : private kj::TaskSet::ErrorHandler {
public:
  /// @param clients is how many there are, for others to see
  loop(kj::AsyncIoContext& io, gateway_options& options,
       connection_books& books, std::atomic<std::size_t>& clients)
    : network_(io.provider->getNetwork()),
      timer_(io.provider->getTimer()),
      options_(options),
      begun_(timer_.now()),
      room_(books.room),
      rpc_slots_(books.rpc),
      http_slots_(books.http),
      people_slots_(books.people),
      clients_(clients) {}
  ~loop() noexcept(false) { room_.close(); }
  KJ_DISALLOW_COPY(loop);

  /// Begins to listen. @returns why that is not possible
  std::optional<error> open(caf::actor_system& system,
                            kj::WaitScope& scope) {
    auto answers = query_service::open(system, options_.sources, timer_);
    if (!answers)
      return answers.failure();
    queries_ = std::move(*answers);
    depot_.emplace(state_reader::checkpoints_of(options_.sources.state),
                   timer_);
    if (options_.make_authenticator) {
      auto made = options_.make_authenticator(timer_);
      if (!made)
        return made.failure();
      authenticator_ = std::move(*made);
    }
    auto rpc = listen(options_.rpc_host, options_.rpc_port, scope);
    if (!rpc)
      return rpc.failure();
    rpc_ = kj::mv(*rpc);
    room_.on_starving([this] { reclaim(); });
    tasks_.add(beat());
    tasks_.add(count_let_go());
    tasks_.add(accept(*rpc_, &loop::serve_rpc));
    open_http();
    if (options_.http_port) {
      auto http = listen(options_.http_host, *options_.http_port, scope);
      if (!http)
        return http.failure();
      http_ = kj::mv(*http);
      tasks_.add(accept(*http_, &loop::serve_http));
    }
    if (options_.people)
      return open_people(scope);
    return std::nullopt;
  }

  [[nodiscard]] std::uint16_t rpc_port() {
    return static_cast<std::uint16_t>(rpc_->getPort());
  }
  [[nodiscard]] std::uint16_t http_port() {
    return http_.get() == nullptr
             ? std::uint16_t{0}
             : static_cast<std::uint16_t>(http_->getPort());
  }

  [[nodiscard]] std::uint16_t people_port() {
    return people_.get() == nullptr
             ? std::uint16_t{0}
             : static_cast<std::uint16_t>(people_->getPort());
  }

private:
  using server = kj::Promise<void> (loop::*)(kj::AuthenticatedStream);

  expected<kj::Own<kj::ConnectionReceiver>>
  listen(const std::string& host, std::uint16_t port, kj::WaitScope& scope) {
    try {
      const kj::StringPtr name{host.data(), host.size()};
      return network_.parseAddress(name, port)
        .wait(scope)
        ->listen();
    } catch (const kj::Exception& e) {
      return {errc::io_failed,
              why_not_listening(host + ':' + std::to_string(port), e)};
    }
  }

  /// Accepts connections for ever.
  kj::Promise<void> accept(kj::ConnectionReceiver& from, server serve) {
    return from.acceptAuthenticated().then(
      [=, this, &from](kj::AuthenticatedStream x) {
        tasks_.add(kj::evalNow([&] { return (this->*serve)(kj::mv(x)); }));
        return accept(from, serve);
      },
      [=, this, &from](kj::Exception&& why) {
        spdlog::error("gateway: cannot accept a connection: {}",
                      sentence_of(why));
        return timer_.afterDelay(accept_retry).then([=, this, &from] {
          return accept(from, serve);
        });
      });
  }

  static kj::Promise<admitted_connection>
  let_in(kj::AuthenticatedStream x, const authenticator& authenticate,
         client_connection& whose) {
    return kj::evalNow([&]() -> kj::Promise<admitted_connection> {
             prepare(*x.stream);
             if (authenticate)
               return authenticate(kj::mv(x));
             return admitted_connection{kj::mv(x.stream), peer_role::anybody,
                                        {}};
           })
      .then([&whose](admitted_connection y) {
        whose.note_let_in();
        if (!y.who.empty())
          whose.note_identity(y.who);
        return y;
      })
      .exclusiveJoin(
        whose.gone().then([]() -> kj::Promise<admitted_connection> {
          return kj::NEVER_DONE;
        }));
  }

  // -- who has a connection ---------------------------------------------------

  /// Gives a connection a slot, or a spare one.
  kj::Own<client_connection> take_in(kj::AuthenticatedStream& x,
                                     port_slots& of) {
    auto from = visitor_of(*x.peerIdentity);
    auto& slots = from.is_here ? of.here : of.elsewhere;
    const auto number = ++last_;
    const auto decision = slots.open(number, from.party);
    if (decision.let_go)
      if (const auto i = connections_.find(*decision.let_go);
          i != connections_.end())
        i->second->let_go({errc::resource_exhausted,
                           "the port has as many connections as it takes, and "
                           "this one made room for the next"});
    auto result = kj::refcounted<client_connection>(
      client_connection::setup{number, decision.is_spare,
                               std::move(from.address), std::move(from.party),
                               options_.limits.held_bytes},
      slots, room_, options_.held->root(), options_.limits.times);
    connections_.emplace(number, result.get());
    return result;
  }

  /// What a connection leaves behind when it ends.
  auto leave(client_connection& x, port_slots& of) {
    return kj::defer([this, &of, number = x.number()] {
      of.here.close(number);
      of.elsewhere.close(number);
      connections_.erase(number);
      clients_.store(rpc_slots_.size());
    });
  }

  /// Looks once a beat who has used up his time.
  kj::Promise<void> beat() {
    return timer_.afterDelay(options_.limits.beat.count() * kj::MILLISECONDS)
      .then([this] {
        for (auto* x : {&rpc_slots_, &http_slots_, &people_slots_})
          x->beat();
        for (const auto& x : connections_)
          x.second->beat();
        room_.forget_half();
        room_.serve();
        return beat();
      });
  }

  /// Somebody finds no room who holds nothing. Of those who are slow with what
  /// they hold the one with the most has to go.
  void reclaim() {
    if (std::exchange(is_reclaiming_, true))
      return;
    tasks_.add(kj::evalLater([this] {
                 if (!room_.somebody_starves())
                   return;
                 std::vector<client_connection*> all;
                 for (const auto& kvp : connections_)
                   all.push_back(kvp.second);
                 if (auto* const x = slow_holder(all))
                   x->let_go(
                     {errc::resource_exhausted,
                      "others need the memory of what it does not send or take "
                      "in time"});
               })
                 .then([this] { return timer_.afterDelay(reclaim_interval); })
                 .then([this] { is_reclaiming_ = false; }));
  }

  void note_let_go(const std::string& who, const kj::Exception& why) {
    if (++let_go_ <= let_go_logged_max)
      spdlog::warn("gateway: {} was let go: {}", who, sentence_of(why));
  }

  kj::Promise<void> count_let_go() {
    return timer_.afterDelay(let_go_span).then([this] {
      if (let_go_ > let_go_logged_max)
        spdlog::warn("gateway: {} more were let go in the last minute",
                     let_go_ - let_go_logged_max);
      let_go_ = 0;
      return count_let_go();
    });
  }

  // -- RPC --------------------------------------------------------------------

  kj::Promise<void> serve_rpc(kj::AuthenticatedStream x) {
    const auto host = peer_address(*x.peerIdentity);
    auto me = take_in(x, rpc_slots_);
    clients_.store(rpc_slots_.size());
    auto served =
      let_in(kj::mv(x), authenticator_, *me)
        .then(
          [this, host, me = kj::addRef(*me)](auto peer) mutable {
            auto first =
              me->is_spare()
                ? make_closed_entrance(
                  {errc::resource_exhausted,
                   "this service has " + std::to_string(options_.limits.clients)
                     + " clients, and takes no more: try again "
                       "later"})
                : make_entrance(*queries_, peer.role, options_.limits,
                                kj::addRef(*me), *depot_, host);
            const bool is_spare = me->is_spare();
            auto connection = kj::heap<rpc_connection>(
              kj::mv(peer.stream), kj::mv(me), options_.limits, kj::mv(first));
            auto ended = connection->network.onDisconnect();
            if (is_spare)
              ended = ended.exclusiveJoin(
                timer_.afterDelay(refusal_time.count() * kj::SECONDS));
            return ended.attach(kj::mv(connection));
          });
    return served.exclusiveJoin(me->gone())
      .catch_([this, who = me->address()](kj::Exception&& why) {
        if (why.getType() != kj::Exception::Type::DISCONNECTED)
          note_let_go(who, why);
      })
      .attach(leave(*me, rpc_slots_), kj::mv(me));
  }

  // -- HTTP -------------------------------------------------------------------

  void open_http() {
    kj::HttpServerSettings settings;
    settings.headerTimeout = http_header_time;
    settings.pipelineTimeout = http_linger_time;
    settings.callbacks = one_request_;
    errors_ = make_http_errors(*headers_.table);
    settings.errorHandler = *errors_;
    const auto figures = [this] {
      return gateway_figures{
        clients_.load(), http_slots_.size() + people_slots_.size(),
        static_cast<double>((timer_.now() - begun_) / kj::MILLISECONDS)
          / 1000};
    };
    http_access::options own;
    own.loopback_only = is_loopback({options_.http_host, 0});
    service_ =
      make_http_answers(*queries_, headers_, {figures, std::move(own)});
    refusal_ = make_closed_http_answers(*headers_.table);
    http_server_
      = kj::heap<kj::HttpServer>(timer_, *headers_.table,
                                 one_request_to(*service_), settings);
    http_refuser_
      = kj::heap<kj::HttpServer>(timer_, *headers_.table,
                                 one_request_to(*refusal_), settings);
    if (!options_.people)
      return;
    http_access::options people;
    people.tokens = token_folder::path_in(options_.sources.state);
    people.is_secure = options_.people->make_authenticator != nullptr;
    people_service_ = make_http_answers(*queries_, headers_,
                                        {figures, std::move(people)});
    people_server_
      = kj::heap<kj::HttpServer>(timer_, *headers_.table,
                                 one_request_to(*people_service_), settings);
  }

  /// Begins to listen to those who have tokens.
  std::optional<error> open_people(kj::WaitScope& scope) {
    if (options_.people->make_authenticator) {
      auto made = options_.people->make_authenticator(timer_);
      if (!made)
        return made.failure();
      people_authenticator_ = std::move(*made);
    }
    auto port = listen(options_.people->host, options_.people->port, scope);
    if (!port)
      return port.failure();
    people_ = kj::mv(*port);
    tasks_.add(accept(*people_, &loop::serve_people));
    return std::nullopt;
  }

  kj::Promise<void> serve_http(kj::AuthenticatedStream x) {
    return serve_http(kj::mv(x), http_slots_, authenticator_, *http_server_);
  }
  kj::Promise<void> serve_people(kj::AuthenticatedStream x) {
    return serve_http(kj::mv(x), people_slots_, people_authenticator_,
                      *people_server_);
  }

  kj::Promise<void> serve_http(kj::AuthenticatedStream x, port_slots& slots,
                               const authenticator& authenticate,
                               kj::HttpServer& to) {
    auto me = take_in(x, slots);
    auto served =
      let_in(kj::mv(x), authenticate, *me)
        .then(
          [this, &to, me = kj::addRef(*me)](admitted_connection peer) mutable {
            auto& answering
              = peer.role == peer_role::trainer ? *http_refuser_ : to;
            auto stream = kj::heap<guarded_stream>(
              kj::mv(peer.stream), kj::addRef(*me),
              guarded_stream::speech::requests, options_.limits.message_bytes);
            auto& out = *stream;
            return answering.listenHttpCleanDrain(out)
              .ignoreResult()
              .exclusiveJoin(me->gone())
              .catch_([this, &out](kj::Exception&& why) {
                return tell_late(out, kj::mv(why));
              })
              .attach(kj::mv(stream), kj::mv(me));
          });
    return served
      .catch_([this, who = me->address()](kj::Exception&& why) {
        if (why.getType() != kj::Exception::Type::DISCONNECTED)
          note_let_go(who, why);
      })
      .attach(leave(*me, slots), kj::mv(me));
  }

  /// Tells somebody who has to go why, if no answer has begun.
  kj::Promise<void> tell_late(guarded_stream& to, kj::Exception&& why) {
    if (!to.whose().has_to_go() || to.whose().has_been_answered())
      return kj::mv(why);
    const auto said = failure(why);
    auto text = kj::str("HTTP/1.1 ",
                        said.status == 503 ? "503 Service Unavailable"
                                           : "408 Request Timeout",
                        "\r\nConnection: close\r\nContent-Type: ", said.type,
                        "\r\nContent-Length: ", said.body.size(),
                        "\r\n\r\n", said.body.c_str());
    auto written = to.write(text.begin(), text.size());
    return timer_
      .timeoutAfter(refusal_time.count() * kj::SECONDS, kj::mv(written))
      .attach(kj::mv(text))
      .then([why = kj::mv(why)]() mutable -> kj::Promise<void> {
        return kj::mv(why);
      });
  }

  void taskFailed(kj::Exception&& why) override {
    spdlog::critical("gateway: {}", sentence_of(why));
  }

  kj::Network& network_;
  kj::Timer& timer_;
  gateway_options& options_;
  kj::TimePoint begun_;
  response_memory& room_;
  connection_slots::number last_ = 0;
  std::map<connection_slots::number, client_connection*> connections_;
  port_slots& rpc_slots_;
  port_slots& http_slots_;
  port_slots& people_slots_;
  unsigned let_go_ = 0; ///< in this minute
  bool is_reclaiming_ = false;
  std::unique_ptr<query_service> queries_;
  std::optional<depot> depot_;
  authenticator authenticator_;
  kj::Own<kj::ConnectionReceiver> rpc_;
  kj::Own<kj::ConnectionReceiver> http_;
  one_request one_request_;
  http_headers headers_;
  kj::Own<kj::HttpServerErrorHandler> errors_;
  kj::Own<http_answers> service_;
  kj::Own<http_answers> refusal_;
  kj::Own<kj::HttpServer> http_server_;
  kj::Own<kj::HttpServer> http_refuser_;
  authenticator people_authenticator_;
  kj::Own<kj::ConnectionReceiver> people_;
  kj::Own<http_answers> people_service_;
  kj::Own<kj::HttpServer> people_server_;
  std::atomic<std::size_t>& clients_;
  kj::TaskSet tasks_{*this};
};

gateway::gateway(caf::actor_system& system, gateway_options options)
  : system_(system), options_(std::move(options)) {}

void gateway::run(std::promise<std::optional<error>>& opened) {
  std::optional<connection_books> books; // ends after the event loop
  auto io = kj::setupAsyncIo();
  io.waitScope.setBusyPollInterval(busy_poll_interval);
  books.emplace(options_.limits, options_.held->room(),
                io.provider->getTimer());
  loop all{io, options_, *books, clients_};
  if (auto why = all.open(system_, io.waitScope)) {
    opened.set_value(std::move(why));
    return;
  }
  auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
  stop_ = kj::mv(stop.fulfiller);
  rpc_port_ = all.rpc_port();
  http_port_ = all.http_port();
  people_port_ = all.people_port();
  opened.set_value(std::nullopt);
  stop.promise.wait(io.waitScope);
}

std::optional<error> gateway::open() {
  std::promise<std::optional<error>> opened;
  auto result = opened.get_future();
  thread_ = std::thread{[this, &opened] { run(opened); }};
  return result.get();
}

void gateway::close() {
  if (!thread_.joinable())
    return;
  KJ_IF_MAYBE(x, stop_)
    (*x)->fulfill();
  thread_.join();
  stop_ = nullptr;
}

} // namespace hippo
