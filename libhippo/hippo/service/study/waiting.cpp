#include "hippo/service/study/waiting.hpp"

#include <string>

namespace hippo {

std::string waiting_for(const waiting_facts& x) {
  if (has_ended(x.state))
    return {};
  if (x.state == study_phase::paused)
    return x.reason;
  if (x.caught_up < 1)
    return "it works out again what it had decided before the service was "
           "started: "
           + std::to_string(static_cast<int>(100 * x.caught_up)) + " %";
  if (!x.trouble.empty())
    return "nothing can be stored, and so nothing is passed on: " + x.trouble;
  if (x.trainers == 0)
    return "no trainer is connected: start one with hippo-trainer --connect "
           "HOST:PORT";
  if (!x.stuck.empty())
    return x.stuck;
  if (!x.hindered.empty())
    return x.hindered;
  if (x.held_up > 0 && x.held_up + x.sick >= x.trainers)
    return (x.sick > 0 ? std::string{"every trainer is sick or held up"}
            : x.trainers == 1
              ? std::string{"the only trainer is held up"}
              : "all " + std::to_string(x.trainers)
                  + " trainers are held up")
           + ": " + x.hold_up;
  if (x.sick == x.trainers)
    return (x.trainers == 1 ? std::string{"the only trainer is sick and rests"}
                            : "all " + std::to_string(x.trainers)
                                + " trainers are sick and rest")
           + (x.illness.empty() ? x.illness : ": " + x.illness);
  return {};
}

std::vector<std::string>
waiting_notes::note(const std::map<std::string, std::string>& waits,
                    time_point now) {
  std::vector<std::string> result;
  for (auto i = waiting_.begin(); i != waiting_.end();) {
    const auto found = waits.find(i->first);
    if (found != waits.end() && !found->second.empty()) {
      ++i;
      continue;
    }
    if (!i->second.told.empty())
      result.push_back("study " + i->first + " goes on");
    i = waiting_.erase(i);
  }
  for (const auto& [study, why] : waits) {
    if (why.empty())
      continue;
    auto& x = waiting_.try_emplace(study, entry{now, now, {}, {}})
                .first->second;
    x.present = why;
    const bool is_due = x.told.empty() ? now - x.since >= patience
                                       : now - x.told_at >= pause;
    if (why == x.told || !is_due)
      continue;
    x.told = why;
    x.told_at = now;
    result.push_back("study " + study + " waits: " + why);
  }
  return result;
}

std::string waiting_notes::shown(const std::string& study) const {
  const auto i = waiting_.find(study);
  return i == waiting_.end() || i->second.told.empty() ? std::string{}
                                                       : i->second.present;
}

} // namespace hippo
