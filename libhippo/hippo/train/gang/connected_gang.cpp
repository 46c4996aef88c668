#include "hippo/train/gang/connected_gang.hpp"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <thread>
#include <utility>

#include "hippo/base/little_endian.hpp"
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

/// How often is looked whether the lease was cancelled, or a member is silent.
constexpr std::chrono::milliseconds hear_interval{50};

/// The most bytes of a member's part of a state.
constexpr std::uint64_t state_bytes_max = 64ull << 30;

/// The frames of orders.
constexpr std::pair<gang_call, frame_kind> order_kinds[] = {
  {gang_call::train, frame_kind::train},
  {gang_call::enter, frame_kind::enter},
  {gang_call::prepare, frame_kind::prepare},
  {gang_call::init, frame_kind::init},
  {gang_call::load, frame_kind::load},
  {gang_call::evaluate, frame_kind::evaluate},
  {gang_call::save, frame_kind::save},
  {gang_call::give, frame_kind::give},
};

/// Returns the members that one of them has a connection to.
std::set<std::uint32_t> neighbours_of(const gang_place& place,
                                      gang_links links) {
  const auto size = static_cast<std::uint32_t>(place.members.size());
  std::set<std::uint32_t> result;
  for (std::uint32_t distance = 1;
       distance < size && links == gang_links::exchanging; distance *= 2)
    result.insert(place.rank ^ distance);
  if (place.rank != 0)
    result.insert(0);
  else
    for (std::uint32_t rank = 1; rank < size; ++rank)
      result.insert(rank);
  return result;
}

std::string text_of(std::uint64_t number) {
  std::string result(sizeof number, '\0');
  put_little_endian(number, reinterpret_cast<std::byte*>(result.data()));
  return result;
}

/// REQUIRES: there are 8 bytes from `at` on.
std::uint64_t number_in(const std::string& text, std::size_t at = 0) {
  return get_little_endian<std::uint64_t>(
    reinterpret_cast<const std::byte*>(text.data() + at));
}

std::string text_of(const gang_order& order) {
  return order.what == gang_call::train
           ? text_of(order.from) + text_of(order.to)
           : order.world;
}

std::optional<gang_order> order_from(const member_connection::short_frame& x) {
  const auto* const i = std::ranges::find(
    order_kinds, x.kind, &std::pair<gang_call, frame_kind>::second);
  if (i == std::end(order_kinds))
    return std::nullopt;
  gang_order result{.what = i->first};
  if (result.what == gang_call::enter) {
    result.world = x.text;
  } else if (result.what == gang_call::train) {
    if (x.text.size() != 16)
      return std::nullopt;
    result.from = number_in(x.text);
    result.to = number_in(x.text, 8);
  } else if (!x.text.empty()) {
    return std::nullopt;
  }
  return result;
}

} // namespace

/// Brings one member together with the others.
class connected_gang::joining {
public:
  /// The lease was cancelled.
  struct cancelled {};

  explicit joining(connected_gang& gang)
    : gang_(gang), is_cancelled_(gang.is_cancelled_),
      end_(clock::now() + gang.port_.limits().silence) {}

