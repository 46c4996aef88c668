#include "hippo/service/merge/lease_table.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace hippo {

std::size_t stage_index(const lease& lease, step_t at) {
  const auto i = std::find_if(lease.stages.begin(), lease.stages.end(),
                              [&](const stage& s) { return at <= s.end; });
  return i == lease.stages.end()
           ? lease.stages.size() - 1
           : static_cast<std::size_t>(i - lease.stages.begin());
}

const stop_point* running_lease::next_stop() const {
  const auto i = std::ranges::find_if(
    work.stops, [this](const auto& x) { return is_to_report(x.at); });
  return i == work.stops.end() ? nullptr : &*i;
}

lease_table::lease_table(lease_id first) : first_(first), next_(first) {
  assert(number_of(first) > 0);
}

void lease_table::add(trainer_id trainer, std::uint32_t lanes,
                      std::optional<moment> leaves_at, std::string gang_address,
                      std::uint32_t ranks) {
  assert(number_of(trainer) > 0);
  assert(lanes > 0 && ranks > 0);
  assert(!has(trainer));
  auto& added = trainers_[trainer];
  added.lanes.resize(lanes);
  added.leaves_at = leaves_at;
  added.gang_address = std::move(gang_address);
  added.ranks = ranks;
  most_lanes_ = std::max(most_lanes_, lanes);
  most_ranks_ = std::max(most_ranks_, ranks);
  free_.insert(trainer);
  check(trainer);
}

std::vector<running_lease> lease_table::remove(trainer_id trainer_number) {
  assert(has(trainer_number));
  std::vector<running_lease> result;
  for (auto id : leases_of(trainer_number))
    result.push_back(end(id));
  assert(trainer(trainer_number).leases == 0);
  trainers_.erase(trainer_number);
  free_.erase(trainer_number);
  return result;
}

void lease_table::wind_down(trainer_id trainer) {
  assert(has(trainer));
  trainers_.at(trainer).yields = true;
  free_.erase(trainer);
  check(trainer);
}

void lease_table::set_free(trainer_id trainer_number) {
  assert(has(trainer_number));
  assert(trainer(trainer_number).leases < trainer(trainer_number).lanes.size());
  if (!trainer(trainer_number).yields)
    free_.insert(trainer_number);
  check(trainer_number);
}

void lease_table::set_aside(trainer_id trainer) {
  assert(has(trainer));
  free_.erase(trainer);
  check(trainer);
}

std::vector<trainer_id> lease_table::idle_trainers() const {
  std::vector<trainer_id> result;
  for (auto x : free_)
    if (trainer(x).leases == 0)
      result.push_back(x);
  return result;
}

lease_id lease_table::next_id() {
  return std::exchange(next_, lease_id{number_of(next_) + 1});
}

void lease_table::begin(running_lease lease) {
  assert(has(lease.trainer));
  assert(lease.work.lane < trainer(lease.trainer).lanes.size());
  assert(!lease.work.stages.empty());
  assert(lease.speed_keys.size() == lease.work.stages.size());
  assert(lease.id() >= first_ && lease.id() < next_);
  assert(leases_.count(lease.id()) == 0);
  const auto number = lease.trainer;
  auto& trainer = trainers_.at(number);
  auto& lane = trainer.lanes[lease.work.lane];
  assert(!lane.lease);
  assert(!trainer.yields);
  lane = {lease.id(), {}};
  if (lease.is_follower()) {
    assert(leases_.count(lease.work.gang->lead) > 0);
    followers_.emplace(lease.work.gang->lead, lease.id());
  }
  const bool is_alone = !lease.work.gang;
  leases_.emplace(lease.id(), std::move(lease));
  if (++trainer.leases == 1)
    ++at_work_;
  if (trainer.leases == trainer.lanes.size() || !is_alone)
    free_.erase(number);
  check(number);
}

running_lease lease_table::end(lease_id lease_number) {
  assert(followers_of(lease_number).empty());
  auto entry = leases_.extract(lease_number);
  assert(entry);
  auto result = std::move(entry.mapped());
  if (result.is_follower())
    followers_.erase({result.work.gang->lead, lease_number});
  auto& trainer = trainers_.at(result.trainer);
  auto& lane = trainer.lanes[result.work.lane];
  assert(lane.lease == lease_number);
  assert(trainer.leases > 0);
  lane.lease.reset();
  free_.erase(result.trainer);
  if (--trainer.leases == 0) {
    assert(at_work_ > 0);
    --at_work_;
  }
  check(result.trainer);
  return result;
}

