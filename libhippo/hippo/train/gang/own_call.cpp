#include "hippo/train/gang/own_call.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace hippo {

namespace {

/// How often a call that is to end is ended again: it may not have begun to
/// wait for what was stopped.
constexpr int stop_again_ms = 100;

file_descriptor make_event() {
  file_descriptor result{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  if (!result)
    throw std::runtime_error("no descriptor for a call of a workload");
  return result;
}

} // namespace

own_call::own_call(stoppable& trains, std::function<void()> call)
  : trains_(trains), returned_(make_event()),
    thread_([this, what = std::move(call)] {
      try {
        what();
      } catch (...) {
        thrown_ = std::current_exception();
      }
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto n =
        ::write(returned_.number(), &one, sizeof one); // it is empty
    }) {}

own_call::~own_call() {
  if (!thread_.joinable())
    return;
  while (!has_returned()) {
    trains_.stop(stop_force::kill);
    if (returns_in(stop_again_ms))
      break;
  }
  thread_.join();
}

bool own_call::returns_in(int wait_ms) const noexcept {
  pollfd x{returned_.number(), POLLIN, 0};
  return ::poll(&x, 1, wait_ms) > 0;
}

void own_call::get() {
  thread_.join();
  if (thrown_)
    std::rethrow_exception(thrown_);
}

} // namespace hippo
