#include "hippo/train/gang/gang_port.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hippo {

namespace {

/// Connections without a greeting yet; beyond, the oldest is closed.
constexpr std::size_t strangers_max = 64;

/// Until connections are accepted again where the system has no room for one.
constexpr std::chrono::milliseconds no_room_pause{100};

/// Opens a socket that listens.
expected<file_descriptor> listening_at(const endpoint& where) {
  const auto refused = [&](const char* why) {
    return error{errc::io_failed,
                 "cannot listen at " + to_text(where) + ": " + why};
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(
        where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
      code != 0)
    return refused(::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{
    found, ::freeaddrinfo};
  file_descriptor socket{::socket(
    found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
    found->ai_protocol)};
  const int on = 1;
  if (!socket
      || ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)
           != 0
      || ::bind(socket.number(), found->ai_addr, found->ai_addrlen) != 0
      || ::listen(socket.number(), SOMAXCONN) != 0)
    return refused(std::strerror(errno));
  return socket;
}

} // namespace

std::uint16_t port_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return 0;
  if (own.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port);
  return ntohs(reinterpret_cast<const sockaddr_in6&>(own).sin6_port);
}

expected<std::unique_ptr<gang_port>> gang_port::make(bool encrypted,
                                                     gang_limits limits) {
  file_descriptor wake{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  if (!wake)
    return {errc::io_failed, std::string{"cannot listen for other trainers: "}
                               + std::strerror(errno)};
  return std::unique_ptr<gang_port>{
    new gang_port{std::move(wake), encrypted, limits}};
}

expected<std::unique_ptr<gang_port>>
gang_port::listen(const endpoint& where, bool encrypted, gang_limits limits) {
  auto result = make(encrypted, limits);
  if (result)
    if (auto why = (*result)->move_to(where))
      return *why;
  return result;
}

gang_port::gang_port(file_descriptor wake, bool encrypted, gang_limits limits)
  : wake_(std::move(wake)), encrypted_(encrypted), limits_(limits),
    thread_([this] { loop(); }) {}

std::optional<error> gang_port::move_to(const endpoint& where) {
  {
    const std::lock_guard guard{mutex_};
    if (where_.port != 0 && where_.host == where.host)
      return std::nullopt;
  }
  auto socket = listening_at(where);
  {
    const std::lock_guard guard{mutex_};
    where_ = {where.host,
              socket ? port_of(socket->number()) : std::uint16_t{0}};
    next_socket_.emplace(socket ? std::move(*socket) : file_descriptor{});
  }
  wake();
  return socket ? std::nullopt : std::optional{socket.failure()};
}

std::string gang_port::address() const {
  const std::lock_guard guard{mutex_};
  return where_.port == 0 ? std::string{} : to_text(where_);
}

gang_port::~gang_port() {
  {
    const std::lock_guard guard{mutex_};
    assert(awaited_.empty() && beating_.empty());
    closing_ = true;
  }
  wake();
  thread_.join();
}

void gang_port::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n =
    ::write(wake_.number(), &one, sizeof one); // full: it is awake
}

