#include "hippo/service/trainer/trainer_core.hpp"

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using namespace std::chrono_literals;

/// The effects of a kind, in their order.
template <class T>
std::vector<T> all_of(const trainer_core::effects& from) {
  std::vector<T> result;
  for (const auto& x : from)
    if (const auto* found = std::get_if<T>(&x))
      result.push_back(*found);
  return result;
}

hello description() {
  hello result;
  result.device = "gpu";
  return result;
}

/// A lease of 10 steps in two stages.
lease work(std::uint64_t number, std::uint32_t lane = 0,
           const std::string& workload = "model") {
  lease result;
  result.number = lease_id{number};
  result.workload.name = workload;
  result.lane = lane;
  result.stages = {{node_id{number * 2 + 1}, 10, 14, {}, number + 100},
                   {node_id{number * 2 + 2}, 14, 20, {}, number + 200}};
  result.stops = {{.at = 20, .save = true}};
  return result;
}

stop_report report(std::uint64_t lease, step_t at) {
  stop_report result;
  result.lease = lease_id{lease};
  result.at = at;
  return result;
}

/// A trainer whose events all come at one moment.
struct TrainerCore : testing::Test {
  trainer_core core{description(), moment{}};
  trainer_core::effects last; ///< of the last event

  void tell(any_trainer_event event) {
    last = core.apply(std::move(event), moment{});
  }

  void be_welcome() {
    tell(trainer_event::connected{});
    welcome();
  }

  /// Answers the last `send_hello`.
  void welcome(std::uint64_t number = 7) {
    const auto registration =
      all_of<trainer_effect::send_hello>(last).at(0).registration;
    tell(trainer_event::answered{registration,
                                 {std::nullopt, trainer_id{number}, 500}});
  }

  /// A lease whose owner has its number.
  void give(lease what) {
    const auto owner = number_of(what.number);
    tell(trainer_event::leased{owner, std::move(what)});
  }

  template <class T>
  std::vector<T> effects() const {
    return all_of<T>(last);
  }
};

// -- the registration ---------------------------------------------------------

TEST_F(TrainerCore, RegistersWhereAServiceIsReached) {
  tell(trainer_event::connected{});
  ASSERT_EQ(last.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<trainer_effect::watch>(last[0]));
  welcome();
  const auto due = effects<trainer_effect::beat_after>();
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].span, 0ms);
  tell(trainer_event::beat_due{due[0].registration});
  const auto beats = effects<trainer_effect::send_heartbeat>();
  ASSERT_EQ(beats.size(), 1u);
  EXPECT_EQ(beats[0].what, (heartbeat{trainer_id{7}, {}, 0, 0}));
  EXPECT_EQ(effects<trainer_effect::beat_after>().at(0).span, 500ms);
  tell(trainer_event::connected{true});
  EXPECT_TRUE(last.empty()) << "it is there already";
}

TEST_F(TrainerCore, SaysWhereOthersReachItNow) {
  EXPECT_EQ(core.self_description().gang, description().gang);
  tell(trainer_event::connected{false, "10.0.0.7:4901"});
  EXPECT_EQ(core.self_description().gang, "10.0.0.7:4901");
  welcome();
  tell(trainer_event::disconnected{"gone"});
  tell(trainer_event::connected{});
  EXPECT_EQ(core.self_description().gang, "10.0.0.7:4901");
  welcome();
  tell(trainer_event::connected{false, ""});
  EXPECT_EQ(core.self_description().gang, "");
}

TEST(TrainerTimeLimit, ComesCloser) {
  auto self = description();
  self.seconds_left = 100;
  trainer_core core{self, moment{}};
  EXPECT_EQ(core.self_description(), self);
  core.apply(trainer_event::connected{}, moment{} + 29500ms);
  self.seconds_left = 70;
  EXPECT_EQ(core.self_description(), self);
  core.apply(trainer_event::connected{}, moment{} + 5000s);
  self.seconds_left = 1; // none would be no limit
  EXPECT_EQ(core.self_description(), self);
}

