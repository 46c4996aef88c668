#include "hippo/service/pool/trainer_table.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "hippo/service/pool/options.hpp"

namespace hippo {

trainer_id trainer_table::add(pool_trainer trainer, moment now) {
  if (const auto* before = last_gone(trainer.record.name))
    trainer.rest_on(*before, now);
  last_ = trainer_id{number_of(last_) + 1};
  trainer.record.number = number_of(last_);
  all_.emplace(last_, std::move(trainer));
  return last_;
}

std::vector<trainer_record> trainer_table::forget_gone() {
  std::vector<trainer_id> gone;
  for (const auto& [number, x] : all_)
    if (x.gone)
      gone.push_back(number);
  std::vector<trainer_record> result;
  for (std::size_t i = 0; i + gone_trainers_max < gone.size(); ++i)
    result.push_back(std::move(all_.extract(gone[i]).mapped().record));
  return result;
}

pool_trainer* trainer_table::find(trainer_id trainer) {
  const auto i = all_.find(trainer);
  return i == all_.end() ? nullptr : &i->second;
}

const pool_trainer* trainer_table::find(trainer_id trainer) const {
  const auto i = all_.find(trainer);
  return i == all_.end() ? nullptr : &i->second;
}

pool_trainer* trainer_table::find_connected(trainer_id trainer) {
  auto* const found = find(trainer);
  return found == nullptr || found->gone ? nullptr : found;
}

bool trainer_table::any_is_there() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& kvp) { return kvp.second.is_there(); });
}

std::set<std::string> trainer_table::devices() const {
  std::set<std::string> result;
  for (const auto& kvp : all_)
    result.insert(kvp.second.record.device);
  return result;
}

const pool_trainer* trainer_table::last_gone(const std::string& name) const {
  const auto i = std::find_if(all_.rbegin(), all_.rend(), [&](const auto& kvp) {
    return kvp.second.gone && kvp.second.record.name == name;
  });
  return i == all_.rend() ? nullptr : &i->second;
}

bool trainer_table::has_gone(const std::string& name) const {
  return last_gone(name) != nullptr;
}

std::uint64_t trainer_table::idle() const {
  return static_cast<std::uint64_t>(
    std::count_if(all_.begin(), all_.end(), [](const auto& kvp) {
      const auto& x = kvp.second;
      return !x.gone && !x.holder && x.record.stalled.empty()
             && x.ends == lease_id{};
    }));
}

std::map<trainer_id, double> trainer_table::idle_seconds(moment now) const {
  std::map<trainer_id, double> result;
  for (const auto& [number, x] : all_)
    if (!x.gone && x.idle_since)
      result[number] =
        std::chrono::duration<double>(now - *x.idle_since).count();
  return result;
}

std::vector<trainer_record> trainer_table::records(moment until) const {
  std::vector<trainer_record> result;
  result.reserve(all_.size());
  for (const auto& [number, x] : all_) {
    auto& record = result.emplace_back(x.record);
    if (!x.gone)
      x.add_time(until, record);
    record.held_up = x.held_up(until);
    record.seconds_left = x.seconds_left(until);
  }
  return result;
}

void trainer_table::check_invariants() const {
#ifndef NDEBUG
  std::size_t gone = 0;
  for (const auto& [number, x] : all_) {
    assert(number_of(number) == x.record.number);
    assert(number_of(number) >= 1 && number <= last_);
    assert(x.gone || (x.record.lost.empty() && !x.record.left));
    assert(!x.record.left || x.record.lost.empty());
    assert(!x.holder || !x.gone);
    assert(!x.holder || x.ready);
    assert(!x.holder || x.record.stalled.empty());
    assert(x.record.sick.empty() || x.blamed);
    assert(!x.reserved_for || x.holder);
    assert(!x.reserved_for || x.reserved_for != x.holder);
    gone += x.gone;
  }
  assert(gone <= gone_trainers_max);
#endif
}

} // namespace hippo
