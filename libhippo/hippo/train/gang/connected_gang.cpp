#include "hippo/train/gang/connected_gang.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <thread>
#include <utility>

#include "hippo/base/text.hpp"
#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using frame_kind = member_connection::frame_kind;

/// How long a member waits until the others know that it has ended.
constexpr std::chrono::seconds farewell{1};

/// How often is looked whether a member has come, and whether the lease was
/// cancelled.
constexpr std::chrono::milliseconds look_interval{10};

constexpr std::size_t reason_bytes_max = 4000;

/// Returns the members that one of them has a connection to.
std::set<std::uint32_t> neighbours_of(const gang_place& place) {
  const auto size = static_cast<std::uint32_t>(place.members.size());
  std::set<std::uint32_t> result;
  for (std::uint32_t distance = 1; distance < size; distance *= 2)
    result.insert(place.rank ^ distance);
  if (place.rank != 0)
    result.insert(0);
  else
    for (std::uint32_t rank = 1; rank < size; ++rank)
      result.insert(rank);
  return result;
}

std::string text_of(const gang_order& order) {
  std::string result;
  for (const auto x : {order.from, order.to})
    for (std::size_t i = 0; i < 8; ++i)
      result += static_cast<char>(std::uint64_t{x} >> (8 * i));
  return result;
}

std::optional<gang_order> order_from(const std::string& text) {
  if (text.size() != 16)
    return std::nullopt;
  const auto number = [&](std::size_t at) {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < 8; ++i)
      result |= std::uint64_t{static_cast<unsigned char>(text[at + i])}
                << (8 * i);
    return result;
  };
  return gang_order{number(0), number(8)};
}

} // namespace

/// Brings one member together with the others.
class connected_gang::joining {
public:
  /// The lease was cancelled.
  struct cancelled {};

  joining(connected_gang& gang, member_connection::cancel_test is_cancelled)
    : gang_(gang), is_cancelled_(std::move(is_cancelled)),
      end_(clock::now() + gang.port_.limits().silence) {}

  /// Throws `gang_lost` or `cancelled`.
  void operator()() {
    const auto& place = gang_.place_;
    std::set<std::uint32_t> lower, higher;
    for (const auto rank : neighbours_of(place))
      (rank < place.rank ? lower : higher).insert(rank);
    gang_port::awaiting awaited{gang_.port_, place, higher};
    for (const auto rank : lower)
      connect(rank);
    accept(awaited, std::move(higher));
  }

private:
  void connect(std::uint32_t rank) {
    const auto where = parse_endpoint(gang_.place_.members[rank]);
    if (!where)
      throw gang_lost{gang_.name_of(rank) + ": " + where.failure().message};
    std::string why;
    for (unsigned attempt = 0;;) {
      try {
        if (auto socket = member_socket::connect(*where, attempt++)) {
          greet(*socket, rank);
          protect(*socket, secret_tls::side::connects, end_);
          return add(rank, std::move(*socket));
        } else {
          why = socket.failure().message;
        }
      } catch (const connection_ended& e) {
        // At the end it says less than before.
        if (why.empty() || clock::now() < end_)
          why = std::string{"it "} + e.what();
      }
      check(rank, why);
      std::this_thread::sleep_for(gang_.port_.limits().retry);
    }
  }

  /// Shows that this is the member that is awaited, and sees that the other one
  /// is.
  void greet(member_socket& socket, std::uint32_t rank) {
    const auto& place = gang_.place_;
    const auto greeting = gang_greeting::of(place, rank);
    const auto expected = greeting.answer(place.secret);
    const auto words = greeting.write();
    await(socket, false, true, end_);
    socket.check_connected();
    for (auto rest = std::span<const std::byte>{words}; !rest.empty();) {
      rest = rest.subspan(socket.send(rest));
      if (!rest.empty())
        await(socket, false, true, end_);
    }
    std::string answer(expected.size(), '\0');
    for (auto rest = std::as_writable_bytes(std::span{answer});
         !rest.empty();) {
      const auto n = socket.receive(rest);
      if (n == 0)
        await(socket, true, false, end_);
      rest = rest.subspan(n);
    }
    if (!are_equal_secrets(answer, expected))
      throw connection_ended{"does not know the gang's secret"};
  }

  /// Lets members in as they come.
  void accept(gang_port::awaiting& awaited, std::set<std::uint32_t> ranks) {
    std::string why = "it has not come";
    while (!ranks.empty()) {
      std::erase_if(ranks, [&](std::uint32_t rank) {
        auto come = awaited.take(rank);
        return come && let_in(rank, std::move(*come), awaited, why);
      });
      if (ranks.empty())
        return;
      check(*ranks.begin(), why);
      std::this_thread::sleep_for(look_interval);
    }
  }

  /// @returns whether the connection of a member is of use, or why not
  bool let_in(std::uint32_t rank, file_descriptor come,
              gang_port::awaiting& awaited, std::string& why) {
    try {
      member_socket socket{std::move(come)};
      protect(socket, secret_tls::side::accepts,
              std::min(end_, clock::now() + gang_.port_.limits().greeting));
      add(rank, std::move(socket));
      return true;
    } catch (const connection_ended& e) {
      why = std::string{"it "} + e.what();
      awaited.await_again(rank);
      return false;
    }
  }