TEST_F(TrainerCore, AsksAgainEverMoreSeldomUntilItIsAnswered) {
  tell(trainer_event::connected{});
  for (const auto span : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    const auto asked = effects<trainer_effect::send_hello>().at(0);
    tell(trainer_event::unanswered{asked.registration, "silence"});
    const auto due = effects<trainer_effect::greet_after>();
    ASSERT_EQ(due.size(), 1u);
    EXPECT_EQ(due[0].span, span);
    tell(trainer_event::greeting_due{due[0].registration});
  }
  welcome();
  tell(trainer_event::given_up{});
  const auto asked = effects<trainer_effect::send_hello>().at(0);
  tell(trainer_event::unanswered{asked.registration, "silence"});
  EXPECT_EQ(effects<trainer_effect::greet_after>().at(0).span, 1s);
}

TEST_F(TrainerCore, QuitsWhenItIsRefused) {
  tell(trainer_event::connected{});
  const auto asked = effects<trainer_effect::send_hello>().at(0);
  tell(trainer_event::answered{
    asked.registration,
    {error{errc::incompatible_version, "too old"}, trainer_id{}, 0}});
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(effects<trainer_effect::log_line>().at(0).text, "refused: too old");
  EXPECT_EQ(effects<trainer_effect::quit>().at(0).why,
            errc::incompatible_version);
}

TEST_F(TrainerCore, AnAnswerThatComesTooLateCountsForNothing) {
  tell(trainer_event::connected{});
  const auto asked = effects<trainer_effect::send_hello>().at(0);
  tell(trainer_event::disconnected{"gone"});
  tell(trainer_event::answered{asked.registration,
                               {std::nullopt, trainer_id{7}, 500}});
  EXPECT_TRUE(last.empty());
  tell(trainer_event::unanswered{asked.registration, "silence"});
  EXPECT_TRUE(last.empty());
}

// -- leases -------------------------------------------------------------------

TEST_F(TrainerCore, AHeartbeatComesBeforeALeaseStarts) {
  be_welcome();
  give(work(1));
  ASSERT_EQ(last.size(), 2u);
  const auto& beat = std::get<trainer_effect::send_heartbeat>(last[0]).what;
  EXPECT_EQ(beat.lease, lease_id{1});
  EXPECT_EQ(beat.at, 10u);
  EXPECT_EQ(std::get<trainer_effect::start_lease>(last[1]).work.number,
            lease_id{1});
}

TEST_F(TrainerCore, ALeaseWaitsForItsLane) {
  be_welcome();
  give(work(1, 0));
  give(work(2, 1));
  EXPECT_EQ(effects<trainer_effect::start_lease>().size(), 1u);
  give(work(3, 1));
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(std::get<trainer_effect::cancel>(last[0]).lease, lease_id{2});
  tell(trainer_event::ended{{lease_id{1}, 20, std::nullopt}});
  EXPECT_TRUE(effects<trainer_effect::start_lease>().empty());
  tell(trainer_event::ended{{lease_id{2}, 12, std::nullopt}});
  EXPECT_EQ(effects<trainer_effect::start_lease>().at(0).owner, 3u);
}

TEST_F(TrainerCore, LeasesOfSeveralSeedsRunAtOnce) {
  be_welcome();
  for (std::uint64_t i = 0; i < 3; ++i) {
    auto x = work(1 + i, static_cast<std::uint32_t>(i));
    if (i > 0)
      x.workload.options["seed"] = static_cast<double>(i);
    give(x);
    EXPECT_TRUE(effects<trainer_effect::cancel>().empty());
    EXPECT_EQ(effects<trainer_effect::start_lease>().size(), 1u);
  }
}

