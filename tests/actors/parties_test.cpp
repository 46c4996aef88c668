// Parties that cost a gateway what they can, in made-up time: who waits, who
// does not read, who sends halves, who floods. Whoever holds little is answered
// soon, and nobody holds more than its share.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <kj/async.h>
#include <kj/timer.h>

#include "gateway/client_connection.hpp"
#include "gateway/connection_slots.hpp"
#include "gateway/limits.hpp"
#include "gateway/response_memory.hpp"

namespace hippo {
namespace {

using purpose = response_memory::line::purpose;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t all_room = 64 * mib;

/// So long, in beats, a slow one may keep others waiting; then it goes, one of
/// a connection after the other within a beat.
constexpr std::uint64_t answer_beats_max = 6;

enum class habit {
  honest,   ///< asks now and then, and takes its answers
  waits,    ///< leaves calls open, as for events
  unread,   ///< asks, and takes no answer
  slow,     ///< takes answers at a tenth of the least rate
  halves,   ///< begins a long request, and no more
  floods,   ///< asks all the time, and takes its answers
};

/// A gateway without a network: what it decides with, as it does.
class made_up_gateway {
public:
  explicit made_up_gateway(std::uint64_t seed) : random_(seed) {
    room_.on_starving([this] { starving_ = true; });
  }
  ~made_up_gateway() noexcept {
    connections_.clear();
    EXPECT_EQ(ledger_.root().held(), 0u) << "something is never given back";
  }

  void enter(const std::string& party, habit how) {
    const auto number = ++last_;
    const auto decision = slots_.open(number, party);
    if (decision.let_go)
      connections_.erase(*decision.let_go);
    auto& x = connections_[number];
    x.party = party;
    x.how = how;
    x.me = kj::refcounted<client_connection>(
      client_connection::setup{number, decision.is_spare, party, party,
                               gateway_limits{}.held_bytes},
      slots_, room_, ledger_.root(), connection_times{});
    x.me->note_let_in();
    x.me->note_greeted();
  }

  /// A beat passes, in which everybody does as is his habit.
  void beat() {
    ++now_;
    for (auto& [number, x] : connections_)
      act(x);
    check();
    timer_.advanceTo(timer_.now() + 1 * kj::SECONDS);
    slots_.beat();
    for (auto& [number, x] : connections_)
      x.me->beat();
    room_.forget_half();
    room_.serve();
    settle();
    // As the gateway does, some times in a beat.
    for (int i = 0; i < 100 && std::exchange(starving_, false); ++i) {
      if (!room_.somebody_starves())
        break;
      std::vector<client_connection*> all;
      for (auto& [number, x] : connections_)
        all.push_back(x.me.get());
      if (auto* x = slow_holder(all))
        x->let_go({errc::resource_exhausted, "others need it"});
      settle();
      room_.serve();
    }
    check();
  }

  [[nodiscard]] std::size_t connections_of(const std::string& party) const {
    return static_cast<std::size_t>(
      std::ranges::count_if(connections_, [&](const auto& x) {
        return x.second.party == party;
      }));
  }
  [[nodiscard]] std::uint64_t answered() const { return answered_; }

private:
  struct call {
    std::uint64_t since = 0;
    std::uint64_t bytes = 0;
    kj::Promise<held_room> room;
  };
  struct connection {
    std::string party;
    habit how = habit::honest;
    std::deque<held_room> open; ///< calls that wait, halves
    std::deque<call> asked;
    std::uint64_t untaken = 0; ///< bytes of answers on their way
    kj::Own<client_connection> me; ///< last to go
    ~connection() {
      open.clear();
      asked.clear();
    }
  };

  std::uint64_t below(std::uint64_t count) { return random_() % count; }

  void ask(connection& x, std::uint64_t bytes) {
    x.asked.push_back({now_, bytes, x.me->line().take(bytes, purpose::make)});
  }

