#include <random>

#include <gtest/gtest.h>

#include "hippo/service/pool/pool_core.hpp"
#include "pool/admitting.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using core = pool_core;

/// A pool with a list of machines.
struct PoolMachinesTest : testing::Test {
  moment now{};
  core pool{options(), moment{}};

  static pool_options options() {
    pool_options result{1s, 15s};
    result.machines.emplace();
    auto& kinds = result.machines->kinds;
    kinds.push_back({"a100", "A100", 3.6, 8, 1, 0, 0, 0, {}});
    kinds.push_back({"spot", "A100", 1.8, 8, 1, 0, 2, 120, {}});
    kinds.push_back({"cpu16", "cpu amd", 16, 2, 16, 0, 0.5, 0, {}});
    kinds.push_back({"l4", "L4", 1, 1, 1, 0, 0, 0, {}});
    return result;
  }

  static hello on(const std::string& device, const std::string& machine = "",
                  std::uint32_t notice = 0) {
    hello x;
    x.host = "node";
    x.process_id = 7;
    x.device = device;
    x.machine = machine;
    x.notice_seconds = notice;
    return x;
  }

  trainer_id admit(const hello& x) {
    last.clear();
    return test::admitted(pool, x, std::nullopt, now, last).trainer;
  }

  /// A trainer that is idle, or is given work at once. Its grants are in
  /// `last`.
  trainer_id join(const hello& x) {
    const auto result = admit(x);
    last = pool.apply(pool_event::heard{heartbeat{result, {}, 0, 0}}, now);
    return result;
  }

  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> result;
    for (const auto& x : last)
      if (const auto* line = std::get_if<pool_effect::log_line>(&x);
          line != nullptr && line->is_warning)
        result.push_back(line->text);
    return result;
  }

  [[nodiscard]] pool_effect::grant granted() const {
    for (const auto& x : last)
      if (const auto* y = std::get_if<pool_effect::grant>(&x))
        return *y;
    ADD_FAILURE() << "nothing was granted";
    return {};
  }

  [[nodiscard]] trainer_record record(trainer_id x) const {
    for (const auto& y : pool.trainers(now))
      if (y.number == number_of(x))
        return y;
    ADD_FAILURE() << "there is no trainer " << number_of(x);
    return {};
  }

  void want(std::uint64_t trainers) {
    last = pool.apply(pool_event::demanded{1, 1, trainers, {}}, now);
  }

  core::effects last;
};

/// Of spot machines that are interrupted twice an hour one that goes says
/// nothing of what it trained, unless it goes at once.
TEST_F(PoolMachinesTest, AnInterruptionThatIsToBeExpectedSaysNothing) {
  pool.apply(pool_event::demanded{1, 1, 100, {}}, now);
  const auto why_lost = [&](const std::string& machine, auto after) {
    const auto x = join(on("A100", machine));
    now += after;
    for (const auto& effect :
         pool.apply(pool_event::disconnected{x, false, "gone"}, now))
      if (const auto* lost = std::get_if<pool_effect::notify_lost>(&effect))
        return lost->why;
    return std::string{"nobody was told"};
  };
  EXPECT_EQ(why_lost("spot", 10s), "gone");
  EXPECT_EQ(why_lost("spot", 30s), "");
  EXPECT_EQ(why_lost("a100", 30s), "gone");
}

TEST_F(PoolMachinesTest, ATrainerIsOnTheMachineThatItNames) {
  const auto x = admit(on("NVIDIA A100", "spot"));
  EXPECT_TRUE(warnings().empty());
  EXPECT_EQ(record(x).machine, "spot");
  EXPECT_EQ(record(x).price, 1.8);
  EXPECT_EQ(record(x).notice_seconds, 120);
  EXPECT_EQ(record(x).unpriced, "");
  EXPECT_EQ(record(admit(on("anything", "l4"))).machine, "l4")
    << "whoever started it knows better";
  EXPECT_EQ(record(admit(on("A100", "spot", 30))).notice_seconds, 30);
}