TEST_F(TrainerCore, ALeaseOfAnotherMergerWaitsForAll) {
  be_welcome();
  give(work(1, 0));
  give(work(2, 1));
  give(work(3, 2, "other"));
  EXPECT_EQ(effects<trainer_effect::cancel>().size(), 2u);
  tell(trainer_event::ended{{lease_id{1}, 12, std::nullopt}});
  EXPECT_TRUE(effects<trainer_effect::start_lease>().empty());
  tell(trainer_event::ended{{lease_id{2}, 12, std::nullopt}});
  EXPECT_EQ(effects<trainer_effect::start_lease>().at(0).owner, 3u);
}

TEST_F(TrainerCore, ALeaseThatWaitsKeepsItsStopsAndIsHandedBackWhenCancelled) {
  be_welcome();
  give(work(1));
  give(work(2));
  tell(trainer_event::stop_asked{{lease_id{2}, {.at = 12, .evaluate = true}}});
  EXPECT_TRUE(last.empty());
  tell(trainer_event::ended{{lease_id{1}, 12, std::nullopt}});
  const auto started = effects<trainer_effect::start_lease>();
  ASSERT_EQ(started.size(), 1u);
  ASSERT_EQ(started[0].work.stops.size(), 2u);
  EXPECT_EQ(started[0].work.stops[0].at, 12u);
  give(work(3));
  tell(trainer_event::cancel_asked{lease_id{3}});
  ASSERT_EQ(last.size(), 2u);
  const auto& end = std::get<trainer_effect::send_end>(last[0]).end;
  EXPECT_EQ(end.at, 10u);
  EXPECT_EQ(end.failure->code, errc::cancelled);
  EXPECT_EQ(std::get<trainer_effect::drop_owner>(last[1]).owner, 3u);
}

TEST_F(TrainerCore, ALeaseThatCannotBeReadIsEnded) {
  be_welcome();
  const error why{errc::malformed_message, "a word is too long"};
  tell(trainer_event::malformed{5, lease_id{9}, why});
  const auto ends = effects<trainer_effect::send_end>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].owner, 5u);
  EXPECT_EQ(ends[0].end.lease, lease_id{9});
  EXPECT_EQ(ends[0].end.failure->message, why.message);
  tell(trainer_event::malformed{6, std::nullopt, why});
  EXPECT_TRUE(effects<trainer_effect::send_end>().empty());
  EXPECT_EQ(effects<trainer_effect::drop_owner>().at(0).owner, 6u);
  EXPECT_EQ(effects<trainer_effect::send_hello>().size(), 1u);
}

TEST_F(TrainerCore, AFailureIsInTheLogWithItsFirstLine) {
  be_welcome();
  give(work(1));
  tell(trainer_event::ended{
    {lease_id{1}, 12, error{errc::training_failed, "no memory\nat 0x0"}}});
  EXPECT_EQ(effects<trainer_effect::log_line>().at(0).text,
            "lease 1 failed at step 12: no memory");
  give(work(2));
  tell(trainer_event::ended{{lease_id{2}, 12, error{errc::cancelled, "x"}}});
  EXPECT_TRUE(effects<trainer_effect::log_line>().empty());
}

TEST(TrainerWindDown, EndsAfterThePresentStep) {
  const trainer_effect::wind_down x{lease_id{1}, 10, 20};
  EXPECT_EQ(x.stop_after(0).at, 11u) << "it has not begun";
  EXPECT_EQ(x.stop_after(14).at, 15u);
  EXPECT_EQ(x.stop_after(20).at, 20u);
  EXPECT_TRUE(x.stop_after(14).save && x.stop_after(14).last);
}

// -- reports ------------------------------------------------------------------

TEST_F(TrainerCore, AReportSaysWhatItIsOf) {
  be_welcome();
  auto what = work(1);
  what.workload.any_device = true;
  what.start.device = "cpu";
  give(std::move(what));
  auto told = report(1, 16);
  told.saved = checkpoint{"file", 1, 2};
  tell(trainer_event::reported{told});
  const auto sent = effects<trainer_effect::send_report>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].report.node, node_id{4});
  EXPECT_EQ(sent[0].report.identity, 201u);
  EXPECT_EQ(sent[0].report.device, mixed_devices);
  EXPECT_EQ(sent[0].report.saved->device, mixed_devices);
}

