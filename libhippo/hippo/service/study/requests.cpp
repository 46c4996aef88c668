#include "hippo/service/study/requests.hpp"

#include <algorithm>

namespace hippo {

std::uint64_t study_requests::add(const stored_command& command) {
  commands_.emplace(++last_, command);
  return last_;
}

std::optional<study_requests::stored_command>
study_requests::take(std::uint64_t number) {
  auto found = commands_.extract(number);
  if (!found)
    return std::nullopt;
  return found.mapped();
}

bool study_requests::is_storing(
  std::initializer_list<study_command::verb> xs) const {
  return std::any_of(commands_.begin(), commands_.end(), [&](const auto& kvp) {
    return std::find(xs.begin(), xs.end(), kvp.second.what) != xs.end();
  });
}

void study_requests::wait(trial_no trial, step_t to, study_token from) {
  waiters_.emplace(trial, waiter{to, from});
}

} // namespace hippo
