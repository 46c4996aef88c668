#include "hippo/service/study/waiting.hpp"

#include <string>

namespace hippo {

std::string waiting_for(const waiting_facts& facts) {
  if (has_ended(facts.state))
    return {};
  if (facts.state == study_phase::paused)
    return facts.reason;
  if (facts.caught_up < 1)
    return "it works out again what it had decided before the service was "
           "started: "
           + std::to_string(static_cast<int>(100 * facts.caught_up)) + " %";
  if (!facts.trouble.empty())
    return "nothing can be stored, and so nothing is passed on: "
           + facts.trouble;
  if (facts.trainers == 0)
    return "no trainer is connected: start one with hippo-trainer --connect "
           "HOST:PORT";
  if (!facts.stuck.empty())
    return facts.stuck;
  if (!facts.hindered.empty())
    return facts.hindered;
  if (facts.held_up > 0 && facts.held_up + facts.sick >= facts.trainers)
    return (facts.sick > 0 ? std::string{"every trainer is sick or held up"}
            : facts.trainers == 1 ? std::string{"the only trainer is held up"}
                                  : "all " + std::to_string(facts.trainers)
                                      + " trainers are held up")
           + ": " + facts.hold_up;
  if (facts.sick == facts.trainers)
    return (facts.trainers == 1
              ? std::string{"the only trainer is sick and rests"}
              : "all " + std::to_string(facts.trainers)
                  + " trainers are sick and rest")
           + (facts.illness.empty() ? facts.illness : ": " + facts.illness);
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
