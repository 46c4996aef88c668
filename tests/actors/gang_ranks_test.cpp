// Engines of several trainers that have ranks of a trial each, over loopback.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "engine_events.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "hippo/train/world_member.hpp"
#include "lease_of_two_rates.hpp"
#include "train/loopback_gang.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"
#include "training_engine.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

/// The worlds of ranks in this process.
struct rank_worlds {
  std::mutex mutex;
  std::condition_variable changed;
  /// How many members have come to a call of a world, by its number.
  std::map<std::pair<std::string, int>, std::size_t> come;
  std::set<std::string> broken; ///< in which ranks were ended
};

/// Some ranks of a trial, of which each has a sum of its own. In each call they
/// wait for those of all members.
class ranked_sum final : public summing_workload, public world_member {
public:
  ranked_sum(rank_worlds& worlds, const workload_spec& spec)
    : worlds_(worlds), place_(rank_member_of(spec)),
      sums_(ranks_of(spec) / place_.members),
      first_(sums_.size() * place_.member) {}

  [[nodiscard]] std::string world() const override { return world_; }

  void enter(const rank_world& world) override {
    if (on_enter)
      on_enter();
    world_ = world.id;
    calls_ = 0;
    is_stopped_ = false;
  }

  void leave() noexcept override { world_.clear(); }

  void stop(stop_force) noexcept override {
    const std::lock_guard guard{worlds_.mutex};
    is_stopped_ = true;
    worlds_.broken.insert(world_);
    worlds_.changed.notify_all();
  }

  void init() override {
    meet();
    std::ranges::fill(sums_, 0.0);
  }

  void train(const configuration& config, step_t from, step_t to) override {
    summing_workload::train(config, from, to); // may throw
    meet();
    for (auto at = from; at < to; ++at)
      for (std::size_t i = 0; i < sums_.size(); ++i)
        sums_[i] += std::get<double>(config.at("lr").at(at))
                    * static_cast<double>(first_ + i + 1);
  }

  metrics evaluate() override {
    meet();
    return {{"val", sums_[0]}, {"first", static_cast<double>(first_)}};
  }

  std::string save() override {
    meet();
    std::string result;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      result +=
        "rank" + std::to_string(first_ + i) + ' ' + to_text(sums_[i]) + '\n';
    return result + std::string(pad * (place_.member + 1), '\n');
  }

  std::shared_ptr<const workload_state> snapshot() override {
    return std::make_shared<saved_state>(save());
  }

  void load(const std::string& bytes) override {
    if (on_load)
      on_load();
    if (on_bytes)
      on_bytes(bytes);
    meet();
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const auto name = "rank" + std::to_string(first_ + i) + ' ';
      sums_[i] = std::stod(bytes.substr(bytes.find(name) + name.size()));
    }
  }

  std::function<void()> on_enter;
  std::function<void(const std::string&)> on_bytes; ///< that are loaded
  std::size_t pad = 0; ///< bytes of a state, times the number of its member

private:
  void meet() {
    std::unique_lock guard{worlds_.mutex};
    auto& come = worlds_.come[{world_, calls_++}];
    ++come;
    worlds_.changed.notify_all();
    worlds_.changed.wait(guard, [&] {
      return worlds_.broken.contains(world_) || come == place_.members;
    });
    if (come != place_.members)
      throw std::runtime_error(is_stopped_
                                 ? "the process of these ranks was killed"
                                 : "connection closed by peer");
  }

  rank_worlds& worlds_;
  const rank_member place_;
  std::vector<double> sums_;
  const std::size_t first_;
  std::string world_;
  int calls_ = 0;
  bool is_stopped_ = false; ///< guarded by that of the worlds
};

struct GangRanks : testing::Test {
  static constexpr std::size_t size_max = 4;

  GangRanks() { listen(false); }

  /// Makes engines, with a port each.
  /// @param aftermath ranks that wait for one that has failed do not answer
  void listen(bool encrypted, std::chrono::milliseconds aftermath = 500ms) {
    for (auto& x : engines)
      x.reset();
    gang_limits limits;
    limits.silence = 20s;
    limits.hurry = 10s; // nobody is silent
    limits.retry = 5ms;
    limits.aftermath = aftermath;
    ports = std::make_unique<loopback_gang>(size_max, encrypted, limits);
    for (std::size_t i = 0; i < size_max; ++i)
      add_engine(i);
  }

