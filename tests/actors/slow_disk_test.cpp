// A disk that does not answer: who asks what runs does not wait for it.

#include <chrono>

#include "actors/gateway_fixture.hpp"

namespace hippo {
namespace {

using SlowDisk = test::gateway_test;

/// Says nothing, as one that waits for the disk.
journal_actor::behavior_type mute_journal(journal_actor::pointer self) {
  return {
    [self](commit_atom,
           const journal_entry&) -> caf::result<std::uint64_t> {
      return self->make_response_promise<std::uint64_t>();
    },
    [](flush_atom) {},
    [self](status_atom) -> caf::result<journal_status> {
      return self->make_response_promise<journal_status>();
    },
  };
}

TEST_F(SlowDisk, NobodyWaitsForADiskThatDoesNotAnswer) {
  test::threaded_config config;
  caf::actor_system elsewhere{config};
  options.sources.journal = elsewhere.spawn(mute_journal);
  open();
  {
    auto me = enter();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(
        me.service.listRequest().send().wait(scope).getStudies().size(), 0u);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, status_timeout);
  }
  node.reset();
  caf::anon_send_exit(options.sources.journal, caf::exit_reason::kill);
  options.sources.journal = nullptr;
}

} // namespace
} // namespace hippo