void lease_table::count_leases(trainer_id trainer_number, moment now) {
  const auto leases = static_cast<double>(trainer(trainer_number).leases);
  for (auto id : leases_of(trainer_number)) {
    auto& progress = leases_.at(id).progress;
    progress.lease_seconds
      += leases * seconds_between(progress.leases_counted, now);
    progress.leases_counted = now;
  }
}

double lease_table::take_mean_leases(lease_id lease_number, moment now) {
  assert(find(lease_number));
  auto& lease = leases_.at(lease_number);
  count_leases(lease.trainer, now);
  const auto span = seconds_between(lease.progress.reported, now);
  const auto sum = std::exchange(lease.progress.lease_seconds, 0);
  return span > 0 ? std::max(sum / span, 1.0)
                  : static_cast<double>(trainer(lease.trainer).leases);
}

reported_progress& lease_table::progress(lease_id lease) {
  assert(find(lease));
  return leases_.at(lease).progress;
}

void lease_table::set_present(trainer_id trainer_number, std::uint32_t lane,
                              std::string file) {
  assert(has(trainer_number));
  assert(lane < trainer(trainer_number).lanes.size());
  trainers_.at(trainer_number).lanes[lane].present = std::move(file);
}

const running_lease* lease_table::find(lease_id lease) const {
  const auto i = leases_.find(lease);
  return i == leases_.end() ? nullptr : &i->second;
}

const lease_table::trainer_entry&
lease_table::trainer(trainer_id trainer) const {
  assert(has(trainer));
  return trainers_.at(trainer);
}

std::vector<lease_id> lease_table::followers_of(lease_id lead) const {
  std::vector<lease_id> result;
  for (auto i = followers_.lower_bound({lead, lease_id{}});
       i != followers_.end() && i->first == lead; ++i)
    result.push_back(i->second);
  return result;
}

std::vector<lease_id> lease_table::members_of(lease_id lead) const {
  auto result = followers_of(lead);
  result.insert(result.begin(), lead);
  return result;
}

std::vector<lease_id> lease_table::leases_of(trainer_id trainer_number) const {
  std::vector<lease_id> result;
  for (const auto& lane : trainer(trainer_number).lanes)
    if (lane.lease)
      result.push_back(*lane.lease);
  return result;
}

void lease_table::check([[maybe_unused]] trainer_id x) const {
#ifndef NDEBUG
  const auto& entry = trainer(x);
  assert(!entry.lanes.empty() && entry.lanes.size() <= most_lanes_);
  assert(leases_of(x).size() == entry.leases);
  for (std::uint32_t lane = 0; lane < entry.lanes.size(); ++lane)
    if (const auto& id = entry.lanes[lane].lease) {
      const auto* found = find(*id);
      assert(found && found->id() == *id);
      assert(found->trainer == x && found->work.lane == lane);
      const auto& [stages, progress]
        = std::tie(found->work.stages, found->progress);
      assert(progress.saved <= progress.reached);
      assert(progress.reached >= stages.front().begin);
      assert(progress.reached <= stages.back().end);
      assert(!found->work.gang || entry.leases == 1);
    }
  if (free_.count(x) > 0) {
    assert(entry.leases < entry.lanes.size());
    assert(entry.leases == 0 || !find(leases_of(x).front())->work.gang);
    assert(!entry.yields);
  }
#endif
}

void lease_table::check_invariants() const {
#ifndef NDEBUG
  std::size_t leases = 0;
  std::size_t at_work = 0;
  for (const auto& [id, entry] : trainers_) {
    check(id);
    leases += entry.leases;
    at_work += entry.leases > 0 ? 1 : 0;
  }
  assert(leases == leases_.size());
  for (const auto& [lead, follower] : followers_) {
    const auto* first = find(lead);
    const auto* other = find(follower);
    assert(first && other && !first->is_follower());
    assert(first->work.gang && other->work.gang->lead == lead);
    assert(first->work.gang->members == other->work.gang->members);
    assert(first->progress.reached == other->progress.reached);
  }
  assert(at_work == at_work_);
  for (auto id : free_)
    assert(has(id));
#endif
}

} // namespace hippo