  void add_engine(std::size_t place) {
    workload_registry works;
    workload_descriptor x;
    x.name = python_workload;
    works.add(x, [this, place](const workload_spec& spec) {
      auto work = std::make_unique<ranked_sum>(worlds, spec);
      work->on_load = [this, place] { ++loads[place]; };
      work->on_enter = [this, place] { ++starts[place]; };
      if (prepare)
        prepare(place, *work);
      return work;
    });
    engines[place].reset();
    call_limits limits;
    limits.grace = 5s;
    engines[place] =
      std::make_unique<training_engine>(std::move(works), "test", folder_of, 0,
                                        limits, nullptr, ports->ports[place]);
  }

  lease make_lease(step_t begin, step_t end, std::uint32_t ranks = 4) {
    auto x = test::lease_of_two_rates(begin, end, 0.5, 0.25);
    x.number = lease_id{++last_lease};
    x.workload.name = python_workload;
    x.workload.options["ranks"] = static_cast<double>(ranks);
    x.folder = folder.path;
    if (begin > 0)
      x.start = saved;
    return x;
  }

  /// Starts a lease at engines, the first of which is the lead.
  void start(lease x, const std::vector<std::size_t>& members) {
    gang_place place;
    place.lead = x.number;
    place.secret = "s3cret";
    for (const auto i : members)
      place.members.push_back(ports->ports[i]->address());
    const auto end = x.stages.back().end;
    for (const auto i : members) {
      x.gang = place;
      numbers[i] = x.number;
      if (engines[i])
        engines[i]->start(x, events[i].sink());
      ++place.rank;
      x.number = lease_id{++last_lease};
      x.stops = {{end}};
    }
  }