TEST_F(PoolMachinesTest, ElseItsDeviceDecides) {
  const auto x = admit(on("cpu amd x86-64-v4"));
  EXPECT_EQ(record(x).machine, "cpu16");
  EXPECT_EQ(record(x).price, 1) << "of one of its 16 trainers";
}

TEST_F(PoolMachinesTest, ATrainerOfAnUnknownMachineTrainsAllTheSame) {
  const std::pair<hello, std::string> unknown[] = {
    {on("NVIDIA A100"), "a trainer on 'NVIDIA A100' could be of 'a100' and "
                        "'spot': start it with --machine and the name of one"},
    {on("NVIDIA A100", "spoty"),
     "there is no kind of machine 'spoty', did you mean 'spot'?"},
    {on("H100"), "no kind of machine of the list has its device, 'H100'; they "
                 "have 'A100' (a100), 'A100' (spot), 'cpu amd' (cpu16), 'L4' "
                 "(l4)"}};
  want(10);
  for (const auto& [said, why] : unknown) {
    const auto x = admit(said);
    EXPECT_EQ(record(x).machine, "");
    EXPECT_EQ(record(x).unpriced, why);
    EXPECT_EQ(warnings(),
              std::vector{"what trainer " + to_string(x)
                          + " (node:7) costs is not known: " + why});
    last = pool.apply(pool_event::heard{heartbeat{x, {}, 0, 0}}, now);
    EXPECT_EQ(granted().trainer, x);
    EXPECT_EQ(granted().price, 0);
  }
  now += 3600s;
  EXPECT_TRUE(pool.costs(now).empty());
}

TEST_F(PoolMachinesTest, GrantsSayHowOftenMachinesAreInterrupted) {
  want(10);
  const auto counted = join(on("H100"));
  now += 100s;
  pool.apply(pool_event::disconnected{counted, false, "gone"}, now);
  join(on("A100", "spot"));
  EXPECT_EQ(granted().seconds_between_interruptions, 1800);
  EXPECT_EQ(granted().price, 1.8);
  const auto gone = join(on("A100", "a100"));
  EXPECT_EQ(granted().seconds_between_interruptions, 0);
  now += 10s;
  pool.apply(pool_event::disconnected{gone, false, "gone"}, now);
  join(on("A100", "a100"));
  EXPECT_EQ(granted().seconds_between_interruptions, 0)
    << "the list says that it stays";
  join(on("H100"));
  EXPECT_EQ(granted().seconds_between_interruptions, 100)
    << "of what is not in the list it is counted";
}

TEST_F(PoolMachinesTest, SaysOnceWhichListedDevicesNobodyReports) {
  now += 100s;
  EXPECT_TRUE(pool.apply(pool_event::ticked{}, now).empty())
    << "there is nobody yet";
  admit(on("A100", "spot"));
  admit(on("H100"));
  const auto at_tick = [this](moment::duration span) {
    for (const auto end = now + span; now < end;) {
      now += 1s;
      last = pool.apply(pool_event::ticked{}, now);
      for (std::uint64_t i = 1; i <= 2; ++i)
        pool.apply(pool_event::alive{trainer_id{i}}, now);
    }
    return warnings();
  };
  EXPECT_TRUE(at_tick(59s).empty());
  EXPECT_EQ(at_tick(1s),
            std::vector<std::string>{
              "no trainer reports a device of the list of machines: 'cpu amd' "
              "(cpu16), 'L4' (l4); trainers report 'A100', 'H100'"});
  EXPECT_TRUE(at_tick(100s).empty());
}