  /// Throws `gang_lost` or `cancelled`.
  void operator()() {
    const auto& place = gang_.place_;
    std::set<std::uint32_t> lower, higher;
    for (const auto rank : neighbours_of(place, gang_.links_))
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
                     member_connection::cancel_test is_cancelled,
                     gang_links links) {
  std::unique_ptr<connected_gang> result{
    new connected_gang{port, place, std::move(is_cancelled), links}};
  try {
    joining{*result}();
    return result;
  } catch (const joining::cancelled&) {
    return {errc::cancelled, "cancelled before its gang had come together"};
  } catch (const gang_lost& e) {
    return {errc::gang_lost, e.what()};
  }
}

connected_gang::connected_gang(gang_port& port, const gang_place& place,
                               member_connection::cancel_test is_cancelled,
                               gang_links links)
  : port_(port), place_(place), is_cancelled_(std::move(is_cancelled)),
    links_(links) {
  assert(size() >= 2 && rank() < size());
  assert(links == gang_links::to_lead || std::has_single_bit(size()));
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
  const auto kind = std::ranges::find(order_kinds, order.what,
                                      &std::pair<gang_call, frame_kind>::first)
                      ->second;
  for (const auto& kvp : connections_)
    kvp.second->send(kind, text_of(order));
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

void connected_gang::take_state(std::uint32_t rank, const byte_taker& take) {
  auto& from = connection(rank);
  from.send(frame_kind::give, {});
  const auto x = from.receive();
  if (x.kind != frame_kind::give || x.text.size() != 8)
    throw gang_lost{from.name() + " does not give its state"};
  auto left = number_in(x.text);
  if (left > state_bytes_max)
    throw gang_lost{from.name() + " says that its state has "
                    + std::to_string(left) + " bytes"};
  std::vector<char> piece;
  while (left > 0) {
    piece.resize(static_cast<std::size_t>(
      std::min<std::uint64_t>(left, source_piece_bytes)));
    from.receive(std::as_writable_bytes(std::span{piece}));
    if (const auto why = take(piece.data(), piece.size()))
      throw std::runtime_error(why->message);
    left -= piece.size();
  }
}

std::optional<gang_order> connected_gang::next() {
  return order_in({0, connection(0).receive()});
}

std::optional<gang_order> connected_gang::order_in(const heard& said) const {
  if (said.frame.kind == frame_kind::end)
    return std::nullopt;
  auto order = order_from(said.frame);
  if (said.rank != 0 || !order)
    throw gang_lost{name_of(said.rank) + " gives an order that is none"};
  return order;
}

void connected_gang::tell_world(const std::string& world) {
  connection(0).send(frame_kind::enter, world);
}

void connected_gang::tell_problem(const std::string& why) {
  connection(0).send(frame_kind::problem, why);
}

void connected_gang::give_state(const content_source& state) {
  auto& lead = connection(0);
  lead.send(frame_kind::give, text_of(state.size()));
  const auto why = pass_on(
    state, [&](const char* data, std::size_t size) -> std::optional<error> {
      lead.send(std::as_bytes(std::span{data, size}));
      return std::nullopt;
    });
  if (why)
    throw std::runtime_error(why->message);
}

std::optional<connected_gang::heard> connected_gang::hear(int readable,
                                                          time_point until) {
  for (const auto& kvp : connections_)
    kvp.second->listen();
  // Frames that have come by then go first: they may say why.
  for (bool is_over = false;;) {
    auto silence = port_.limits().silence;
    if (is_cancelled_()) {
      if (rank() != 0)
        throw gang_lost{"the lease was cancelled"};
      // The present step is to end, but nobody waits for others then.
      if (readable < 0)
        silence = std::min(silence, port_.limits().hurry);
    }
    std::vector<pollfd> watched{{readable, POLLIN, 0}};
    for (const auto& [rank, from] : connections_) {
      if (auto frame = from->look(silence))
        return heard{rank, std::move(*frame)};
      watched.push_back({from->number(), POLLIN, 0});
    }
    if (is_over)
      return std::nullopt;
    ::poll(watched.data(), watched.size(),
           static_cast<int>(hear_interval.count()));
    is_over = watched.front().revents != 0 || clock::now() >= until;
  }
}

void connected_gang::tell_done(bool leaves) {
  connection(0).send(frame_kind::done, std::string(1, leaves ? '\1' : '\0'));
}

void connected_gang::finish(const std::optional<error>& failure) {
  const bool is_lead = rank() == 0;
  // A lead that is cancelled, or finds that training has diverged, has come to
  // the end of its lease. So it has with any failure of ranks, which is told as
  // its own.
  const bool is_end =
    !failure
    || (is_lead
        && (failure->code == errc::cancelled || failure->code == errc::diverged
            || (links_ == gang_links::to_lead
                && failure->code != errc::gang_lost)));
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
