#include "hippo/service/merge/gangs.hpp"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <queue>
#include <utility>

#include "hippo/model/code/sha256.hpp"

namespace hippo {

namespace {

/// How often paths that gain too little are left out before those are left as
/// they are.
constexpr int rounds_max = 8;

/// Returns how many seconds of device time each second may cost by which all is
/// done sooner: the time of a fifth of the idle trainers, or of one.
double price_of_second(std::uint64_t idle) {
  return std::max(1.0, static_cast<double>(idle) / 5);
}

/// Divides idle trainers among paths, whatever each gains.
/// @param members that each has
/// @param open whether each may have more
std::vector<unsigned> lower_floor(const std::vector<gang_candidate>& all,
                                  std::vector<unsigned> members, unsigned most,
                                  std::uint64_t idle, double floor,
                                  const std::vector<bool>& open) {
  // The longest first; of equal ones, the first.
  using entry = std::pair<double, std::size_t>;
  const auto is_shorter = [](const entry& x, const entry& y) {
    return x.first != y.first ? x.first < y.first : x.second > y.second;
  };
  std::priority_queue<entry, std::vector<entry>, decltype(is_shorter)> next(
    is_shorter);
  for (std::size_t i = 0; i < all.size(); ++i)
    next.emplace(all[i].left / all[i].speedup(members[i]), i);
  // Members that have not made all end sooner may do so with further ones.
  auto result = members;
  auto before = next.empty() ? 0 : next.top().first;
  auto price = price_of_second(idle);
  double cost = 0;
  while (!next.empty() && next.top().first > floor) {
    const auto [slow, i] = next.top();
    next.pop();
    const auto& x = all[i];
    const auto now = members[i];
    const auto speedup = x.speedup(2 * now);
    if (!open[i] || 2 * now > most || now > idle
        || speedup < efficiency_min * 2 * now)
      break;
    const auto fast = x.left / speedup;
    cost += now * (2 * fast - slow);
    idle -= now;
    members[i] = 2 * now;
    next.emplace(fast, i);
    const auto after = std::max(next.top().first, floor);
    if (after >= before || cost > price * (before - after))
      continue;
    result = members;
    before = after;
    price = price_of_second(idle);
    cost = 0;
  }
  return result;
}

/// Divides idle trainers among paths. One that would gain too little keeps the
/// members that it has.
/// @param members that each has before
std::vector<unsigned> divide(const std::vector<gang_candidate>& all,
                             const std::vector<unsigned>& members,
                             unsigned most, std::uint64_t idle, double floor) {
  auto begin = members;
  std::vector<bool> open(all.size(), true);
  for (int round = 0;; ++round) {
    auto result = lower_floor(all, begin, most, idle, floor, open);
    bool is_done = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& x = all[i];
      const auto gain =
        x.own / x.speedup(x.members) - x.own / x.speedup(result[i]);
      if (result[i] <= x.members || (gain > 0 && gain >= x.least_gain))
        continue;
      open[i] = is_done = false;
      result[i] = x.members;
      idle -= x.members - begin[i];
      begin[i] = x.members;
    }
    if (is_done || round == rounds_max)
      return result;
  }
}

/// Returns when all is done, in seconds.
double end_of(const std::vector<gang_candidate>& all,
              const std::vector<unsigned>& members, double floor) {
  for (std::size_t i = 0; i < all.size(); ++i)
    floor = std::max(floor, all[i].left / all[i].speedup(members[i]));
  return floor;
}

} // namespace

std::vector<unsigned> choose_members(const std::vector<gang_candidate>& all,
                                     unsigned most, std::uint64_t idle,
                                     double floor) {
  std::vector<unsigned> members;
  std::uint64_t followers = 0;
  for (const auto& x : all) {
    members.push_back(x.members);
    followers += x.members - 1;
  }
  auto grown = divide(all, members, most, idle, floor);
  if (followers == 0 || idle == UINT64_MAX)
    return grown;
  const std::vector<unsigned> alone(all.size(), 1);
  auto anew = divide(all, alone, most, idle + followers, floor);
  double least_gain = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (anew[i] != members[i])
      least_gain = std::max(least_gain, all[i].least_gain);
  return end_of(all, grown, floor) - end_of(all, anew, floor) > least_gain
           ? anew
           : grown;
}