TEST_F(PoolMachinesTest, WithoutAListNothingIsKnownOrSaid) {
  pool = core{pool_options{1s, 15s}, now};
  const auto x = join(on("A100", "spot"));
  EXPECT_EQ(record(x).machine, "");
  EXPECT_EQ(record(x).unpriced, "");
  now += 100s;
  last = pool.apply(pool_event::ticked{}, now);
  for (const auto& text : warnings())
    EXPECT_EQ(text.find("machines"), std::string::npos) << text;
}

/// Whatever trainers do, what is counted is the time for which they were there
/// and had work.
TEST_F(PoolMachinesTest, WorkAndIdlingAreWhatTheyWere) {
  struct life {
    std::string machine;
    double price = 0; // of an hour
    bool works = false;
    double work = 0, idle = 0; // hours
  };
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    pool = core{options(), now};
    std::map<trainer_id, life> lives;
    std::set<trainer_id> there;
    std::uint64_t wanted = 0;
    const auto apply = [&](const core::effects& xs) {
      for (const auto& x : xs)
        if (const auto* y = std::get_if<pool_effect::grant>(&x))
          lives.at(y->trainer).works = true;
    };
    const auto some = [&] {
      return *std::next(there.begin(), static_cast<long>(rng() % there.size()));
    };
    for (int turn = 0; turn < 60; ++turn) {
      const auto span = rng() % 3 * 10;
      now += std::chrono::seconds(span);
      for (const auto x : there) {
        auto& y = lives.at(x);
        (y.works ? y.work : y.idle) += static_cast<double>(span) / 3600;
      }
      switch (rng() % 5) {
        case 0: {
          const bool is_spot = rng() % 2 == 0;
          const auto x = admit(is_spot ? on("A100", "spot")
                                       : on("cpu amd"));
          lives[x] = is_spot ? life{"spot", 1.8} : life{"cpu16", 1};
          there.insert(x);
          if (rng() % 4 > 0) // else it is not ready yet
            apply(pool.apply(pool_event::heard{heartbeat{x, {}, 0, 0}}, now));
          break;
        }
        case 1:
          wanted = rng() % 4;
          apply(pool.apply(pool_event::demanded{1, 1, wanted, {}}, now));
          break;
        case 2:
          if (!there.empty()) {
            const auto x = some();
            if (lives.at(x).works) {
              lives.at(x).works = false;
              apply(pool.apply(pool_event::released{x}, now));
            }
          }
          break;
        case 3:
          if (!there.empty()) {
            const auto x = some();
            there.erase(x);
            apply(pool.apply(pool_event::disconnected{x, false, "gone"}, now));
          }
          break;
        default:
          apply(pool.apply(pool_event::review_due{false}, now));
      }
      double work = 0, idle = 0;
      std::map<std::string, std::uint64_t> trainers;
      for (const auto& [x, y] : lives) {
        work += y.work * y.price;
        idle += y.idle * y.price;
        ++trainers[y.machine];
        EXPECT_NEAR(record(x).work_seconds, y.work * 3600, 1e-6);
        EXPECT_NEAR(record(x).idle_seconds, y.idle * 3600, 1e-6);
      }
      for (const auto& x : pool.costs(now)) {
        EXPECT_EQ(x.trainers, trainers.at(x.kind));
        work -= x.work;
        idle -= x.idle;
      }
      EXPECT_NEAR(work, 0, 1e-9);
      EXPECT_NEAR(idle, 0, 1e-9);
    }
  }
}

TEST_F(PoolMachinesTest, WhoIsForgottenHasCostWhatHeDid) {
  for (std::size_t i = 0; i < gone_trainers_max + 3; ++i) {
    const auto x = join(on("A100", "spot"));
    now += 2s;
    pool.apply(pool_event::leaving{x}, now);
  }
  const auto costs = pool.costs(now);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].trainers, gone_trainers_max + 3);
  EXPECT_NEAR(costs[0].idle, 1.8 / 3600 * 2 * (gone_trainers_max + 3), 1e-9);
  EXPECT_EQ(costs[0].work, 0);
}

} // namespace
} // namespace hippo