TEST_F(TrainerCore, TheOldestOfTooManyReportsIsForgotten) {
  be_welcome();
  auto what = work(1);
  what.stages = {{node_id{1}, 0, unacknowledged_max + 2, {}, 7}};
  give(std::move(what));
  for (step_t at = 1; at <= unacknowledged_max + 1; ++at)
    tell(trainer_event::reported{report(1, at)});
  tell(trainer_event::given_up{});
  welcome();
  const auto again = effects<trainer_effect::send_resent>();
  ASSERT_EQ(again.size(), unacknowledged_max);
  EXPECT_EQ(again.front().what.report.at, 2u);
}

// -- a history of any events --------------------------------------------------

/// A model of what a trainer is to do, far simpler than it, and everything that
/// a trainer deals with: one that finds a contract broken says so.
struct history {
  struct holder {
    lease work;
    std::uint64_t epoch = 0; ///< in which it has come
    bool has_started = false;
    bool has_ended = false;
    bool is_dropped = false;
  };

  std::mt19937_64 random;
  trainer_core core{description(), moment{}};
  moment now{};
  bool is_watched = false;
  bool is_leaving = false;
  bool is_refused = false;
  bool has_quit = false;
  trainer_id number{};     ///< 0: unregistered
  std::uint64_t epoch = 0; ///< grows with each change of the registration
  std::optional<std::uint64_t> asked; ///< a hello that is yet to be answered
  std::uint64_t last_asked = 0;
  std::uint64_t beats = 0;
  /// Registrations, each with the epoch in which they became due.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> greetings_due;
  std::vector<std::uint64_t> beats_due; ///< registrations
  std::vector<bool> goodbyes;           ///< whether each is the last
  std::map<owner_number, holder> owners;
  std::map<lease_id, owner_number> device;
  std::deque<std::pair<lease_id, step_t>> unacknowledged;
  std::uint64_t last_lease = 0;
  trainer_core::effects last;

  explicit history(std::uint64_t seed) : random(seed) {}

  std::uint64_t below(std::uint64_t n) { return random() % n; }

  template <class T>
  std::vector<T> effects() const {
    return all_of<T>(last);
  }

  // -- what effects do --------------------------------------------------------

