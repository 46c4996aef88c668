#include "gateway/gateway.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include <capnp/rpc-twoparty.h>
#include <kj/compat/http.h>
#include <spdlog/spdlog.h>

#include "gateway/answer_budget.hpp"
#include "gateway/guarded_stream.hpp"
#include "gateway/http.hpp"
#include "hippo/core/endpoint.hpp"
#include "hippo/link/peer_address.hpp"
#include "hippo/store/state_reader.hpp"
#include "hippo/transfer/depot.hpp"
#include "hippo/transfer/event_thread.hpp"
#include "hippo/wire/exceptions.hpp"

namespace hippo {

namespace {

/// Refused clients that are told so at a time; more are cut off.
constexpr std::size_t refused_max = 32;

/// How long to wait before connections are accepted again when that has failed:
/// there may be no file descriptor left.
constexpr auto accept_retry = 100 * kj::MILLISECONDS;

/// A client whose machine is gone is noticed after two minutes.
constexpr int keepalive_idle_seconds = 60;
constexpr int keepalive_interval_seconds = 10;
constexpr int keepalive_probes = 6;

/// How long an HTTP client has for its request.
constexpr auto http_request_time = 15 * kj::SECONDS;

/// How long a client that has its answer has to hang up first.
constexpr auto http_linger_time = 20 * kj::MILLISECONDS;

/// Lets an HTTP connection end with its answer: it has one request.
class one_request final : public kj::HttpServerCallbacks {
public:
  bool shouldClose() override { return true; }
};

/// Answers the first request of a connection, and none that is sent after it.
class first_request final : public kj::HttpService {
public:
  explicit first_request(kj::HttpService& answers) : answers_(answers) {}

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                            const kj::HttpHeaders& headers,
                            kj::AsyncInputStream& body,
                            Response& response) override {
    if (std::exchange(is_taken_, true))
      return KJ_EXCEPTION(DISCONNECTED, "a connection has one request");
    return answers_.request(method, url, headers, body, response);
  }

private:
  kj::HttpService& answers_;
  bool is_taken_ = false;
};

/// Makes what of each connection takes one request.
kj::HttpServer::HttpServiceFactory one_request_to(kj::HttpService& answers) {
  return [&answers](kj::AsyncIoStream&) -> kj::Own<kj::HttpService> {
    return kj::heap<first_request>(answers);
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
  kj::Own<answer_ledger> ledger;
  guarded_stream stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;

  rpc_connection(kj::Own<kj::AsyncIoStream> inner, kj::Timer& timer,
                 const gateway_limits& limits,
                 kj::Own<answer_ledger> written,
                 capnp::Capability::Client first)
    : ledger(kj::mv(written)),
      stream(kj::mv(inner), timer, limits.stall,
             [this](std::size_t bytes) { ledger->note_written(bytes); }),
      network(stream, capnp::rpc::twoparty::Side::SERVER, options_of(limits)),
      system(capnp::makeRpcServer(network, kj::mv(first))) {
    system.setFlowLimit(limits.message_bytes / sizeof(capnp::word));
  }

  static capnp::ReaderOptions options_of(const gateway_limits& limits) {
    capnp::ReaderOptions result;
    result.traversalLimitInWords = limits.message_bytes / sizeof(capnp::word);
    return result;
  }

  kj::Promise<void> ended() {
    return network.onDisconnect().exclusiveJoin(stream.stalled());
  }
};

} // namespace

/// What lives on the gateway's thread.
class gateway::loop : private kj::TaskSet::ErrorHandler {
public:
  /// @param clients is how many there are, for others to see
  loop(kj::AsyncIoContext& io, gateway_options& options,
       std::atomic<std::size_t>& clients)
    : network_(io.provider->getNetwork()),
      timer_(io.provider->getTimer()),
      options_(options),
      begun_(timer_.now()),
      clients_(clients) {}

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
      auto door = options_.make_authenticator(timer_);
      if (!door)
        return door.failure();
      authenticator_ = std::move(*door);
    }
    auto rpc = listen(options_.rpc_host, options_.rpc_port, scope);
    if (!rpc)
      return rpc.failure();
    rpc_ = kj::mv(*rpc);
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
  let_in(kj::AuthenticatedStream x, const authenticator& door) {
    return kj::evalNow([&]() -> kj::Promise<admitted_connection> {
      prepare(*x.stream);
      if (door)
        return door(kj::mv(x));
      return admitted_connection{kj::mv(x.stream), peer_role::anybody};
    });
  }

  // -- RPC --------------------------------------------------------------------

  kj::Promise<void> serve_rpc(kj::AuthenticatedStream x) {
    const auto most = options_.limits.clients;
    if (clients_ >= most + refused_max)
      return kj::READY_NOW;
    const bool is_one_too_many = clients_ >= most;
    clients_.fetch_add(1);
    auto address = peer_address(*x.peerIdentity);
    return let_in(kj::mv(x), authenticator_)
      .then([=, this,
             address = std::move(address)](admitted_connection peer) {
        auto ledger = kj::refcounted<answer_ledger>(
          answers_, options_.limits.answer_bytes);
        auto first = is_one_too_many
                       ? make_closed_entrance(
                         {errc::resource_exhausted,
                          "this service has " + std::to_string(most)
                            + " clients, and takes no more: try again later"})
                       : make_entrance(*queries_, peer.role, options_.limits,
                                       kj::addRef(*ledger),
                                       depot_->for_connection(address));
        auto connection = kj::heap<rpc_connection>(
          kj::mv(peer.stream), timer_, options_.limits, kj::mv(ledger),
          kj::mv(first));
        auto ended = connection->ended();
        if (is_one_too_many)
          ended = ended.exclusiveJoin(
            timer_.afterDelay(refusal_time.count() * kj::SECONDS));
        return ended.attach(kj::mv(connection));
      })
      .attach(kj::defer([this] { clients_.fetch_sub(1); }));
  }