  void act(connection& x) {
    take(x);
    switch (x.how) {
      case habit::honest:
        if (x.asked.empty() && x.untaken == 0 && below(3) == 0)
          ask(x, 1 + below(mib));
        break;
      case habit::waits:
        for (int i = 0; i < 20; ++i)
          if (auto room = x.me->line().take_now(call_bytes + below(64 << 10)))
            x.open.push_back(kj::mv(*room));
        break;
      case habit::unread:
      case habit::slow:
        while (x.asked.size() < 10)
          ask(x, 1 + below(4 * mib));
        break;
      case habit::halves:
        if (x.asked.empty() && x.open.empty()) {
          x.me->note_request_begun();
          x.me->note_read(1);
          x.me->note_paused(true);
          x.asked.push_back(
            {now_, 4 * mib, x.me->line().take(4 * mib, purpose::hold)});
        }
        break;
      case habit::floods:
        while (x.asked.size() < 200)
          ask(x, 1 + below(mib));
        break;
    }
    answer(x);
  }

  /// The peer takes of what is on its way.
  void take(connection& x) {
    const auto most = x.how == habit::unread ? 0
                      : x.how == habit::slow
                        ? connection_times{}.answer.bytes_per_beat / 10
                        : x.untaken;
    const auto n = std::min<std::uint64_t>(most, x.untaken);
    if (n == 0)
      return;
    x.untaken -= n;
    x.me->note_written(n);
  }

  /// Answers for which there is room are made and go out.
  void answer(connection& x) {
    while (!x.asked.empty() && x.asked.front().room.poll(scope_)) {
      auto next = kj::mv(x.asked.front());
      x.asked.pop_front();
      auto room = next.room.wait(scope_);
      if (x.how == habit::halves) {
        x.me->note_paused(false);
        x.open.push_back(kj::mv(room));
        continue;
      }
      if (x.how == habit::honest) {
        ++answered_;
        EXPECT_LE(now_ - next.since, answer_beats_max)
          << x.party << " has waited for " << next.bytes << " bytes";
      }
      room.end_turn();
      x.untaken += next.bytes;
      x.me->note_unwritten(next.bytes);
      x.me->post(kj::mv(room), next.bytes);
    }
  }

  /// Those go who have to.
  void settle() {
    for (auto i = connections_.begin(); i != connections_.end();) {
      auto& x = i->second;
      answer(x);
      if (!x.me->has_to_go()) {
        ++i;
        continue;
      }
      EXPECT_NE(x.how, habit::honest) << x.party << " has to go";
      slots_.close(i->first);
      i = connections_.erase(i);
    }
  }

  void check() {
    EXPECT_LE(ledger_.root().held(), all_room);
    std::map<std::string, std::uint64_t> held;
    for (auto& [number, x] : connections_)
      held[x.party] += x.me->held();
    for (const auto& [party, bytes] : held)
      EXPECT_LE(bytes, all_room / 2) << party << " has more than its share";
  }

  std::mt19937_64 random_;
  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  byte_ledger ledger_{"clients", all_room};
  response_memory room_{{all_room / 8}, timer_};
  connection_slots slots_{{64, 8, 10}};
  std::map<connection_slots::number, connection> connections_;
  connection_slots::number last_ = 0;
  std::uint64_t now_ = 0; ///< beats
  std::uint64_t answered_ = 0;
  bool starving_ = false;
};

class Parties : public testing::TestWithParam<unsigned> {};

TEST_P(Parties, WhoHoldsLittleIsAnsweredWhateverOthersDo) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random{GetParam()};
  made_up_gateway x{GetParam()};
  const habit rude[]{habit::waits, habit::unread, habit::slow, habit::halves,
                     habit::floods};
  const auto parties = 1 + random() % 4;
  for (int beat = 0; beat < 120; ++beat) {
    if (x.connections_of("victim") == 0)
      x.enter("victim", habit::honest);
    for (std::uint64_t i = 0; i < parties; ++i)
      if (random() % 2 == 0)
        for (auto n = random() % 12; n > 0; --n)
          x.enter("party " + std::to_string(i), rude[random() % 5]);
    x.beat();
  }
  EXPECT_GT(x.answered(), 15u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Parties, testing::Range(1u, 41u));

} // namespace
} // namespace hippo
