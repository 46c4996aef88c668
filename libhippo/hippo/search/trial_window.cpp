#include "hippo/search/trial_window.hpp"

#include <cassert>

namespace hippo {

trial_window::trial_window(std::uint64_t trials, std::uint64_t width)
  : trials_(trials), width_(width) {
  assert(width > 0);
}

std::uint64_t trial_window::open() {
  while (has_room())
    unsettled_.insert(unsettled_.end(), opened_++);
  assert(unsettled_.size() <= width_ && opened_ <= trials_);
  return opened_;
}

} // namespace hippo