  // -- HTTP -------------------------------------------------------------------

  void open_http() {
    kj::HttpServerSettings settings;
    settings.headerTimeout = http_request_time;
    settings.pipelineTimeout = http_linger_time;
    settings.callbacks = one_request_;
    errors_ = make_http_errors(*headers_.table);
    settings.errorHandler = *errors_;
    const auto figures = [this] {
      return gateway_figures{
        clients_.load(), http_connections_,
        static_cast<double>((timer_.now() - begun_) / kj::MILLISECONDS)
          / 1000};
    };
    http_door::options door;
    door.loopback_only = is_loopback({options_.http_host, 0});
    service_ = make_http_service(*queries_, headers_, answers_,
                                 {figures, std::move(door)});
    refusal_ = make_closed_http_service(*headers_.table);
    http_server_
      = kj::heap<kj::HttpServer>(timer_, *headers_.table,
                                 one_request_to(*service_), settings);
    http_refuser_
      = kj::heap<kj::HttpServer>(timer_, *headers_.table,
                                 one_request_to(*refusal_), settings);
    if (!options_.people)
      return;
    http_door::options people;
    people.tokens = token_folder::path_in(options_.sources.state);
    people.is_secure = options_.people->make_authenticator != nullptr;
    people_service_ = make_http_service(*queries_, headers_, answers_,
                                        {figures, std::move(people)});
    people_server_
      = kj::heap<kj::HttpServer>(timer_, *headers_.table,
                                 one_request_to(*people_service_), settings);
  }

  /// Begins to listen to those who have tokens.
  std::optional<error> open_people(kj::WaitScope& scope) {
    if (options_.people->make_authenticator) {
      auto door = options_.people->make_authenticator(timer_);
      if (!door)
        return door.failure();
      people_door_ = std::move(*door);
    }
    auto port = listen(options_.people->host, options_.people->port, scope);
    if (!port)
      return port.failure();
    people_ = kj::mv(*port);
    tasks_.add(accept(*people_, &loop::serve_people));
    return std::nullopt;
  }

  kj::Promise<void> serve_http(kj::AuthenticatedStream x) {
    return serve_http(kj::mv(x), authenticator_, *http_server_);
  }
  kj::Promise<void> serve_people(kj::AuthenticatedStream x) {
    return serve_http(kj::mv(x), people_door_, *people_server_);
  }

  kj::Promise<void> serve_http(kj::AuthenticatedStream x,
                               const authenticator& door,
                               kj::HttpServer& to) {
    if (http_connections_ >= options_.limits.http_connections)
      return refuse_http(kj::mv(x.stream));
    ++http_connections_;
    return let_in(kj::mv(x), door)
      .then([this, &to](admitted_connection peer) {
        auto stream = kj::heap<guarded_stream>(kj::mv(peer.stream), timer_,
                                               options_.limits.stall);
        auto stalled = stream->stalled();
        auto& answering
          = peer.role == peer_role::trainer ? *http_refuser_ : to;
        return answering.listenHttpCleanDrain(*stream)
          .ignoreResult()
          .exclusiveJoin(kj::mv(stalled))
          .attach(kj::mv(stream));
      })
      .attach(kj::defer([this] { --http_connections_; }));
  }

  kj::Promise<void> refuse_http(kj::Own<kj::AsyncIoStream> to) {
    static constexpr kj::StringPtr answer
      = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
        "Content-Type: application/json\r\nContent-Length: 53\r\n\r\n"
        "{\"error\":\"resource_exhausted: too many connections\"}\n"_kj;
    auto written = to->write(answer.begin(), answer.size());
    return timer_
      .timeoutAfter(refusal_time.count() * kj::SECONDS, kj::mv(written))
      .attach(kj::mv(to));
  }

  void taskFailed(kj::Exception&& why) override {
    if (why.getType() != kj::Exception::Type::DISCONNECTED)
      spdlog::warn("gateway: a client was let go: {}", sentence_of(why));
  }

  kj::Network& network_;
  kj::Timer& timer_;
  gateway_options& options_;
  kj::TimePoint begun_;
  answer_budget answers_{options_.limits.all_answer_bytes};
  std::unique_ptr<query_service> queries_;
  std::optional<depot> depot_;
  authenticator authenticator_;
  kj::Own<kj::ConnectionReceiver> rpc_;
  kj::Own<kj::ConnectionReceiver> http_;
  one_request one_request_;
  http_headers headers_;
  kj::Own<kj::HttpServerErrorHandler> errors_;
  kj::Own<kj::HttpService> service_;
  kj::Own<kj::HttpService> refusal_;
  kj::Own<kj::HttpServer> http_server_;
  kj::Own<kj::HttpServer> http_refuser_;
  authenticator people_door_;
  kj::Own<kj::ConnectionReceiver> people_;
  kj::Own<kj::HttpService> people_service_;
  kj::Own<kj::HttpServer> people_server_;
  std::atomic<std::size_t>& clients_;
  std::size_t http_connections_ = 0;
  kj::TaskSet tasks_{*this};
};

gateway::gateway(caf::actor_system& system, gateway_options options)
  : system_(system), options_(std::move(options)) {}

void gateway::run(std::promise<std::optional<error>>& opened) {
  auto io = kj::setupAsyncIo();
  io.waitScope.setBusyPollInterval(busy_poll_interval);
  loop all{io, options_, clients_};
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
