#include "hippo/service/merge/collecting.hpp"

#include <algorithm>

namespace hippo {

void collecting::hold(const std::set<trainer_id>& trainers, moment now) {
  std::erase_if(held_,
                [&](const auto& x) { return !trainers.contains(x.first); });
  for (auto x : trainers)
    held_.try_emplace(x, entry{now});
}

bool collecting::ask_back(trainer_id trainer) {
  const auto i = held_.find(trainer);
  if (i == held_.end())
    return false;
  i->second.asked_back = true;
  return true;
}

std::chrono::milliseconds collecting::give_back() {
  held_.clear();
  return rests_.next();
}

bool collecting::is_due(moment now) const {
  return std::ranges::any_of(held_, [&](const auto& x) {
    return x.second.asked_back && now - x.second.since >= held_max;
  });
}

bool collecting::is_asked_back(trainer_id trainer) const {
  const auto i = held_.find(trainer);
  return i != held_.end() && i->second.asked_back;
}

} // namespace hippo
