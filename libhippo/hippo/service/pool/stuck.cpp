#include "hippo/service/pool/stuck.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "hippo/base/text.hpp"
#include "hippo/space/own_workload.hpp"

namespace hippo {

namespace {

bool is_stuck(const pool_view& view, const need_table::entry& x) {
  const auto place = view.demands.place_of(x.merger);
  if (!place
      || (view.demands[*place].wanted == 0
          && view.demands.shares().devices(*place) == 0))
    return false;
  const auto& all = view.trainers.all();
  return std::none_of(all.begin(), all.end(), [&](const auto& kvp) {
    const auto& y = kvp.second;
    return y.is_there() && y.is_able(x.merger) && view.is_of_use(y, x.merger)
           && view.has_enough(y, x.merger, true);
  });
}

/// The kinds that a merger waits for, if no trainer is of any; else nothing.
std::string kinds_lacking(const pool_view& view, const need_table::entry& x) {
  const auto place = view.demands.place_of(x.merger);
  if (!place)
    return {};
  const auto& all = view.trainers.all();
  std::string result;
  for (const auto& kind : view.demands[*place].kinds) {
    if (std::any_of(all.begin(), all.end(), [&](const auto& kvp) {
          return kvp.second.is_there() && kvp.second.record.device == kind;
        }))
      return {}; // it is there, and cannot train it for another reason
    result += (result.empty() ? "'" : " or '") + kind + '\'';
  }
  return result;
}

/// Returns `1`, `1 and 4`, `1, 2 and 4`.
std::string numbers_text(const std::set<std::uint32_t>& numbers) {
  std::string result;
  for (auto i = numbers.begin(); i != numbers.end(); ++i) {
    if (i != numbers.begin())
      result += std::next(i) == numbers.end() ? " and " : ", ";
    result += std::to_string(*i);
  }
  return result;
}

/// The answers of the trainers that are there to a need.
struct trainers_word {
  std::size_t connected = 0;
  std::string others; ///< versions
  bool known = false; ///< to a trainer, which computes with other numerics then
  bool has_ranks = false; ///< whether one of these has as many as it needs
  std::set<std::uint32_t> other_ranks; ///< of the rest
  /// Of the rest, those that could hold the ranks of a trial together, by the
  /// ranks of each and by kind of device.
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> joint;
  std::uint32_t unreached = 0; ///< the most ranks of one without an address
  std::string unable; ///< what one says that should be able

  trainers_word(const pool_view& view, const need_table::entry& x) {
    for (const auto& [number, trainer] : view.trainers.all())
      if (trainer.is_there())
        hear(view, number, trainer, x);
  }

private:
  void hear(const pool_view& view, trainer_id number,
            const pool_trainer& trainer, const need_table::entry& x) {
    ++connected;
    if (const auto i = trainer.workloads.find(x.need.name);
        i != trainer.workloads.end())
      others = i->second;
    if (trainer.knows(x.need)) {
      known = true;
      if (trainer.record.ranks == x.need.ranks)
        has_ranks = true;
      else
        other_ranks.insert(trainer.record.ranks);
      if (trainer.can_join(x.need) && trainer.can_train(x.need)
          && trainer.is_able(x.merger))
        ++joint[{trainer.record.ranks, trainer.record.device}];
      else if (trainer.divides(x.need) && trainer.gang.empty())
        unreached = std::max(unreached, trainer.record.ranks);
    }
    if (const auto i = trainer.rests.find(x.merger);
        unable.empty() && i != trainer.rests.end()
        && view.suits(trainer, x.merger) && !i->second.unable.empty())
      unable = "trainer " + to_string(number) + " (" + trainer.record.name
               + ") says: " + i->second.unable;
  }
};

/// Of trainers that could hold the ranks of a trial together, says how many are
/// lacking: of those that come closest.
std::string too_few_of(const trainers_word& word, const workload_need& need) {
  const auto held = [](const auto& x) { return x.first.first * x.second; };
  const auto best = *std::ranges::max_element(word.joint, {}, held);
  const auto own = best.first.first;
  const auto there = best.second;
  const auto needed = need.ranks / own;
  return "it needs " + std::to_string(needed) + " trainers"
         + (own > 1 ? " of " + counted(own, "rank") : std::string{})
         + " of one kind at once (trials of " + counted(need.ranks, "rank")
         + "); there " + (there == 1 ? "is " : "are ") + std::to_string(there)
         + ": start " + std::to_string(needed - there)
         + " more with --gang-listen"
         + (own > 1 ? " and --ranks " + std::to_string(own) : std::string{})
         + ", or one with --ranks " + std::to_string(need.ranks);
}

/// REQUIRES: it is stuck.
std::string reason_of(const pool_view& view, const need_table::entry& x) {
  const auto& need = x.need;
  const trainers_word word{view, x};
  const auto kinds = kinds_lacking(view, x);
  if (word.connected == 0)
    return "no trainer is connected"
           + (kinds.empty() ? kinds
                            : "; what it has begun was trained on " + kinds);
  if (!kinds.empty())
    return "what it has begun was trained on " + kinds + ", and none of the "
           + std::to_string(word.connected)
           + " trainers is of that kind: start one on such a device";
  auto result = "none of the " + std::to_string(word.connected)
                + " trainers can train '" + need.name + '\'';
  if (!word.unable.empty())
    result += ", which does not start there; " + word.unable
              + "; install there what it lacks, or start a trainer that has it";
  else if (word.known && !word.has_ranks && !word.joint.empty())
    result = too_few_of(word, need);
  else if (word.known && !word.has_ranks)
    result +=
      ", whose trials are " + counted(need.ranks, "rank")
      + " each: start one with --ranks " + std::to_string(need.ranks)
      + " (there are trainers of " + numbers_text(word.other_ranks) + ')'
      + (word.unreached > 0
           ? ", or " + std::to_string(need.ranks / word.unreached) + " of "
               + std::to_string(word.unreached) + " with --gang-listen"
           : std::string{});
  else if (word.known)
    result += " with numerics: " + need.numerics
              + ": start one with --numerics " + need.numerics;
  else if (!word.others.empty())
    result += " in its version '" + need.version + "', only '" + word.others
              + "': run the same release or library everywhere";
  else
    result += is_own_workload(need.name)
                ? ": start one without --no-code"
                : ": start one with the library that it is in";
  return result;
}

} // namespace

std::string why_stuck(const pool_view& view, const need_table::entry& entry) {
  return is_stuck(view, entry) ? reason_of(view, entry) : std::string{};
}

std::vector<stuck_workload> stuck_workloads(const pool_view& view) {
  std::vector<stuck_workload> result;
  for (const auto& x : view.needs.all())
    if (auto why = why_stuck(view, x); !why.empty())
      result.push_back({x.need.key, std::move(why)});
  return result;
}

} // namespace hippo