void gang_port::loop() {
  using std::chrono::ceil;
  using std::chrono::milliseconds;
  auto next_beat = clock::now();
  auto next_accept = next_beat;
  for (;;) {
    std::optional<clock::time_point> due;
    const auto is_due_at = [&](clock::time_point x) {
      due = std::min(due.value_or(x), x);
    };
    {
      const std::lock_guard guard{mutex_};
      if (closing_)
        return;
      if (next_socket_)
        socket_ = std::move(*std::exchange(next_socket_, std::nullopt));
      const auto now = clock::now();
      if (!beating_.empty() && now >= next_beat) {
        for (auto* x : beating_)
          x->beat();
        next_beat = now + limits_.beat();
      }
      if (!beating_.empty())
        is_due_at(next_beat);
    }
    const auto now = clock::now();
    std::erase_if(strangers_,
                  [&](const stranger& x) { return now >= x.until; });
    if (!strangers_.empty())
      is_due_at(strangers_.front().until);
    const bool accepts = now >= next_accept;
    if (!accepts)
      is_due_at(next_accept);
    std::vector<pollfd> watched{{wake_.number(), POLLIN, 0}};
    watched.push_back({accepts ? socket_.number() : -1, POLLIN, 0});
    for (const auto& x : strangers_)
      watched.push_back({x.socket.number(), POLLIN, 0});
    const auto span = due ? static_cast<int>(std::max<milliseconds::rep>(
                        ceil<milliseconds>(*due - now).count(), 0))
                          : -1;
    if (::poll(watched.data(), watched.size(), span) <= 0)
      continue;
    std::uint64_t ignored = 0;
    if (watched[0].revents != 0) {
      [[maybe_unused]] const auto n =
        ::read(wake_.number(), &ignored, sizeof ignored);
    }
    std::size_t i = 2;
    std::erase_if(strangers_, [&](stranger& x) {
      return watched[i++].revents != 0 && hear(x);
    });
    if (watched[1].revents != 0) {
      errno = 0;
      accept();
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM
          || errno == ENOBUFS)
        next_accept = clock::now() + no_room_pause;
    }
  }
}

void gang_port::accept() {
  file_descriptor socket{::accept4(socket_.number(), nullptr, nullptr,
                                   SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (!socket)
    return;
  if (strangers_.size() == strangers_max)
    strangers_.erase(strangers_.begin());
  strangers_.push_back(
    {std::move(socket), clock::now() + limits_.greeting, {}});
}

bool gang_port::hear(stranger& from) {
  std::array<std::byte, gang_greeting::bytes> bytes;
  const auto n = ::recv(from.socket.number(), bytes.data(),
                        bytes.size() - from.said.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return false;
  if (n <= 0)
    return true;
  from.said.insert(from.said.end(), bytes.begin(), bytes.begin() + n);
  if (from.said.size() < gang_greeting::bytes)
    return false;
  if (const auto greeting = gang_greeting::read(from.said))
    admit(*greeting, std::move(from.socket));
  return true;
}

void gang_port::admit(const gang_greeting& greeting, file_descriptor socket) {
  const std::lock_guard guard{mutex_};
  const auto i = awaited_.find({greeting.lead, greeting.to});
  if (i == awaited_.end() || !i->second.ranks.contains(greeting.from)
      || !greeting.is_proved_by(i->second.secret))
    return;
  const auto answer = greeting.answer(i->second.secret);
  // There is room for so little in a fresh connection.
  if (::send(socket.number(), answer.data(), answer.size(), MSG_NOSIGNAL)
      == static_cast<ssize_t>(answer.size()))
    i->second.arrived.insert_or_assign(greeting.from, std::move(socket));
}

void gang_port::add(beating& member) {
  {
    const std::lock_guard guard{mutex_};
    beating_.push_back(&member);
  }
  wake();
}

void gang_port::remove(beating& member) {
  const std::lock_guard guard{mutex_};
  std::erase(beating_, &member);
}

gang_port::awaiting::awaiting(gang_port& port, const gang_place& place,
                              const std::set<std::uint32_t>& ranks)
  : port_(port), key_(place.lead, place.rank) {
  const std::lock_guard guard{port_.mutex_};
  [[maybe_unused]] const bool is_new =
    port_.awaited_.emplace(key_, expectation{place.secret, ranks, {}}).second;
  assert(is_new);
}

gang_port::awaiting::~awaiting() {
  const std::lock_guard guard{port_.mutex_};
  port_.awaited_.erase(key_);
}

std::optional<file_descriptor> gang_port::awaiting::take(std::uint32_t rank) {
  const std::lock_guard guard{port_.mutex_};
  auto& x = port_.awaited_.at(key_);
  const auto i = x.arrived.find(rank);
  if (i == x.arrived.end())
    return std::nullopt;
  auto result = std::move(i->second);
  x.arrived.erase(i);
  x.ranks.erase(rank);
  return result;
}

void gang_port::awaiting::await_again(std::uint32_t rank) {
  const std::lock_guard guard{port_.mutex_};
  port_.awaited_.at(key_).ranks.insert(rank);
}

} // namespace hippo
