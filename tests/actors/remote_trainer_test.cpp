// What a trainer of another process reaches, whatever it sends.

#include "network/remote_trainer.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "actors/actor_fixture.hpp"
#include "hippo/net/wire/codec.hpp"
#include "wire/samples.hpp"

namespace hippo {
namespace {

/// What somebody has received.
struct received {
  std::vector<std::uint64_t> heartbeats; ///< of which trainer
  std::vector<std::uint64_t> goodbyes;   ///< likewise
  std::vector<std::uint64_t> resent;     ///< of which lease
  std::vector<std::uint64_t> reports;    ///< likewise
  std::vector<std::uint64_t> ends;       ///< likewise
};

registrar_actor::behavior_type fake_pool(registrar_actor::pointer,
                                          received* out) {
  return {
    [out](register_atom, const hello_wire& msg,
          const trainer_actor&) -> caf::result<welcome_wire> {
      const auto x = decode(msg);
      if (!x)
        return caf::make_error(x.failure().code);
      welcome answer;
      answer.trainer =
        trainer_id{x->process_id}; // so that a test can choose it
      answer.heartbeat_interval_ms = 1000;
      if (x->protocol != protocol_version)
        answer.refusal = error{errc::incompatible_version, "another version"};
      return encode(answer);
    },
    [out](heartbeat_atom, const heartbeat_wire& msg) {
      out->heartbeats.push_back(number_of(decode(msg)->trainer));
    },
    [out](resent_atom, const resent_wire& msg, const trainer_actor&) {
      if (const auto x = decode(msg))
        out->resent.push_back(number_of(x->report.lease));
    },
    [out](leave_atom, const goodbye_wire& msg) {
      out->goodbyes.push_back(number_of(decode(msg)->trainer));
    },
  };
}

lease_owner_actor::behavior_type fake_owner(lease_owner_actor::pointer,
                                             received* out) {
  return {
    [out](report_atom, const stop_report_wire& msg) {
      out->reports.push_back(number_of(decode(msg)->lease));
    },
    [out](ended_atom, const lease_end_wire& msg) {
      out->ends.push_back(number_of(decode(msg)->lease));
    },
  };
}

struct RemoteTrainerTest : test::actor_test {
  received by_pool, by_one, by_other;
  registrar_actor pool = keep(sys.spawn(fake_pool, &by_pool));
  lease_owner_actor one = keep(sys.spawn(fake_owner, &by_one));
  lease_owner_actor other = keep(sys.spawn(fake_owner, &by_other));
  remote_trainer_actor trainer
    = keep(sys.spawn(remote_trainer, link_handle{}, pool));
  remote_trainer_actor second
    = keep(sys.spawn(remote_trainer, link_handle{}, pool));

  RemoteTrainerTest() {
    greet(trainer, 5);
    greet(second, 6);
  }

  void greet(const remote_trainer_actor& who, std::uint64_t number) {
    auto x = samples::greeting();
    x.process_id = number;
    say(who, frame_type::hello, encode(x));
  }

  template <class Schema>
  void say(const remote_trainer_actor& who, frame_type type,
           const wire<Schema>& x) {
    self->send(who, make_frame(type, x));
    run();
  }

  void lease_to(const remote_trainer_actor& who, std::uint64_t number,
                const lease_owner_actor& owner) {
    auto x = samples::path();
    x.number = lease_id{number};
    self->send(who, lease_atom::value, encode(x), owner);
    run();
  }

  void report(const remote_trainer_actor& who, std::uint64_t lease) {
    auto x = samples::report();
    x.lease = lease_id{lease};
    say(who, frame_type::report, encode(x));
  }

  void end(const remote_trainer_actor& who, std::uint64_t lease) {
    say(who, frame_type::ended, encode(lease_end{lease_id{lease}, 3, {}, {}}));
  }

  /// Ends the connection. @returns with what the trainer goes
  caf::error hang_up(const std::string& why) {
    self->monitor(trainer);
    self->send(trainer, link_ended{why});
    run();
    caf::error result;
    self->receive([&](const caf::down_msg& msg) { result = msg.reason; });
    return result;
  }

