#include "hippo/train/gang/gang_workload.hpp"

#include <chrono>
#include <utility>

namespace hippo {

void gang_workload::train(const configuration& config, step_t from, step_t to) {
  if (!ended_.empty())
    throw gang_lost{"the gang has ended: " + ended_};
  // Of unknown reasons, too: members may be anywhere then.
  ended_ = "this member has failed";
  try {
    setup_ns_ = 0;
    bool leaves = false;
    if (!std::exchange(is_ready_, true)) {
      const auto begin = std::chrono::steady_clock::now();
      leaves = members_.await_done();
      setup_ns_ = static_cast<std::uint64_t>(
        std::chrono::nanoseconds{std::chrono::steady_clock::now() - begin}
          .count());
    }
    members_.give_order({from, to});
    own_.train(config, from, to);
    leaves = members_.await_done() || leaves;
    if (leaves)
      on_leave_(to);
  } catch (const std::exception& e) {
    ended_ = e.what();
    throw;
  }
  ended_.clear();
}

std::uint64_t gang_workload::waited_ns() const noexcept {
  const auto* waits = dynamic_cast<const data_wait*>(&own_);
  return waits == nullptr ? 0 : waits->waited_ns();
}

} // namespace hippo