void gang_losses::note_lost(node_id node, std::optional<trainer_id> culprit,
                            const std::string& why) {
  ++nodes_[node];
  if (!culprit)
    return;
  auto& x = trainers_[*culprit];
  ++x.gangs;
  x.why = why;
}

std::string gang_losses::reason(trainer_id trainer) const {
  const auto i = trainers_.find(trainer);
  return i == trainers_.end() ? std::string{} : i->second.why;
}

bool gang_losses::may_join(trainer_id trainer) const {
  const auto i = trainers_.find(trainer);
  return i == trainers_.end() || i->second.gangs < losses_max;
}

bool gang_losses::may_share(const std::vector<stage>& stages) const {
  return std::ranges::none_of(stages, [this](const stage& x) {
    const auto i = nodes_.find(x.node);
    return i != nodes_.end() && i->second >= losses_max;
  });
}

std::optional<std::size_t> named_member(const gang_place& gang,
                                        const std::string& message) {
  for (std::size_t rank = 0; rank < gang.members.size(); ++rank) {
    const auto& address = gang.members[rank];
    const auto at = message.find(address);
    if (at == std::string::npos)
      continue;
    const auto end = at + address.size(); // else it is of a longer port
    if (end == message.size()
        || std::isdigit(static_cast<unsigned char>(message[end])) == 0)
      return rank;
  }
  return std::nullopt;
}

std::string gang_secret(const std::string& key, lease_id lead) {
  assert(!key.empty());
  return sha256_of(key + '/' + to_string(lead));
}

bool may_share(const merge_view& view, const gang_losses& lost,
               const std::vector<stage>& stages) {
  return lost.may_share(stages) && !view.retries.is_suspect(stages);
}

bool may_join(const merge_view& view, const gang_losses& lost,
              trainer_id trainer) {
  const auto& x = view.leases.trainer(trainer);
  return !x.gang_address.empty() && !x.yields && lost.may_join(trainer);
}

bool may_help(const merge_view& view, trainer_id trainer,
              const std::vector<stage>& stages,
              const settings_table::settings& by, double seconds) {
  const auto& leaves_at = view.leases.trainer(trainer).leaves_at;
  const path what{{}, stages};
  return (!leaves_at
          || seconds_between(view.ledger.advanced_to(), *leaves_at) > seconds)
         && view.kinds.may_train(trainer, what)
         && !view.retries.is_left_to_others(
           trainer, what, by,
           [&](trainer_id y) { return view.kinds.may_train(y, what); });
}

std::function<double(unsigned)> speedup_of(const merge_view& view,
                                           const std::string* kind,
                                           const std::string& key) {
  return [estimates = &view.estimates, kind, key](unsigned members) {
    return estimates->speedup(kind, key, members);
  };
}

std::map<std::string, gang_group> gang_groups(const merge_view& view,
                                              const gang_losses& lost,
                                              double least_gain) {
  std::map<std::string, gang_group> result;
  for (const auto& [id, x] : view.leases.leases()) {
    const auto& progress = x.progress;
    const auto* kind = view.kinds.kind_of_trainer(x.trainer);
    if (x.is_follower() || x.is_told() || progress.is_cancelled
        || progress.broken || view.leases.trainer(x.trainer).leases > 1
        || !may_join(view, lost, x.trainer)
        || !may_share(view, lost, x.work.stages))
      continue;
    assert(kind);
    const auto from = std::max(progress.reached, progress.heartbeat_at);
    auto& group = result[*kind];
    group.leases.push_back(id);
    group.candidates.push_back(
      {view.chooser.seconds_left(x.work.stages, from),
       training_seconds(view, x.work.stages, from), x.members(), least_gain,
       speedup_of(view, kind, x.speed_keys[stage_index(x.work, from + 1)])});
  }
  return result;
}

} // namespace hippo
