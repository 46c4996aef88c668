#include "hippo/service/pool/pool_core.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hippo/space/own_workload.hpp"

// Which mergers have something to train that no trainer can, and why; and which
// trainers do not return from what they were given.

namespace hippo {

void pool_core::trainer_entry::note_unreturned(
  const heartbeat& x, time_point now, std::chrono::milliseconds interval) {
  constexpr std::uint64_t year_ms = 366ull * 86'400'000;
  ends = holder ? lease_id{} : x.lease;
  if (x.overdue_ms > 0) {
    unreturned = x.lease;
    unreturned_said = now;
    unreturned_since
      = now - std::chrono::milliseconds{std::min(x.overdue_ms, year_ms)};
  } else if (x.lease == lease_id{} || x.lease == unreturned
             || now - unreturned_said > 2 * interval) {
    unreturned_since.reset(); // else this beat is of another lane
  }
}

std::string pool_core::trainer_entry::held_up(time_point now) const {
  if (gone)
    return {};
  const auto& stalled = record.stalled;
  if (unreturned_since && now - *unreturned_since >= unreturned_shown) {
    const auto span = std::chrono::duration_cast<std::chrono::seconds>(
      now - *unreturned_since);
    return "does not return since " + std::to_string(span.count())
           + " s from a call of training that was to end"
           + (stalled.empty() ? stalled : ": it had made " + stalled);
  }
  if (!stalled.empty())
    return "was given up, and has yet to end its call of training: it had made "
           + stalled;
  if (ends != lease_id{})
    return "ends what it was leased before it registered";
  return {};
}

bool pool_core::is_stuck(const need_entry& x) const {
  const auto place = place_of(x.merger);
  if (!place
      || (mergers_[*place].wanted == 0 && shares_.devices(*place) == 0))
    return false;
  return std::none_of(trainers_.begin(), trainers_.end(), [&](auto& kvp) {
    const auto& y = kvp.second;
    return y.is_there() && y.is_able(x.merger) && is_of_use(y, x.merger);
  });
}

std::string pool_core::kinds_lacking(const need_entry& x) const {
  const auto place = place_of(x.merger);
  if (!place)
    return {};
  std::string result;
  for (const auto& kind : mergers_[*place].kinds) {
    if (std::any_of(trainers_.begin(), trainers_.end(), [&](const auto& kvp) {
          return kvp.second.is_there() && kvp.second.record.device == kind;
        }))
      return {}; // it is there, and cannot train it for another reason
    result += (result.empty() ? "'" : " or '") + kind + '\'';
  }
  return result;
}

std::string pool_core::why_stuck(const need_entry& x) const {
  const auto& need = x.need;
  std::size_t connected = 0;
  std::string others; // versions
  bool known = false; // to a trainer, which computes with other numerics then
  std::string unable; // what one says that should be able
  for (const auto& [number, trainer] : trainers_) {
    if (!trainer.is_there())
      continue;
    ++connected;
    if (const auto i = trainer.workloads.find(need.name);
        i != trainer.workloads.end())
      others = i->second;
    known = known || trainer.knows(need);
    if (const auto i = trainer.rests.find(x.merger);
        unable.empty() && i != trainer.rests.end() && suits(trainer, x.merger)
        && !i->second.unable.empty())
      unable = "trainer " + to_string(number) + " ("
               + trainer.record.name + ") says: " + i->second.unable;
  }
  const auto kinds = kinds_lacking(x);
  if (connected == 0)
    return "no trainer is connected"
           + (kinds.empty() ? kinds : "; what it has begun was trained on "
                                        + kinds);
  if (!kinds.empty())
    return "what it has begun was trained on " + kinds
           + ", and none of the " + std::to_string(connected)
           + " trainers is of that kind: start one on such a device";
  auto result = "none of the " + std::to_string(connected)
                + " trainers can train '" + need.name + '\'';
  if (!unable.empty())
    result += ", which does not start there; " + unable
              + "; install there what it lacks, or start a trainer that has it";
  else if (known)
    result += " with numerics: " + need.numerics
              + ": start one with --numerics " + need.numerics;
  else if (!others.empty())
    result += " in its version '" + need.version + "', only '" + others
              + "': run the same release or library everywhere";
  else
    result += is_own_workload(need.name)
                ? ": start one without --no-code"
                : ": start one with the library that it is in";
  return result;
}

std::vector<pool_core::stuck_workload> pool_core::stuck() const {
  std::vector<stuck_workload> result;
  for (const auto& x : needs_)
    if (is_stuck(x))
      result.push_back({x.need.key, why_stuck(x)});
  return result;
}

/// Logs which mergers have to wait and why, once for each reason.
void pool_core::log_stuck(effects& out) {
  for (auto& x : needs_) {
    if (!is_stuck(x)) {
      x.logged_stuck.clear();
      continue;
    }
    if (auto why = why_stuck(x); why != x.logged_stuck) {
      out.emplace_back(log_line{true, x.need.key + " has to wait: " + why});
      x.logged_stuck = std::move(why);
    }
  }
}

/// Goes on with the rest of the trainer of that name which was there last.
void pool_core::rest_on(trainer_entry& x, time_point now) const {
  const auto i = std::find_if(
    trainers_.rbegin(), trainers_.rend(), [&](const auto& kvp) {
      return kvp.second.gone && kvp.second.record.name == x.record.name;
    });
  if (i == trainers_.rend())
    return;
  x.blamed = i->second.blamed;
  x.sick_pauses = i->second.sick_pauses;
  x.sick_until = i->second.sick_until;
  if (x.sick_until > now)
    x.record.sick = i->second.record.sick;
}

} // namespace hippo
