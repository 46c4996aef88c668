#include "hippo/train/process/idle_processes.hpp"

#include <algorithm>
#include <iterator>

namespace hippo {

std::optional<idle_process> idle_processes::take(const std::string& code) {
  const std::lock_guard guard{mutex_};
  for (;;) {
    const auto i = std::find_if(kept_.rbegin(), kept_.rend(),
                                [&](auto& x) { return x.first == code; });
    if (i == kept_.rend())
      return std::nullopt;
    auto found = std::move(i->second);
    kept_.erase(std::next(i).base());
    if (found.process->waits())
      return found;
  }
}

void idle_processes::put(std::string code, idle_process process) {
  std::optional<idle_process> one_too_many; // ended without the lock
  const std::lock_guard guard{mutex_};
  kept_.emplace_back(std::move(code), std::move(process));
  if (kept_.size() <= kept_max)
    return;
  one_too_many = std::move(kept_.front().second);
  kept_.pop_front();
}

} // namespace hippo