  void take(const trainer_effect::watch&) {
    EXPECT_FALSE(std::exchange(is_watched, true));
  }
  void take(const trainer_effect::unwatch&) {
    EXPECT_TRUE(std::exchange(is_watched, false));
  }
  void take(const trainer_effect::send_hello& x) {
    EXPECT_TRUE(is_watched);
    EXPECT_EQ(number, trainer_id{});
    EXPECT_GT(x.registration, last_asked);
    asked = last_asked = x.registration;
    ++epoch;
  }
  void take(const trainer_effect::send_heartbeat& x) {
    EXPECT_TRUE(is_watched);
    EXPECT_NE(number, trainer_id{});
    EXPECT_EQ(x.what.trainer, number);
    EXPECT_EQ(x.what.count, beats++);
  }
  void take(const trainer_effect::send_resent& x) {
    EXPECT_NE(number, trainer_id{});
    EXPECT_FALSE(x.what.workload_key.empty());
    const std::pair place{x.what.report.lease, x.what.report.at};
    EXPECT_NE(std::ranges::find(unacknowledged, place), unacknowledged.end());
  }
  void take(const trainer_effect::send_goodbye& x) {
    EXPECT_TRUE(is_leaving);
    EXPECT_NE(number, trainer_id{});
    EXPECT_EQ(x.trainer, number);
    EXPECT_EQ(x.is_last, device.empty());
    goodbyes.push_back(x.is_last);
  }
  void take(const trainer_effect::send_report& x) {
    const auto& to = owners.at(x.owner);
    EXPECT_TRUE(to.has_started && !to.has_ended && !to.is_dropped);
    EXPECT_EQ(to.epoch, epoch);
    EXPECT_EQ(to.work.number, x.report.lease);
  }
  void take(const trainer_effect::send_end& x) {
    auto& to = owners.at(x.owner);
    EXPECT_FALSE(to.is_dropped);
    EXPECT_FALSE(std::exchange(to.has_ended, true));
    EXPECT_EQ(to.work.number, x.end.lease);
    EXPECT_TRUE(to.has_started || x.end.failure) << "it was not trained";
  }
  void take(const trainer_effect::drop_owner& x) {
    auto& from = owners.at(x.owner);
    EXPECT_FALSE(std::exchange(from.is_dropped, true));
    if (from.has_started)
      device.erase(from.work.number);
  }
  void take(const trainer_effect::start_lease& x) {
    EXPECT_FALSE(is_leaving);
    auto& from = owners.at(x.owner);
    EXPECT_FALSE(from.has_ended || from.is_dropped);
    EXPECT_FALSE(std::exchange(from.has_started, true));
    EXPECT_FALSE(is_hindered(from.work));
    EXPECT_EQ(x.work.stops, from.work.stops);
    EXPECT_TRUE(device.emplace(x.work.number, x.owner).second);
  }
  void take(const trainer_effect::add_stop& x) {
    EXPECT_TRUE(device.contains(x.what.lease));
  }
  void take(const trainer_effect::wind_down& x) {
    EXPECT_TRUE(device.contains(x.lease));
    EXPECT_LT(x.begin, x.end);
  }
  void take(const trainer_effect::cancel& x) {
    EXPECT_TRUE(device.contains(x.lease));
  }
  void take(const trainer_effect::quit& x) {
    EXPECT_TRUE(is_refused || (is_leaving && device.empty()));
    EXPECT_EQ(x.why.has_value(), is_refused);
    has_quit = true;
  }
  void take(const trainer_effect::greet_after& x) {
    greetings_due.emplace_back(x.registration, epoch);
  }
  void take(const trainer_effect::beat_after& x) {
    beats_due.push_back(x.registration);
  }
  void take(const trainer_effect::log_line& x) { EXPECT_FALSE(x.text.empty()); }

  /// Whether what the device trains is in the way of a lease.
  bool is_hindered(const lease& x) const {
    return std::ranges::any_of(device, [&](const auto& kvp) {
      const auto& y = owners.at(kvp.second).work;
      return y.lane == x.lane || y.workload.name != x.workload.name
             || y.number == x.number;
    });
  }

  // -- what happens -----------------------------------------------------------

  void tell(any_trainer_event event) {
    now += std::chrono::milliseconds{below(1000)};
    last = core.apply(std::move(event), now);
    for (const auto& x : last)
      std::visit([this](const auto& y) { take(y); }, x);
    for (const auto& [owner, x] : owners)
      if (!x.has_started && !x.is_dropped) {
        EXPECT_FALSE(is_leaving);
        EXPECT_TRUE(is_hindered(x.work)) << "it waits for nothing";
      }
    std::vector<lease_id> running;
    for (const auto& kvp : device)
      running.push_back(kvp.first);
    EXPECT_EQ(core.running(), running);
  }

  /// The registration is over: what has come under it says so to nobody.
  void be_away() {
    number = {};
    asked.reset();
    ++epoch;
  }

  /// All that runs is asked to end, and nothing waits any more.
  void expect_wound_down(std::size_t running) const {
    EXPECT_EQ(effects<trainer_effect::wind_down>().size(), running);
    for (const auto& kvp : owners)
      EXPECT_TRUE(kvp.second.has_started || kvp.second.is_dropped);
  }

  void connect() {
    const bool is_same = is_watched && below(2) == 0;
    const bool is_ignored = number != trainer_id{} && is_same;
    const auto running = device.size();
    const bool was_watched = is_watched;
    if (was_watched && !is_ignored)
      be_away();
    tell(trainer_event::connected{is_same});
    EXPECT_EQ(effects<trainer_effect::send_hello>().size(), is_ignored ? 0 : 1);
    if (was_watched && !is_ignored)
      expect_wound_down(running);
  }