  void protect(member_socket& socket, secret_tls::side own,
               clock::time_point until) {
    if (!gang_.port_.is_encrypted())
      return;
    socket.protect(gang_.place_.secret, own);
    while (!socket.shake_hands())
      await(socket, !socket.wants_to_write(), socket.wants_to_write(), until);
  }

  void add(std::uint32_t rank, member_socket socket) {
    using way = member_connection::cancel_way;
    auto fresh = std::make_unique<member_connection>(
      std::move(socket), gang_.name_of(rank), gang_.port_.limits(),
      is_cancelled_, gang_.place_.rank == 0 ? way::hurries : way::leaves);
    const std::lock_guard guard{gang_.mutex_};
    gang_.connections_.emplace(rank, std::move(fresh));
  }

  /// Throws if this has to end.
  void check(std::uint32_t rank, const std::string& why) const {
    if (is_cancelled_())
      throw cancelled{};
    if (clock::now() < end_)
      return;
    const auto limit = gang_.port_.limits().silence;
    throw gang_lost{
      gang_.name_of(rank) + " has not joined within "
      + duration_text(std::chrono::duration<double>(limit).count()) + ": "
      + why};
  }

  void await(const member_socket& socket, bool to_read, bool to_write,
             clock::time_point until) const {
    if (is_cancelled_())
      throw cancelled{};
    if (clock::now() >= until)
      throw connection_ended{"does not answer"};
    socket.wait(to_read, to_write, look_interval);
  }

  connected_gang& gang_;
  const member_connection::cancel_test is_cancelled_;
  const clock::time_point end_;
};

expected<std::unique_ptr<connected_gang>>
connected_gang::join(gang_port& port, const gang_place& place,
                     member_connection::cancel_test is_cancelled) {
  std::unique_ptr<connected_gang> result{new connected_gang{port, place}};
  try {
    joining{*result, std::move(is_cancelled)}();
    return result;
  } catch (const joining::cancelled&) {
    return {errc::cancelled, "cancelled before its gang had come together"};
  } catch (const gang_lost& e) {
    return {errc::gang_lost, e.what()};
  }
}

connected_gang::connected_gang(gang_port& port, const gang_place& place)
  : port_(port), place_(place) {
  assert(size() >= 2 && std::has_single_bit(size()) && rank() < size());
  port_.add(*this);
}

connected_gang::~connected_gang() {
  port_.remove(*this);
}

std::string connected_gang::name_of(std::uint32_t rank) const {
  return "member " + std::to_string(rank) + " of " + std::to_string(size())
         + " (" + place_.members[rank] + ")";
}

void connected_gang::beat() noexcept {
  const std::lock_guard guard{mutex_};
  for (const auto& kvp : connections_)
    kvp.second->beat();
}

void connected_gang::exchange(std::size_t peer, std::span<const std::byte> out,
                              std::span<std::byte> in) {
  connection(peer).exchange(out, in);
}

void connected_gang::give_order(const gang_order& order) {
  assert(rank() == 0);
  for (const auto& kvp : connections_)
    if (order.measures)
      kvp.second->send(frame_kind::measure, {});
    else
      kvp.second->send(frame_kind::train, text_of(order));
}

bool connected_gang::await_done() {
  assert(rank() == 0);
  bool result = false;
  for (const auto& kvp : connections_) {
    const auto answer = kvp.second->receive();
    if (answer.kind != frame_kind::done || answer.text.size() != 1)
      throw gang_lost{kvp.second->name() + " does not say that it is done"};
    result = result || answer.text != std::string(1, '\0');
  }
  return result;
}

std::optional<gang_order> connected_gang::next() {
  auto& lead = connection(0);
  const auto x = lead.receive();
  if (x.kind == frame_kind::end)
    return std::nullopt;
  if (x.kind == frame_kind::measure && x.text.empty())
    return gang_order{.measures = true};
  const auto order = order_from(x.text);
  if (x.kind != frame_kind::train || !order)
    throw gang_lost{lead.name() + " gives an order that is none"};
  return order;
}

void connected_gang::tell_done(bool leaves) {
  connection(0).send(frame_kind::done, std::string(1, leaves ? '\1' : '\0'));
}

void connected_gang::finish(const std::optional<error>& failure) {
  const bool is_lead = rank() == 0;
  // A lead that is cancelled, or finds that training has diverged, has come to
  // the end of its lease.
  const bool is_end = !failure
                      || (is_lead
                          && (failure->code == errc::cancelled
                              || failure->code == errc::diverged));
  if (is_end && !is_lead)
    return;
  std::string why;
  auto kind = frame_kind::end;
  if (!is_end) {
    kind =
      failure->code == errc::gang_lost ? frame_kind::lost : frame_kind::failed;
    why = to_utf8(failure->message.substr(0, reason_bytes_max));
    why.resize(std::min(why.size(), reason_bytes_max));
  }
  for (const auto& kvp : connections_)
    kvp.second->say_last(kind, why);
  const auto until = clock::now() + farewell;
  for (const auto& kvp : connections_)
    kvp.second->await_close(until);
}

} // namespace hippo
