#include "hippo/net/client/connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/number.hpp"
#include "hippo/net/wire/exceptions.hpp"

namespace hippo {

namespace {

/// Messages of a service may be so long: a whole study's export is one.
constexpr std::uint64_t message_words_max = 256 * 1024 * 1024 / 8;

/// For connecting and greeting.
constexpr auto greeting_time_max = 10 * kj::SECONDS;

/// Studies of which a connection keeps what their calls go to.
constexpr std::size_t studies_held_max = 64;

// Between attempts to connect: the first pause and the longest, each twice the
// one before.
constexpr auto pause_min = 50 * kj::MILLISECONDS;
constexpr auto pause_max = 2 * kj::SECONDS;
constexpr unsigned doublings_max = 6;

// A host that has vanished without a word is noticed after 30 s.
constexpr int keepalive_idle_seconds = 15;
constexpr int keepalive_interval_seconds = 5;
constexpr int keepalive_count = 3;

/// Has the system notice a service whose machine is gone; one behind a file is
/// on this machine.
void keep_alive(kj::AsyncIoStream& stream, const std::string& address) {
  if (is_local_socket(address))
    return;
  const auto set = [&stream](int level, int name, int value) {
    stream.setsockopt(level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_seconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_seconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, keepalive_count);
}

/// Returns the code of that name, or nothing if there is none (yet).
std::optional<errc> errc_of(std::string_view name) {
  const std::string_view none = to_string(errc{});
  for (std::uint8_t i = 1; to_string(errc{i}) != none; ++i)
    if (to_string(errc{i}) == name)
      return errc{i};
  return std::nullopt;
}

} // namespace

kj::Exception exception_of(errc code, const std::string& sentence) {
  return kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__,
                       kj::str(to_string(code), ": ", sentence.c_str()));
}

error error_of(const kj::Exception& why) {
  std::string_view text = why.getDescription().cStr();
  constexpr std::string_view remote = "remote exception: ";
  if (text.starts_with(remote))
    text.remove_prefix(remote.size());
  const auto end = text.find(": ");
  if (end != text.npos)
    if (const auto code = errc_of(text.substr(0, end)))
      return {*code, std::string{text.substr(end + 2)}};
  if (why.getType() == kj::Exception::Type::UNIMPLEMENTED)
    return {errc::incompatible_version,
            "the service is older than this client and cannot do this: "
              + std::string{text}};
  return {errc::io_failed, std::string{text}};
}

namespace {

/// Says which side is to be upgraded, which a service of protocol 1 does not:
/// the service.
kj::Exception with_advice(kj::Exception&& why) {
  constexpr std::string_view advice = "use the same release of both";
  auto [code, sentence] = error_of(why);
  if (code != errc::incompatible_version || !sentence.ends_with(advice))
    return kj::mv(why);
  sentence.replace(sentence.size() - advice.size(), advice.size(),
                   "upgrade the service to the client's release (stop it, "
                   "install that, and run hippo serve again)");
  return exception_of(code, sentence);
}

} // namespace

session::session(kj::Own<kj::AsyncIoStream> stream, std::uint64_t number)
  : stream_(kj::mv(stream)),
    network_(*stream_, capnp::rpc::twoparty::Side::CLIENT,
             [] {
               capnp::ReaderOptions result;
               result.traversalLimitInWords = message_words_max;
               return result;
             }()),
    rpc_(capnp::makeRpcClient(network_)),
    number_(number) {}

kj::Promise<void> session::greet(const std::string& client) {
  capnp::MallocMessageBuilder words;
  auto service = words.initRoot<capnp::rpc::twoparty::VatId>();
  service.setSide(capnp::rpc::twoparty::Side::SERVER);
  auto request
    = rpc_.bootstrap(service).castAs<schema::Entrance>().greetRequest();
  request.setProtocol(schema::SERVICE_PROTOCOL_VERSION);
  request.setClient(client);
  return request.send().then(
    [this](auto&& answer) {
      service_ = answer.getService();
      const auto info = answer.getInfo();
      info_ = {info.getVersion(), info.getState()};
    },
    [](kj::Exception&& why) {
      kj::throwFatalException(with_advice(kj::mv(why)));
    });
}

schema::Service::Client& session::service() {
  return KJ_ASSERT_NONNULL(service_);
}

schema::Study::Client& session::study(std::uint64_t id) {
  const auto found = studies_.find(id);
  if (found != studies_.end())
    return found->second;
  // The service keeps something for each that is held; the oldest can be asked
  // for again.
  if (studies_.size() >= studies_held_max)
    studies_.erase(studies_.begin());
  auto request = service().studyRequest();
  request.setIdOrName(std::to_string(id));
  return studies_.emplace(id, request.send().getStudy()).first->second;
}

connection::connection(kj::Network& network, kj::Timer& timer,
                       std::string address, client_options options,
                       transport secure)
  : network_(network),
    timer_(timer),
    address_(std::move(address)),
    options_(std::move(options)),
    patience_(options_.reconnect_for.count() * kj::MILLISECONDS),
    secure_(std::move(secure)),
    tasks_(*this) {}

kj::Promise<void> connection::open() {
  return make_session().catch_([this](kj::Exception&& why) {
    const auto reason = error_of(why);
    if (reason.code != errc::io_failed)
      kj::throwFatalException(kj::mv(why));
    // Whoever answers, but in another way, is something else than no service.
    kj::throwFatalException(exception_of(
      errc::io_failed,
      "cannot connect to a service at " + address_ + ": "
        + (was_answered_
             ? "who answers there does not speak as a service does to "
               "clients: give the port of its --rpc, and --keys FILE if it "
               "has keys"
             : sentence_of(why)
                 + "; start one with: hippo serve --state DIR")));
  });
}

kj::Promise<void> connection::make_session() {
  auto made
    = network_.parseAddress(kj::StringPtr{address_.c_str()})
        .then([](kj::Own<kj::NetworkAddress>&& x) {
          return x->connect().attach(kj::mv(x));
        })
        .then([this](kj::Own<kj::AsyncIoStream>&& stream) {
          was_answered_ = true;
          keep_alive(*stream, address_);
          return secure_(kj::mv(stream));
        })
        .then([this](kj::Own<kj::AsyncIoStream>&& stream) {
          auto x = kj::refcounted<session>(kj::mv(stream), ++sessions_);
          auto greeted = x->greet(options_.name);
          return greeted.then([this, x = kj::mv(x)]() mutable {
            info_ = x->info();
            const auto number = x->number();
            // Who calls next is to notice that it is lost before he has sent
            // anything.
            tasks_.add(x->on_disconnect().then(
              [this, number] { drop(number); }));
            session_ = kj::mv(x);
          });
        });
  return timer_.timeoutAfter(greeting_time_max, kj::mv(made));
}

kj::Promise<kj::Own<session>> connection::connected(outage since) {
  if (since.failures == 0)
    return connected_now(since);
  const auto doublings = std::min(since.failures - 1, doublings_max);
  const auto pause = std::min(pause_min * (1U << doublings), pause_max);
  return timer_.afterDelay(pause).then(
    [this, since] { return connected_now(since); });
}

kj::Promise<kj::Own<session>> connection::connected_now(outage pause) {
  KJ_IF_MAYBE (here, session_)
    return kj::addRef(**here);
  if (!is_making_) {
    is_making_ = true;
    making_ = make_session()
                .then([this] { is_making_ = false; },
                      [this](kj::Exception&& why) {
                        is_making_ = false;
                        kj::throwFatalException(kj::mv(why));
                      })
                .fork();
  }
  return making_.addBranch().then(
    [this, pause] { return connected_now(pause); },
    [this, pause](kj::Exception&& why) -> kj::Promise<kj::Own<session>> {
      if (error_of(why).code != errc::io_failed)
        return kj::mv(why);
      const auto longer = prolonged(pause);
      if (is_spent(longer))
        return lost(why);
      return connected(longer);
    });
}

connection::outage connection::prolonged(outage pause) {
  if (pause.since == nullptr)
    pause.since = timer_.now();
  ++pause.failures;
  return pause;
}

bool connection::is_spent(const outage& pause) const {
  return timer_.now() - KJ_ASSERT_NONNULL(pause.since) >= patience_;
}

void connection::drop(std::uint64_t number) {
  KJ_IF_MAYBE (here, session_) {
    if ((*here)->number() == number) {
      // Whoever calls this may be in the middle of it.
      auto lost = kj::mv(*here);
      session_ = nullptr;
      tasks_.add(kj::evalLater([lost = kj::mv(lost)] {}));
    }
  }
}

kj::Exception connection::maybe_done() const {
  return exception_of(errc::io_failed,
                      "lost the connection to " + address_
                        + " on the way: it may or may not have been carried "
                          "out");
}

kj::Exception connection::lost(const kj::Exception& why) const {
  const auto millis = static_cast<double>(patience_ / kj::MILLISECONDS);
  return exception_of(errc::io_failed,
                      "lost the connection to " + address_
                        + " and tried in vain for " + to_text(millis / 1000)
                        + " s to make it again: " + sentence_of(why));
}

void connection::taskFailed(kj::Exception&&) {
  // A task is a call with its own way to tell that it failed, or waits for a
  // session's end: that is what has happened.
}

} // namespace hippo