  void disconnect() {
    const auto running = device.size();
    is_watched = false;
    be_away();
    tell(trainer_event::disconnected{"gone"});
    expect_wound_down(running);
    EXPECT_EQ(has_quit, is_leaving && running == 0);
  }

  void give_up(any_trainer_event event) {
    const bool was_registered = number != trainer_id{};
    const auto running = device.size();
    if (was_registered)
      be_away();
    tell(std::move(event));
    EXPECT_EQ(effects<trainer_effect::send_hello>().size(),
              was_registered ? 1 : 0);
    if (was_registered)
      expect_wound_down(running);
  }

  void answer() {
    if (below(8) == 0 && last_asked > 1) // one of before
      return tell_nothing(trainer_event::answered{
        last_asked - 1, {std::nullopt, trainer_id{99}, 100}});
    if (!asked)
      return;
    const auto registration = *std::exchange(asked, std::nullopt);
    if (below(3) == 0) {
      tell(trainer_event::unanswered{registration, "silence"});
      EXPECT_EQ(effects<trainer_effect::greet_after>().size(), 1u);
      EXPECT_EQ(has_quit, is_leaving && device.empty());
      return;
    }
    welcome what{std::nullopt, trainer_id{below(50) + 1}, below(1000) + 1};
    if (below(60) == 0) {
      is_refused = true;
      what.refusal = error{errc::incompatible_version, "no"};
      tell(trainer_event::answered{registration, what});
      EXPECT_TRUE(has_quit);
      return;
    }
    number = what.trainer;
    tell(trainer_event::answered{registration, what});
    std::deque<std::pair<lease_id, step_t>> again;
    for (const auto& x : effects<trainer_effect::send_resent>())
      again.emplace_back(x.what.report.lease, x.what.report.at);
    EXPECT_EQ(again, unacknowledged);
    EXPECT_EQ(effects<trainer_effect::send_goodbye>().size(),
              is_leaving ? 1 : 0);
    EXPECT_EQ(effects<trainer_effect::beat_after>().size(), 1u);
  }

  void tell_nothing(any_trainer_event event) {
    tell(std::move(event));
    EXPECT_TRUE(last.empty());
  }

  void give() {
    auto what = work(++last_lease, static_cast<std::uint32_t>(below(3)),
                     below(5) == 0 ? "other" : "model");
    if (below(4) == 0)
      what.workload.options["seed"] = 2.0; // which hinders nobody
    if (below(10) == 0)
      what.stages = {{root_node, 10, 20, {}, 0}}; // of no plan
    if (below(20) == 0 && !device.empty())
      what.number = device.begin()->first; // of a service that knows no better
    owner_number owner = owners.size() + 1;
    owners[owner] = {what, epoch};
    std::set<lease_id> in_the_way;
    for (const auto& [lease, from] : device) {
      const auto& y = owners.at(from).work;
      if (y.lane == what.lane || y.workload.name != what.workload.name
          || y.number == what.number)
        in_the_way.insert(lease);
    }
    tell(trainer_event::leased{owner, what});
    std::set<lease_id> cancelled;
    for (const auto& x : effects<trainer_effect::cancel>())
      cancelled.insert(x.lease);
    if (is_leaving) {
      EXPECT_TRUE(owners[owner].has_ended && owners[owner].is_dropped);
      return;
    }
    EXPECT_EQ(cancelled, in_the_way);
    EXPECT_EQ(owners[owner].has_started, in_the_way.empty());
    EXPECT_EQ(effects<trainer_effect::send_heartbeat>().size(),
              in_the_way.empty() && number != trainer_id{} ? 1 : 0);
  }

