#include "turn_watch.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "actor_fixture.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

using worker_actor = caf::typed_actor<caf::reacts_to<start_atom>,
                                      caf::reacts_to<stop_atom>,
                                      caf::replies_to<status_atom>::with<int>>;

/// Computes for three times as long as it may, sleeps as long, answers.
worker_actor::behavior_type worker(worker_actor::pointer) {
  return watched<worker_actor::behavior_type>(
    "worker", {
                [](start_atom) {
                  const auto end = turn_watch::now() + 3 * turn_watch::limit;
                  while (turn_watch::now() < end)
                    ;
                },
                [](stop_atom) {
                  std::this_thread::sleep_for(3 * turn_watch::limit);
                },
                [](status_atom) { return 7; },
              });
}

class TurnWatch : public test::actor_test {
public:
  TurnWatch() {
    turn_watch::listen([this](const std::string& who, auto took) {
      EXPECT_GE(took, 3 * turn_watch::limit);
      found.push_back(who);
    });
  }
  ~TurnWatch() override { turn_watch::listen([](const auto&, auto) {}); }

  std::vector<std::string> found;
};

#ifndef NDEBUG
TEST_F(TurnWatch, FindsAHandlerThatComputes) {
  const auto x = spawn(worker);
  self->send(x, start_atom::value);
  run();
  EXPECT_EQ(found, std::vector<std::string>{"worker: start"});
}
#endif

TEST_F(TurnWatch, TakesNoHandlerForSlowThatOnlyWaits) {
  const auto x = spawn(worker);
  self->send(x, stop_atom::value);
  run();
  EXPECT_TRUE(found.empty());
}

TEST_F(TurnWatch, AnswersAsWithoutIt) {
  const auto x = spawn(worker);
  EXPECT_EQ(*ask<int>(x, status_atom::value), 7);
}

} // namespace
} // namespace hippo
