#include "hippo/service/pool/pool_core.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <ratio>
#include <set>
#include <string>
#include <utility>

#include "hippo/base/utf8.hpp"

// On which machines trainers are, and what they cost.

namespace hippo {

namespace {

/// Adds a word to an enumeration.
void list(std::string& to, const std::string& x) {
  to += (to.empty() ? "" : ", ") + x;
}

void list_device(std::string& to, const machine_kind& x) {
  list(to, "'" + x.device + "' (" + x.name + ')');
}

/// Says what devices the kinds of a list have.
std::string devices_of(const fleet& x) {
  std::string result;
  for (const auto& kind : x.kinds)
    list_device(result, kind);
  return result;
}

void add(trainers_cost& to, const trainer_record& x) {
  ++to.trainers;
  to.work += cost_of(x.price, x.work_seconds);
  to.idle += cost_of(x.price, x.idle_seconds);
}

} // namespace

/// Finds out on which machine of the list a trainer is, if there is a list. It
/// trains all the same if that is not known.
/// @param said the kind that it gave; empty: none
void pool_core::find_machine(trainer_entry& x, const std::string& said,
                             effects& out) const {
  if (!options_.machines)
    return;
  auto& record = x.record;
  const auto found = kind_of_machine(*options_.machines, said, record.device);
  if (found && *found != nullptr) {
    const auto& kind = **found;
    record.machine = kind.name;
    record.price = kind.trainer_price();
    if (record.notice_seconds == 0)
      record.notice_seconds = kind.notice_seconds;
    x.interruptions = kind.interruptions;
    out.emplace_back(log_line{false, "trainer " + std::to_string(record.number)
                                       + " is on a machine of kind "
                                       + kind.name});
    return;
  }
  record.unpriced = found ? "no kind of machine of the list has its device, '"
                              + excerpt(record.device) + "'; they have "
                              + devices_of(*options_.machines)
                          : found.failure().message;
  out.emplace_back(log_line{true, "what trainer "
                                    + std::to_string(record.number) + " ("
                                    + record.name
                                    + ") costs is not known: "
                                    + record.unpriced});
}

/// Says once which devices of the list no trainer has, when those that are to
/// come have had time to.
void pool_core::look_for_listed_devices(time_point now, effects& out) {
  if (has_looked_for_devices_ || !options_.machines || !first_joined_
      || now - *first_joined_ < listed_devices_after)
    return;
  has_looked_for_devices_ = true;
  std::set<std::string> reported;
  for (const auto& kvp : trainers_)
    reported.insert(kvp.second.record.device);
  std::string missing, known;
  for (const auto& kind : options_.machines->kinds)
    if (std::ranges::none_of(reported, [&](const auto& device) {
          return is_device(kind.device, device);
        }))
      list_device(missing, kind);
  if (missing.empty())
    return;
  for (const auto& device : reported)
    list(known, "'" + device + '\'');
  out.emplace_back(log_line{true, "no trainer reports a device of the list of "
                                  "machines: "
                                    + missing + "; trainers report " + known});
}

/// Mean time until a trainer is interrupted, in seconds: by its machine if that
/// is known, else as it was counted; 0: it is not known.
double pool_core::between_interruptions_of(const trainer_entry& x) const {
  constexpr double hour = 3600;
  if (x.record.machine.empty())
    return seconds_between_interruptions(x.record.device);
  return x.interruptions > 0 ? hour / x.interruptions : 0;
}

void pool_core::lose(trainer_id number, const std::string& why,
                     time_point now, effects& out) {
  auto& x = trainers_.at(number);
  out.emplace_back(log_line{true, "lost trainer "
                                    + to_string(number) + " ("
                                    + x.record.name + "): " + why});
  x.record.lost = why;
  if (!x.leaving)
    ++kinds_.at(x.record.device).interruptions;
  out.emplace_back(dismiss{number});
  // A machine that is interrupted anyway says nothing of what it trained, but
  // where it has gone sooner than by chance.
  const auto hours
    = std::chrono::duration<double, std::ratio<3600>>(now - x.granted).count();
  const bool is_no_wonder = x.leaving || hours * x.interruptions > 0.01;
  part_from(number, x, is_no_wonder ? std::string{} : why, now, out);
  share(now, out);
}

/// Adds the time since the trainer was given work, or has lost it, to what is
/// counted of it.
void pool_core::trainer_entry::add_time(time_point until,
                                        trainer_record& to) const {
  assert(since <= until);
  (holder ? to.work_seconds : to.idle_seconds)
    += std::chrono::duration<double>(until - since).count();
}

/// Counts a trainer's time up to now. Whatever changes whether it has work
/// begins with this.
void pool_core::count_time(trainer_entry& x) const {
  x.add_time(shared_until_, x.record);
  x.since = shared_until_;
}

std::vector<trainer_record>
pool_core::trainers(std::optional<time_point> now) const {
  const auto until = now.value_or(shared_until_);
  assert(until >= shared_until_);
  std::vector<trainer_record> result;
  result.reserve(trainers_.size());
  for (const auto& [number, x] : trainers_) {
    auto& record = result.emplace_back(x.record);
    if (!x.gone)
      x.add_time(until, record);
    record.held_up = x.held_up(until);
  }
  return result;
}

/// Keeps what a trainer has cost that is forgotten next.
void pool_core::keep_cost(const trainer_record& x) {
  if (!x.machine.empty())
    add(forgotten_costs_[x.machine], x);
}

std::vector<trainers_cost>
pool_core::costs(std::optional<time_point> now) const {
  if (!options_.machines)
    return {};
  auto by_kind = forgotten_costs_;
  for (const auto& x : trainers(now))
    if (!x.machine.empty())
      add(by_kind[x.machine], x);
  std::vector<trainers_cost> result;
  for (const auto& kind : options_.machines->kinds)
    if (auto found = by_kind.extract(kind.name)) {
      found.mapped().kind = kind.name;
      found.mapped().price = kind.trainer_price();
      found.mapped().on_each = kind.trainers;
      result.push_back(std::move(found.mapped()));
    }
  return result;
}

} // namespace hippo