  void spoil() {
    const owner_number owner = owners.size() + 1;
    owners[owner].work.number = lease_id{1'000'000};
    const error why{errc::malformed_message, "spoilt"};
    if (below(2) == 0)
      give_up(trainer_event::malformed{owner, std::nullopt, why});
    else
      tell(trainer_event::malformed{owner, lease_id{1'000'000}, why});
    EXPECT_TRUE(owners[owner].is_dropped);
  }

  lease_id some_lease() {
    if (device.empty() || below(4) == 0)
      return lease_id{below(last_lease + 2)};
    return std::next(device.begin(),
                     static_cast<std::ptrdiff_t>(below(device.size())))
      ->first;
  }

  void cancel() {
    const auto lease = some_lease();
    tell(trainer_event::cancel_asked{lease});
    EXPECT_EQ(effects<trainer_effect::cancel>().size(),
              device.contains(lease) ? 1 : 0);
    for (const auto& kvp : owners) {
      const auto& x = kvp.second;
      if (x.work.number == lease && !x.has_started) {
        EXPECT_TRUE(x.is_dropped);
      }
    }
  }

  void pass_a_stop() {
    const auto lease = some_lease();
    if (!device.contains(lease))
      return tell_nothing(trainer_event::reported{report(1'000'000, 11)});
    const auto& from = owners.at(device.at(lease));
    const auto at = 11 + below(10);
    const bool has_place = from.work.stages[0].node != root_node;
    if (has_place)
      unacknowledged.emplace_back(lease, at);
    tell(trainer_event::reported{report(number_of(lease), at)});
    const bool is_current = from.epoch == epoch;
    EXPECT_EQ(effects<trainer_effect::send_report>().size(),
              is_current ? 1 : 0);
    EXPECT_EQ(effects<trainer_effect::send_resent>().size(),
              !is_current && has_place && number != trainer_id{} ? 1 : 0);
  }

  void acknowledge() {
    if (unacknowledged.empty())
      return;
    const auto [lease, at] = unacknowledged[below(unacknowledged.size())];
    std::erase(unacknowledged, std::pair{lease, at});
    tell_nothing(trainer_event::acked{{lease, at}});
  }

  void ask_for_a_stop() {
    const auto lease = some_lease();
    const stop_point point{11 + below(10), below(2) == 0, true, below(4) == 0};
    for (auto& kvp : owners) {
      auto& x = kvp.second;
      if (x.work.number != lease || x.has_started || x.is_dropped
          || point.at > x.work.stops.back().at)
        continue;
      std::map<step_t, stop_point> all; // until the first that is the last
      for (const auto& y : x.work.stops)
        all[y.at] = y;
      auto& known = all.try_emplace(point.at, point).first->second;
      known.evaluate = known.evaluate || point.evaluate;
      known.save = true;
      x.work.stops.clear();
      for (const auto& y : all)
        if (!point.last || y.first <= point.at)
          x.work.stops.push_back(y.second);
    }
    tell(trainer_event::stop_asked{{lease, point}});
    EXPECT_EQ(last.size(), device.contains(lease) ? 1 : 0);
  }

  /// The device ends a lease, or is stuck in it.
  void end(lease_id lease, bool is_stuck) {
    lease_end what{lease, 12, std::nullopt};
    if (is_stuck || below(2) == 0)
      what.failure =
        error{below(2) == 0 ? errc::cancelled : errc::training_failed, "x"};
    if (!device.contains(lease))
      return tell_nothing(trainer_event::ended{what});
    const auto owner = device.at(lease);
    const bool is_current = owners.at(owner).epoch == epoch;
    if (is_stuck) {
      is_leaving = true;
      tell(trainer_event::stuck{what});
    } else {
      tell(trainer_event::ended{what});
    }
    EXPECT_EQ(owners.at(owner).has_ended, is_current);
    EXPECT_TRUE(owners.at(owner).is_dropped);
    if (!device.empty())
      return;
    const auto beats_sent = effects<trainer_effect::send_heartbeat>().size();
    if (!is_leaving)
      EXPECT_EQ(beats_sent, !is_current && number != trainer_id{} ? 1 : 0);
    else if (number != trainer_id{})
      EXPECT_TRUE(effects<trainer_effect::send_goodbye>().back().is_last);
    else
      EXPECT_EQ(has_quit, !asked);
  }