  static std::vector<std::size_t> first(std::size_t count) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < count; ++i)
      result.push_back(i);
    return result;
  }

  void expect_trained(const std::vector<std::size_t>& members, step_t end) {
    for (const auto i : members) {
      const auto x = events[i].wait_for_end();
      EXPECT_FALSE(x.failure) << i << ": " << x.failure->message;
      EXPECT_EQ(x.at, end);
    }
    saved = events[members.front()].reports().back().saved.value();
  }

  /// Trains a path. Its state is `saved` then.
  void train(step_t begin, step_t end, const std::vector<std::size_t>& members,
             std::uint32_t ranks = 4) {
    start(make_lease(begin, end, ranks), members);
    expect_trained(members, end);
  }

  std::string bytes() const {
    std::ifstream in{folder.path + '/' + saved.file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  std::string name_of(std::size_t rank, std::size_t size) const {
    return "member " + std::to_string(rank) + " of " + std::to_string(size)
           + " (" + ports->ports[rank]->address() + ")";
  }

  int all_starts() const {
    int result = 0;
    for (const auto& x : starts)
      result += x;
    return result;
  }

  temporary_folder folder;
  std::unique_ptr<loopback_gang> ports;
  rank_worlds worlds;
  std::function<void(std::size_t, ranked_sum&)> prepare;
  std::atomic<int> loads[size_max]{};
  std::atomic<int> starts[size_max]{}; ///< of the ranks of each
  event_log events[size_max];
  std::unique_ptr<training_engine> engines[size_max];
  lease_id numbers[size_max]{};
  checkpoint saved;
  std::uint64_t last_lease = 0;
};

TEST_F(GangRanks, AStateIsThePartsOfAllAndTheLeadReports) {
  train(0, 6, first(2));
  const auto expected = bytes();
  EXPECT_TRUE(expected.starts_with("rank0 2.5\nrank1 5\nrank2 7.5\n"));
  EXPECT_EQ(expected.size(), 10240);
  EXPECT_EQ(events[0].reports().back().values,
            (metrics{{"val", 2.5}, {"first", 0}}));
  train(0, 6, first(4));
  EXPECT_EQ(bytes(), expected);
  // Cut, and by others.
  train(0, 1, first(2));
  train(1, 3, first(4));
  train(3, 5, {1, 0});
  train(5, 6, {2, 3});
  EXPECT_EQ(bytes(), expected);
  EXPECT_TRUE(events[3].reports().empty());
}

TEST_F(GangRanks, AnyNumberThatDividesTheRanksWill) {
  train(0, 2, first(3), 3);
  const auto three = bytes();
  EXPECT_NE(three.find("rank2 3\n"), three.npos) << three.substr(0, 60);
  train(0, 2, first(3), 6);
  EXPECT_NE(bytes().find("rank5 6\n"), std::string::npos);
}

TEST_F(GangRanks, ALargeStateComesInPieces) {
  constexpr std::size_t pad = 1'500'000;
  std::atomic<int> loaded{0};
  prepare = [&](std::size_t, ranked_sum& work) {
    work.pad = pad;
    work.on_bytes = [&](const std::string& whole) {
      EXPECT_EQ(whole.size(), (pad * 10 + 32 + 1024 + 10239) / 10240 * 10240);
      EXPECT_EQ(whole.find("rank1"), 8 + pad);
      ++loaded;
    };
  };
  for (const bool encrypted : {false, true}) {
    listen(encrypted);
    train(0, 2, first(4));
    train(2, 3, {3, 2, 1, 0});
  }
  EXPECT_EQ(loaded, 8);
}

TEST_F(GangRanks, TheWorldLivesOnBetweenLeases) {
  train(0, 2, first(2));
  train(2, 4, first(2));
  const auto at_4 = saved;
  train(4, 5, first(2));
  EXPECT_EQ(loads[0] + loads[1], 0);
  saved = at_4;
  train(4, 5, first(2));
  EXPECT_EQ(loads[0], 1);
  EXPECT_EQ(loads[1], 1);
  EXPECT_EQ(all_starts(), 2);
  // One that has others' ranks is no part of it.
  train(5, 6, {0, 2});
  EXPECT_EQ(all_starts(), 4);
  train(6, 7, first(2));
  EXPECT_EQ(all_starts(), 6);
  train(7, 8, {1, 0});
  EXPECT_EQ(all_starts(), 8);
  // The state of a cancelled lease is another one, in the same world.
  std::atomic<bool> is_asked{false};
  start(make_lease(8, 1'000'000'000), {1, 0});
  while (engines[0]->reached(numbers[0]) < 20)
    std::this_thread::sleep_for(1ms);
  engines[1]->cancel(numbers[1]);
  EXPECT_EQ(events[1].wait_for_end().failure.value().code, errc::cancelled);
  EXPECT_FALSE(events[0].wait_for_end().failure);
  train(8, 9, {1, 0});
  EXPECT_EQ(all_starts(), 8);
}

/// Has the ranks of one member fail at a step.
class FailingRanks : public GangRanks,
                     public testing::WithParamInterface<std::size_t> {};

TEST_P(FailingRanks, ItsTextIsTheLeadsFailureAtTheRightStep) {
  const auto bad = GetParam();
  const auto text = "no (rank 3 of 4)\n" + std::string(20'000, 'x') + "end";
  std::atomic<step_t> bad_step{200};
  prepare = [&](std::size_t place, summing_workload& work) {
    work.on_step = [&, place](step_t at) {
      if (place == bad && at == bad_step)
        throw std::runtime_error(text);
    };
  };
  for (const step_t step : {200, 2}) {
    bad_step = step;
    start(make_lease(0, 1000), first(4));
    const auto end = events[0].wait_for_end();
    ASSERT_TRUE(end.failure);
    EXPECT_EQ(end.failure->code, errc::training_failed);
    EXPECT_EQ(end.failure->message, text);
    EXPECT_EQ(end.at, step);
    for (std::size_t i = 1; i < 4; ++i) {
      const auto other = events[i].wait_for_end();
      EXPECT_FALSE(other.failure) << other.failure->message;
    }
  }
  bad_step = 2000;
  const auto before = all_starts();
  train(0, 300, first(4));
  EXPECT_EQ(all_starts(), before + 4) << "no rank of a world that has ended";
}

INSTANTIATE_TEST_SUITE_P(Members, FailingRanks, testing::Values(0, 1, 3));

TEST_F(GangRanks, OneThatCannotStartFailsAloneAndTheOthersAreLost) {
  std::atomic<bool> is_bad{true};
  prepare = [&](std::size_t place, ranked_sum& work) {
    if (place == 2)
      work.on_prepare = [&] {
        if (is_bad)
          throw std::runtime_error("there is no torch");
      };
  };
  start(make_lease(0, 5), first(4));
  for (std::size_t i = 0; i < 4; ++i) {
    const auto why = events[i].wait_for_end().failure.value();
    EXPECT_EQ(why.code, i == 2 ? errc::cannot_start : errc::gang_lost);
    EXPECT_EQ(why.message,
              i == 2 ? "there is no torch"
                     : name_of(2, 4) + " trains no more: there is no torch");
  }
  is_bad = false;
  train(0, 5, first(4));
}

TEST_F(GangRanks, AStateThatCannotBeReadIsItsOwnFailure) {
  train(0, 2, first(2));
  auto work = make_lease(2, 3);
  work.gang =
    gang_place{work.number,
               {ports->ports[2]->address(), ports->ports[3]->address()},
               0,
               "s3cret"};
  engines[2]->start(work, events[2].sink());
  work.gang->rank = 1;
  work.number = lease_id{++last_lease};
  work.folder += "/nowhere";
  engines[3]->start(work, events[3].sink());
  EXPECT_EQ(events[3].wait_for_end().failure.value().code,
            errc::bad_checkpoint);
  EXPECT_EQ(events[2].wait_for_end().failure.value().code, errc::gang_lost);
}

TEST_F(GangRanks, RanksThatLoseOneSayItBesideItsOwnText) {
  // The lead's ranks notice that those have gone before their member says so.
  listen(false, 20s);
  prepare = [&](std::size_t place, ranked_sum& work) {
    if (place == 1)
      work.on_step = [&](step_t at) {
        if (at == 2) {
          work.stop(stop_force::kill);
          std::this_thread::sleep_for(100ms);
          throw std::runtime_error("signal 9\nand more");
        }
      };
  };
  start(make_lease(0, 3), first(2));
  const auto why = events[0].wait_for_end().failure.value();
  EXPECT_EQ(why.code, errc::training_failed);
  EXPECT_EQ(why.message, "connection closed by peer\nalso: signal 9");
  EXPECT_FALSE(events[1].wait_for_end().failure);
}

TEST_F(GangRanks, ACancelledFollowerEndsTheWorld) {
  start(make_lease(0, 1'000'000'000), first(4));
  while (engines[3]->reached(numbers[3]) < 3)
    std::this_thread::sleep_for(1ms);
  engines[3]->cancel(numbers[3]);
  EXPECT_EQ(events[3].wait_for_end().failure.value().code, errc::cancelled);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto why = events[i].wait_for_end().failure.value();
    EXPECT_EQ(why.code, errc::gang_lost);
    EXPECT_TRUE(why.message.starts_with(name_of(3, 4))) << why.message;
  }
  train(0, 5, first(4));
  EXPECT_EQ(all_starts(), 8);
}

TEST_F(GangRanks, AnEngineThatEndsIsLost) {
  for (const std::size_t victim : {3, 0}) {
    start(make_lease(0, 1'000'000'000), first(4));
    while (engines[victim]->reached(numbers[victim]) < 3)
      std::this_thread::sleep_for(1ms);
    engines[victim].reset();
    const auto own = events[victim].wait_for_end();
    EXPECT_EQ(own.failure.value().code, errc::cancelled);
    for (std::size_t i = 0; i < 4; ++i)
      if (i != victim) {
        const auto end = events[i].wait_for_end();
        // A cancelled lead has come to the end of its lease.
        EXPECT_EQ(end.failure.has_value(), victim != 0);
        if (end.failure) {
          EXPECT_EQ(end.failure->code, errc::gang_lost);
          EXPECT_TRUE(end.failure->message.starts_with(name_of(3, 4)));
        }
      }
    add_engine(victim);
    train(0, 5, first(4));
  }
}

TEST_F(GangRanks, AMemberThatLeavesHasTheLeadSaveAndEnd) {
  start(make_lease(0, 1'000'000), first(2));
  while (engines[1]->reached(numbers[1]) < 3)
    std::this_thread::sleep_for(1ms);
  engines[1]->add_stop(
    numbers[1],
    {.at = engines[1]->reached(numbers[1]) + 1, .save = true, .last = true});
  const auto lead = events[0].wait_for_end();
  const auto other = events[1].wait_for_end();
  EXPECT_FALSE(lead.failure);
  EXPECT_FALSE(other.failure);
  EXPECT_EQ(lead.at, other.at);
  EXPECT_LT(lead.at, 1'000'000);
  EXPECT_TRUE(events[0].reports().back().saved);
}

TEST_F(GangRanks, AMemberThatHangsIsEndedOnceTheLeadIsCancelled) {
  // The other rank never comes to the step.
  std::atomic<bool> hangs{true};
  prepare = [&](std::size_t place, summing_workload& work) {
    if (place == 1)
      work.on_train = [&](step_t from, step_t) {
        while (from == 3 && hangs)
          std::this_thread::sleep_for(1ms);
      };
  };
  start(make_lease(0, 10), first(2));
  while (engines[0]->reached(numbers[0]) < 3)
    std::this_thread::sleep_for(1ms);
  engines[0]->cancel(numbers[0]);
  EXPECT_EQ(events[0].wait_for_end().failure.value().code, errc::cancelled);
  hangs = false;
  EXPECT_FALSE(events[1].wait_for_end().failure);
  prepare = nullptr;
  train(0, 10, first(2));
}

// -- members that lie ---------------------------------------------------------

using frame_kind = member_connection::frame_kind;

/// A member by hand, in the place of an engine's.
struct LyingRanks : GangRanks {
  /// Starts a lease of a gang of two at one engine, and joins it in the place
  /// of the other one.
  std::unique_ptr<connected_gang> join_with_engine(std::uint32_t engine) {
    auto work = make_lease(0, 5);
    work.gang =
      gang_place{work.number,
                 {ports->ports[0]->address(), ports->ports[1]->address()},
                 engine,
                 "s3cret"};
    engines[engine]->start(work, events[engine].sink());
    auto place = *work.gang;
    place.rank = 1 - engine;
    auto result = connected_gang::join(
      *ports->ports[place.rank], place, [] { return false; },
      gang_links::to_lead);
    EXPECT_TRUE(result);
    return result ? std::move(*result) : nullptr;
  }

  /// Has the second member of a gang of two do something.
  /// @returns why the lead is lost
  std::string lost_by(const std::function<void(connected_gang&)>& lie) {
    const auto mine = join_with_engine(0);
    try {
      lie(*mine);
      while (mine->next())
        ;
    } catch (const gang_lost&) {
      // It has been found out.
    }
    const auto end = events[0].wait_for_end();
    EXPECT_EQ(end.failure.value().code, errc::gang_lost);
    return end.failure->message;
  }

  /// Carries out orders up to one.
  static gang_order obey_until(connected_gang& mine, gang_call last) {
    mine.tell_world("");
    for (;;) {
      const auto x = mine.next();
      if (!x)
        throw gang_lost{"ended"};
      if (x->what == last)
        return *x;
      mine.tell_done(false);
    }
  }
};

TEST_F(LyingRanks, AreLost) {
  const auto name = name_of(1, 2);
  EXPECT_EQ(lost_by([](connected_gang& x) { x.tell_done(false); }),
            name + " does not say in which world its ranks are");
  EXPECT_EQ(lost_by([](connected_gang& x) {
              x.tell_world("");
              x.tell_world("");
            }),
            name + " does not say that it is done");
  EXPECT_EQ(lost_by([](connected_gang& x) {
              obey_until(x, gang_call::init);
              x.tell_done(false);
              x.tell_done(false);
            }),
            name + " answers what it was not asked");
  EXPECT_EQ(lost_by([](connected_gang& x) {
              obey_until(x, gang_call::prepare);
              x.give_state(memory_source{"state"});
            }),
            name + " does not say that it is done");
}

TEST_F(LyingRanks, AreLostWhereTheyGiveNoState) {
  const auto name = name_of(1, 2);
  class absurd final : public content_source {
  public:
    [[nodiscard]] std::uint64_t size() const override { return 1ull << 60; }
    [[nodiscard]] std::optional<error> read(std::uint64_t, void*,
                                            std::size_t) const override {
      return error{errc::io_failed, "no"};
    }
  };
  // They have a part in each call, so that the lead comes to save.
  const auto save = [&](const std::function<void(connected_gang&)>& give) {
    return lost_by([&](connected_gang& mine) {
      const auto world = obey_until(mine, gang_call::enter).world;
      auto spec = make_lease(0, 5);
      spec.gang = mine.place();
      ranked_sum own{worlds, spec_of(spec)};
      own.enter({world.substr(0, world.find(' ')), {}, {}});
      mine.tell_done(false);
      for (;;) {
        const auto x = mine.next();
        if (!x)
          throw gang_lost{"ended"};
        if (x->what == gang_call::give)
          return give(mine);
        if (x->what == gang_call::init)
          own.init();
        if (x->what == gang_call::train)
          own.train({{"lr", form::constant(1)}}, x->from, x->to);
        if (x->what == gang_call::evaluate)
          own.evaluate();
        if (x->what == gang_call::save)
          own.save();
        mine.tell_done(false);
      }
    });
  };
  EXPECT_EQ(save([](connected_gang& x) {
              try {
                x.give_state(absurd{});
              } catch (const std::runtime_error&) {
                // It has none.
              }
            }),
            name + " says that its state has 1152921504606846976 bytes");
  EXPECT_EQ(save([](connected_gang& x) { x.tell_done(false); }),
            name + " does not give its state");
}

TEST_F(LyingRanks, AMemberThatIsGoneIsLostAlsoWhereRanksNoticeBefore) {
  listen(false, 20s);
  EXPECT_EQ(lost_by([&](connected_gang& mine) {
              const auto world = obey_until(mine, gang_call::enter).world;
              auto spec = make_lease(0, 5);
              spec.gang = mine.place();
              ranked_sum own{worlds, spec_of(spec)};
              own.enter({world.substr(0, world.find(' ')), {}, {}});
              mine.tell_done(false);
              mine.next(); // to prepare
              mine.tell_done(false);
              mine.next(); // to init
              own.stop(stop_force::kill);
              std::this_thread::sleep_for(100ms);
              mine.finish(error{errc::cancelled, "cancelled"});
              throw gang_lost{"it has left"};
            }),
            name_of(1, 2) + " trains no more: cancelled");
}

TEST_F(LyingRanks, AreLostOnceTheyAreSilent) {
  // Its own port gives no signs of life for long, and this is the limit of the
  // other one.
  gang_limits short_ones;
  short_ones.silence = 300ms;
  ports->ports[0] =
    std::move(*gang_port::listen({"127.0.0.1", 0}, false, short_ones));
  add_engine(0);
  for (const bool in_call : {false, true})
    EXPECT_EQ(lost_by([&](connected_gang& mine) {
                if (in_call)
                  obey_until(mine, gang_call::init);
                std::this_thread::sleep_for(1500ms);
              }),
              name_of(1, 2) + " is silent since 0.3 s");
}

TEST_F(LyingRanks, ALeadThatIsGoneIsLostAlsoWhereRanksCannotStartForThat) {
  listen(false, 20s);
  std::atomic<bool> has_failed{false};
  prepare = [&](std::size_t, ranked_sum& work) {
    work.on_prepare = [&] {
      has_failed = true;
      throw std::runtime_error("connection refused");
    };
  };
  {
    const auto mine = join_with_engine(1);
    ASSERT_TRUE(mine);
    mine->hear();
    mine->give_order(
      {.what = gang_call::enter, .world = "hippo-7 127.0.0.1:1"});
    mine->await_done();
    mine->give_order({.what = gang_call::prepare});
    while (!has_failed)
      std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(events[1].wait_for_end().failure.value().code, errc::gang_lost);
}

TEST_F(LyingRanks, ALeadIsLostThatOrdersWhatCannotBe) {
  const auto lost_by_lead = [&](const gang_order& order, bool in_world) {
    {
      const auto mine = join_with_engine(1);
      EXPECT_EQ(mine->hear()->frame.kind, frame_kind::enter);
      if (in_world) {
        mine->give_order(
          {.what = gang_call::enter, .world = "hippo-7 127.0.0.1:1"});
        EXPECT_FALSE(mine->await_done());
      }
      mine->give_order(order);
      EXPECT_THROW(mine->hear(), gang_lost);
    }
    const auto end = events[1].wait_for_end();
    EXPECT_EQ(end.failure.value().code, errc::gang_lost);
    return end.failure->message;
  };
  const auto orders = name_of(0, 2) + " orders ";
  for (const auto* text : {"", "hippo-7", "hippo-7 x", "x 127.0.0.1:80",
                           "hippo-7/ 127.0.0.1:80", "hippo-7 127.0.0.1"})
    EXPECT_EQ(lost_by_lead({.what = gang_call::enter, .world = text}, false),
              orders + "to enter a world that is none")
      << text;
  for (const auto what : {gang_call::prepare, gang_call::init, gang_call::load,
                          gang_call::train, gang_call::give})
    EXPECT_EQ(lost_by_lead({.to = 1, .what = what}, false),
              orders + "a call, and the ranks of this member are in no world");
  EXPECT_EQ(lost_by_lead({.what = gang_call::load}, true),
            orders + "to load a state, and the lease begins without one");
  EXPECT_EQ(lost_by_lead({.from = 1, .to = 2}, true),
            orders + "steps 1 to 2, and this member is at 0");
  EXPECT_EQ(lost_by_lead({.from = 0, .to = 6}, true),
            orders + "steps 0 to 6, and this member is at 0");
  EXPECT_EQ(lost_by_lead({.what = gang_call::give}, true),
            orders + "a state that was not saved");
}

} // namespace
} // namespace hippo