  using numbers = std::vector<std::uint64_t>;
};

TEST_F(RemoteTrainerTest, SpeaksForItselfAlone) {
  for (std::uint64_t x = 1; x < 10; ++x) {
    const trainer_id who{x};
    say(trainer, frame_type::heartbeat, encode(heartbeat{who, {}, 0, 0}));
    say(trainer, frame_type::goodbye, encode(goodbye{who}));
  }
  EXPECT_EQ(by_pool.heartbeats, numbers{5});
  EXPECT_EQ(by_pool.goodbyes, numbers{5});
}

TEST_F(RemoteTrainerTest, WhoHasNoNumberYetReachesNobody) {
  const auto stranger
    = keep(sys.spawn(remote_trainer, link_handle{}, pool));
  say(stranger, frame_type::heartbeat,
      encode(heartbeat{trainer_id{5}, lease_id{}, 0, 0}));
  say(stranger, frame_type::goodbye, encode(goodbye{trainer_id{5}}));
  report(stranger, 1);
  EXPECT_TRUE(by_pool.heartbeats.empty() && by_pool.goodbyes.empty());
}

TEST_F(RemoteTrainerTest, ReportsReachTheOwnerOfTheLeaseAndNobodyElse) {
  lease_to(trainer, 1, one);
  lease_to(trainer, 2, other);
  lease_to(second, 3, one);
  for (std::uint64_t x = 0; x < 6; ++x) {
    report(trainer, x);
    end(trainer, x);
  }
  EXPECT_EQ(by_one.reports, numbers{1});
  EXPECT_EQ(by_one.ends, numbers{1});
  EXPECT_EQ(by_other.reports, numbers{2});
  EXPECT_EQ(by_other.ends, numbers{2});
}

TEST_F(RemoteTrainerTest, AnEndedLeaseIsOverForGood) {
  lease_to(trainer, 1, one);
  end(trainer, 1);
  report(trainer, 1);
  end(trainer, 1);
  EXPECT_EQ(by_one.ends, numbers{1});
  EXPECT_TRUE(by_one.reports.empty());
}

TEST_F(RemoteTrainerTest, ALeaseWhoseOwnerIsGoneHarmsNobody) {
  lease_to(trainer, 1, one);
  self->send_exit(one, caf::exit_reason::kill);
  run();
  report(trainer, 1);
  say(trainer, frame_type::heartbeat,
      encode(heartbeat{trainer_id{5}, lease_id{1}, 0, 0}));
  EXPECT_EQ(by_pool.heartbeats, numbers{5});
}

TEST_F(RemoteTrainerTest, ARefusedTrainerIsToldSoAndGoes) {
  auto x = samples::greeting();
  x.protocol = protocol_version + 1;
  self->monitor(trainer);
  say(trainer, frame_type::hello, encode(x));
  bool gone = false;
  self->receive([&](const caf::down_msg&) { gone = true; },
                caf::after(std::chrono::seconds{0}) >> [] {});
  EXPECT_TRUE(gone);
}

TEST_F(RemoteTrainerTest, BytesThatAreNoMessageReachNobody) {
  lease_to(trainer, 1, one);
  std::minstd_rand random{1};
  for (const auto& rule : frame_rules) {
    if (!rule.from_trainer || rule.words_max == 0)
      continue;
    for (int times = 0; times < 50; ++times) {
      auto words = kj::heapArray<capnp::word>(1 + random() % 20);
      for (auto& x : words.asBytes())
        x = static_cast<kj::byte>(random() % (random() % 2 == 0 ? 4 : 256));
      say(trainer, rule.type,
          wire<schema::Heartbeat>{kj::mv(words)});
    }
    if (rule.type == frame_type::hello)
      greet(trainer, 5);
  }
  EXPECT_TRUE(by_other.reports.empty() && by_other.ends.empty());
  for (const auto x : by_pool.heartbeats)
    EXPECT_EQ(x, 5u);
}

TEST_F(RemoteTrainerTest, GoesInOrderOnlyWithoutLeasesAndAfterAGoodbye) {
  EXPECT_TRUE(hang_up(""));
}

TEST_F(RemoteTrainerTest, AGoodbyeWithALeaseIsNoOrderlyEnd) {
  lease_to(trainer, 1, one);
  say(trainer, frame_type::goodbye, encode(goodbye{trainer_id{5}}));
  EXPECT_TRUE(hang_up(""));
}

TEST_F(RemoteTrainerTest, AGoodbyeAfterTheLastLeaseIsOne) {
  lease_to(trainer, 1, one);
  say(trainer, frame_type::goodbye, encode(goodbye{trainer_id{5}}));
  end(trainer, 1);
  say(trainer, frame_type::goodbye, encode(goodbye{trainer_id{5}}));
  EXPECT_FALSE(hang_up(""));
}

TEST_F(RemoteTrainerTest, WhoHasTakenLeaveIsGivenNothingMore) {
  lease_to(trainer, 1, one);
  say(trainer, frame_type::goodbye, encode(goodbye{trainer_id{5}}));
  lease_to(trainer, 2, other);
  EXPECT_EQ(by_other.ends, std::vector<std::uint64_t>{2});
  EXPECT_TRUE(by_one.ends.empty());
  end(trainer, 1);
  EXPECT_FALSE(hang_up(""));
}

TEST_F(RemoteTrainerTest, WhoComesBackAfterAGoodbyeIsGivenWork) {
  say(trainer, frame_type::goodbye, encode(goodbye{trainer_id{5}}));
  greet(trainer, 5);
  lease_to(trainer, 1, one);
  EXPECT_TRUE(by_one.ends.empty());
  EXPECT_TRUE(hang_up(""));
}

TEST_F(RemoteTrainerTest, ALostConnectionIsNone) {
  say(trainer, frame_type::goodbye, encode(goodbye{trainer_id{5}}));
  EXPECT_TRUE(hang_up("nothing is heard of it"));
}

TEST_F(RemoteTrainerTest, EndsWithThePool) {
  self->monitor(trainer);
  self->send_exit(pool, caf::exit_reason::user_shutdown);
  run();
  bool gone = false;
  self->receive([&](const caf::down_msg&) { gone = true; },
                caf::after(std::chrono::seconds{0}) >> [] {});
  EXPECT_TRUE(gone);
}

} // namespace
} // namespace hippo