  void leave() {
    const bool was_leaving = std::exchange(is_leaving, true);
    tell(trainer_event::leave_asked{});
    if (was_leaving) {
      EXPECT_TRUE(last.empty());
      return;
    }
    expect_wound_down(device.size());
    EXPECT_EQ(effects<trainer_effect::send_goodbye>().size(),
              number != trainer_id{} ? 1 : 0);
    EXPECT_EQ(has_quit, number == trainer_id{} && !asked && device.empty());
  }

  void part() {
    if (goodbyes.empty())
      return;
    const bool is_last = goodbyes.front();
    goodbyes.erase(goodbyes.begin());
    tell(trainer_event::left{is_last});
    EXPECT_EQ(has_quit, is_last);
  }

  void let_time_pass() {
    if (!beats_due.empty()) {
      const auto registration = beats_due.front();
      beats_due.erase(beats_due.begin());
      if (number == trainer_id{} || registration != last_asked)
        return tell_nothing(trainer_event::beat_due{registration});
      tell(trainer_event::beat_due{registration});
      std::vector<lease_id> named, running;
      for (const auto& x : effects<trainer_effect::send_heartbeat>())
        named.push_back(x.what.lease);
      for (const auto& kvp : device)
        running.push_back(kvp.first);
      EXPECT_EQ(named, running.empty() ? std::vector{lease_id{}} : running);
      EXPECT_EQ(effects<trainer_effect::beat_after>().size(), 1u);
    } else if (!greetings_due.empty()) {
      const auto [registration, then] = greetings_due.front();
      greetings_due.erase(greetings_due.begin());
      if (then != epoch || !is_watched)
        return tell_nothing(trainer_event::greeting_due{registration});
      tell(trainer_event::greeting_due{registration});
      EXPECT_EQ(effects<trainer_effect::send_hello>().size(), 1u);
    }
  }

  void step() {
    switch (below(24)) {
      case 0:
        return connect();
      case 1:
        if (is_watched && below(3) == 0)
          disconnect();
        return;
      case 2:
        return give_up(trainer_event::given_up{});
      case 3:
      case 4:
      case 5:
        return answer();
      case 6:
      case 7:
      case 8:
      case 9:
        return give();
      case 10:
        return spoil();
      case 11:
      case 12:
        return cancel();
      case 13:
      case 14:
      case 15:
        return pass_a_stop();
      case 16:
        return acknowledge();
      case 17:
      case 18:
        return end(some_lease(), false);
      case 19:
        return ask_for_a_stop();
      case 20:
        if (below(20) == 0)
          end(some_lease(), true);
        return;
      case 21:
        if (below(12) == 0)
          leave();
        return;
      case 22:
        return part();
      default:
        return let_time_pass();
    }
  }

  /// Whatever has happened, it ends when it is asked to.
  void finish() {
    leave();
    for (int i = 0; i < 100 && !has_quit; ++i) {
      if (!device.empty())
        end(device.begin()->first, false);
      else if (asked)
        answer();
      else
        part();
    }
    EXPECT_TRUE(has_quit);
    for (const auto& kvp : owners)
      EXPECT_TRUE(kvp.second.is_dropped);
  }
};

class TrainerHistory : public testing::TestWithParam<std::uint64_t> {};

TEST_P(TrainerHistory, KeepsItsPromises) {
  history all{GetParam()};
  for (int i = 0; i < 400 && !all.has_quit && !HasFailure(); ++i)
    all.step();
  if (!all.has_quit && !HasFailure())
    all.finish();
}

INSTANTIATE_TEST_SUITE_P(Seeds, TrainerHistory,
                         testing::Range<std::uint64_t>(1, 401));

} // namespace
} // namespace hippo
