#include "hippo/train/gang/gang_workload.hpp"

#include <chrono>
#include <utility>

namespace hippo {

bool gang_workload::together(const gang_order& order,
                             const std::function<void()>& work) {
  if (!ended_.empty())
    throw gang_lost{"the gang has ended: " + ended_};
  // Of unknown reasons, too: members may be anywhere then.
  ended_ = "this member has failed";
  bool leaves = false;
  try {
    setup_ns_ = 0;
    if (!std::exchange(is_ready_, true)) {
      const auto begin = std::chrono::steady_clock::now();
      leaves = members_.await_done();
      setup_ns_ = static_cast<std::uint64_t>(
        std::chrono::nanoseconds{std::chrono::steady_clock::now() - begin}
          .count());
    }
    members_.give_order(order);
    work();
    leaves = members_.await_done() || leaves;
  } catch (const std::exception& e) {
    ended_ = e.what();
    throw;
  }
  ended_.clear();
  return leaves;
}

void gang_workload::train(const configuration& config, step_t from, step_t to) {
  if (together({from, to}, [&] { own_.train(config, from, to); }))
    on_leave_(to);
}

metrics gang_workload::evaluate() {
  metrics result;
  // One that leaves says so again after the next step, which is soon enough.
  together({.what = gang_call::evaluate}, [&] { result = own_.evaluate(); });
  return result;
}

std::uint64_t gang_workload::waited_ns() const noexcept {
  const auto* waits = dynamic_cast<const data_wait*>(&own_);
  return waits == nullptr ? 0 : waits->waited_ns();
}

} // namespace hippo
