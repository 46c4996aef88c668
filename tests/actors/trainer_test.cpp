#include "trainer.hpp"

#include <optional>
#include <vector>

#include "actors/actor_fixture.hpp"
#include "hippo/net/wire/codec.hpp"
#include "wire/samples.hpp"

namespace hippo {
namespace {

/// Trains nothing: what a test expects is that it is never asked to.
struct idle_engine : engine {
  void start(const lease&, engine_sink) override { ADD_FAILURE(); }
  void add_stop(lease_id, const stop_point&) override {}
  void cancel(lease_id) override {}
  [[nodiscard]] step_t reached(lease_id) const override { return 0; }
};

/// Keeps what it is to train, until it is told to end the oldest of it.
struct patient_engine : idle_engine {
  std::vector<std::pair<lease, engine_sink>> begun;

  void start(const lease& lease, engine_sink sink) override {
    begun.emplace_back(lease, std::move(sink));
  }

  void end_oldest() {
    const auto [work, sink] = std::move(begun.front());
    begun.erase(begun.begin());
    sink(lease_end{work.number, work.stages.back().end, std::nullopt});
  }
};

/// A trainer, the pool that it is registered with, and whose leases it gets.
struct TrainerTest : test::actor_test {
  int registrations = 0;
  std::vector<lease_end> ended;
  std::vector<trainer_id> left;
  std::vector<heartbeat> beats;

  registrar_actor pool
    = spawn([this](registrar_actor::pointer) -> registrar_actor::behavior_type {
        return {
          [this](register_atom, const hello_wire&, const trainer_actor&) {
            ++registrations;
            return encode(welcome{std::nullopt, trainer_id{7}, 1000});
          },
          [this](heartbeat_atom, const heartbeat_wire& msg) {
            beats.push_back(*decode(msg));
          },
          [](resent_atom, const resent_wire&, const trainer_actor&) {},
          [this](leave_atom, const goodbye_wire& msg) {
            left.push_back(decode(msg)->trainer);
          },
        };
      });
  lease_owner_actor owner = spawn(
    [this](lease_owner_actor::pointer) -> lease_owner_actor::behavior_type {
      return {
        [](report_atom, const stop_report_wire&) {},
        [this](ended_atom, const lease_end_wire& msg) {
          ended.push_back(*decode(msg));
        },
      };
    });
  training_actor worker = join();

  training_actor begin_to_join(
    std::shared_ptr<engine> device = std::make_shared<idle_engine>()) {
    hello who;
    who.device = "test";
    return spawn(trainer, pool, who, std::move(device),
                 std::function<std::string()>{});
  }

  training_actor join() {
    auto result = begin_to_join();
    run();
    return result;
  }

  void give(const lease_wire& x) {
    self->send(worker, lease_atom::value, x, owner);
    run();
  }
};

TEST_F(TrainerTest, EndsALeaseThatItCannotDecode) {
  auto spoilt = samples::path();
  spoilt.stages[0].config["prompt"]
    = form::text(std::string(max_text_bytes + 1, 'w'));
  give(encode(spoilt));
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].lease, spoilt.number);
  ASSERT_TRUE(ended[0].failure);
  EXPECT_EQ(ended[0].failure->code, errc::malformed_message);
  EXPECT_NE(ended[0].failure->message.find("a word is too long"),
            std::string::npos)
    << ended[0].failure->message;
  EXPECT_EQ(registrations, 1);
}

TEST_F(TrainerTest, RegistersAnewWhenALeaseHasNoNumber) {
  auto spoilt = samples::path();
  spoilt.number = {};
  give(encode(spoilt));
  EXPECT_TRUE(ended.empty());
  EXPECT_EQ(registrations, 2); // so the pool knows that it holds none
}

TEST_F(TrainerTest, ALeaseThatWaitsForAnotherKeepsTheStopsThatItGets) {
  const auto device = std::make_shared<patient_engine>();
  worker = begin_to_join(device);
  run();
  auto first = samples::path(), second = first;
  first.number = lease_id{1};
  second.number = lease_id{2};
  give(encode(first));
  give(encode(second)); // of the same lane
  ASSERT_EQ(device->begun.size(), 1u);
  const auto at = second.stages.front().begin + 1;
  self->send(worker, stop_atom::value,
             encode(stop_request{
               second.number, {.at = at, .save = true, .last = true}}));
  run();
  device->end_oldest();
  run();
  ASSERT_EQ(device->begun.size(), 1u);
  const auto& last = device->begun[0].first.stops.back();
  EXPECT_EQ(last.at, at);
  EXPECT_TRUE(last.save && last.last);
}

TEST_F(TrainerTest, LeavesInOrderOnceItsDeviceIsStuck) {
  const auto device = std::make_shared<patient_engine>();
  worker = begin_to_join(device);
  run();
  self->monitor(worker);
  auto first = samples::path(), second = first;
  first.number = lease_id{1};
  second.number = lease_id{2};
  give(encode(first));
  give(encode(second)); // waits for the first
  ASSERT_EQ(device->begun.size(), 1u);
  const auto sink = device->begun[0].second;
  sink(device_stuck{{lease_id{1}, 0, error{errc::cancelled, "stuck"}}});
  run();
  ASSERT_EQ(ended.size(), 2u) << "both are told to their owner";
  for (const auto& x : ended)
    EXPECT_EQ(x.failure->code, errc::cancelled);
  EXPECT_EQ(device->begun.size(), 1u) << "it is given nothing more";
  EXPECT_FALSE(left.empty());
  bool has_quit = false;
  self->receive([&](const caf::down_msg& msg) { has_quit = !msg.reason; },
                caf::after(std::chrono::seconds(0)) >> [] {});
  EXPECT_TRUE(has_quit);
}

TEST_F(TrainerTest, SaysForHowLongALeaseHasNotReturned) {
  struct late_engine final : patient_engine {
    [[nodiscard]] std::chrono::milliseconds
    overdue(lease_id x) const override {
      return std::chrono::milliseconds{number_of(x) == 1 ? 4711 : 0};
    }
  };
  worker = begin_to_join(std::make_shared<late_engine>());
  run();
  beats.clear();
  auto work = samples::path();
  work.number = lease_id{1};
  give(encode(work));
  ASSERT_FALSE(beats.empty());
  EXPECT_EQ(beats.back().lease, lease_id{1});
  EXPECT_EQ(beats.back().overdue_ms, 4711u);
}

TEST_F(TrainerTest, LeavesInOrderWhileItRegisters) {
  const auto other = begin_to_join();
  self->monitor(other);
  self->send(other, leave_atom::value);
  run();
  EXPECT_EQ(left, std::vector{trainer_id{7}});
  bool has_quit = false;
  self->receive([&](const caf::down_msg& msg) { has_quit = !msg.reason; },
                caf::after(std::chrono::seconds(0)) >> [] {});
  EXPECT_TRUE(has_quit);
}

} // namespace
} // namespace hippo
