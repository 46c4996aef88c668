#include "hippo/deploy/scale.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "hippo/forecast/machines/machines.hpp"

namespace hippo {

namespace {

using state = listed_trainer::state;

/// Trainers of one process are as long without work as the one that has had
/// some last.
void merge_idle(std::optional<double>& all, std::optional<double> one,
                bool is_first) {
  if (is_first)
    all = one;
  else if (!all || !one)
    all.reset();
  else
    all = std::min(*all, *one);
}

/// Whether a trainer has work, or has had some since it was seen first.
/// @param since when it had none for the first time it was seen
bool has_had_work(std::optional<double>& since, std::optional<double> idle,
                  double now) {
  constexpr double rounding = 1;
  if (!idle)
    return true;
  if (!since)
    since = now - *idle;
  return now - *idle > *since + rounding;
}

/// The name of the process that a trainer is of: what stands before its number.
std::string process_name(const std::string& trainer) {
  const auto end = trainer.find_last_of(':');
  auto result = trainer.substr(0, end);
  // A process that has executed itself anew says how often.
  if (const auto life = result.find('#'); life != std::string::npos)
    result.resize(life);
  return result;
}

std::string seconds_text(double seconds) {
  return std::to_string(static_cast<std::uint64_t>(seconds)) + " s";
}

/// A service of before tells no ranks.
std::uint32_t ranks_of(std::uint32_t told) {
  return std::max(told, 1u);
}

std::uint64_t wanted_of(const work_demand& x) {
  return x.working + x.waiting;
}

} // namespace

std::optional<std::uint64_t> number_in_fleet(const std::string& fleet,
                                             const std::string& name) {
  constexpr std::size_t digits_max = 12;
  if (!name.starts_with(fleet + '-'))
    return std::nullopt;
  const auto digits = name.substr(fleet.size() + 1);
  if (digits.empty() || digits.size() > digits_max || digits[0] == '0'
      || !std::ranges::all_of(digits,
                              [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stoull(digits);
}

fleet_scaler::fleet_scaler(scale_settings settings, scale_journal journal)
  : settings_(std::move(settings)), journal_(std::move(journal)),
    records_(settings_.groups.size()) {
  assert(!settings_.groups.empty());
  assert(settings_.min <= settings_.max);
}

std::vector<scale_order>
fleet_scaler::observe(double now, const demand_view& demand,
                      const std::vector<listed_trainer>& listed) {
  now = std::max(now, now_); // a clock may be set back
  if (now_ > 0 && now > now_ + silence_seconds_max)
    skip_silence(now - now_);
  now_ = now;
  std::vector<scale_order> result;
  take_list(now, listed, result);
  take_connected(now, demand);
  take_refused(now, demand, result);
  end_overdue(now, result);
  end_queued(now, demand, result);
  auto there = supplies(demand);
  const auto missing = divide(demand, there);
  mark_unneeded(now, there);
  end_unneeded(now, result);
  start_missing(now, demand, missing, result);
  check_invariants();
  return result;
}

/// For so long nobody has said who is there: that counts for nothing.
void fleet_scaler::skip_silence(double seconds) {
  for (auto& [name, x] : alive_) {
    x.awaited_since += seconds;
    if (x.queued_since)
      *x.queued_since += seconds;
    x.unneeded_since.reset();
  }
}

// -- what is there ------------------------------------------------------------

void fleet_scaler::take_list(double now,
                             const std::vector<listed_trainer>& listed,
                             std::vector<scale_order>& out) {
  std::set<std::string> seen;
  for (const auto& x : listed) {
    const auto number = number_in_fleet(settings_.fleet, x.name);
    if (!number)
      continue;
    journal_.last = std::max(journal_.last, *number);
    journal_.started_names.erase(x.name);
    if (x.now == state::ended)
      continue;
    const auto group = group_of(x.group);
    if (seen.contains(x.name)) {
      // An engine that does not refuse a name twice has started it twice.
      out.push_back({scale_order::kind::end, x.name, x.group, x.id,
                     "it was started twice"});
      continue;
    }
    seen.insert(x.name);
    const auto [i, is_new] = alive_.try_emplace(x.name);
    auto& known = i->second;
    if (is_new)
      known.has_worked = true;
    if (is_new || x.now != state::running) // its machine has to come first
      known.awaited_since = now;
    if (x.now != state::waiting)
      known.queued_since.reset();
    else if (!known.queued_since)
      known.queued_since = now;
    known.id = x.id;
    known.state = x.now;
    known.group = group.value_or(0);
  }
  forget_lost(now, seen);
}

/// Forgets those that are listed no longer. One that never joined has failed.
void fleet_scaler::forget_lost(double now,
                               const std::set<std::string>& listed) {
  for (auto i = alive_.begin(); i != alive_.end();) {
    const auto& [name, x] = *i;
    const auto begun = journal_.started_names.find(name);
    const bool is_on_its_way =
      begun != journal_.started_names.end()
      && now < begun->second.at + settings_.listing_seconds;
    if (listed.contains(name) || is_on_its_way) {
      ++i;
      continue;
    }
    if (!x.has_joined && !x.told_to_end) {
      fail_start(x.group, now);
      // One that the engine never listed may not have begun.
      if (!x.id.empty() && !refused_.contains(name))
        notes_.push_back(name + " in " + settings_.groups[x.group].name
                         + " ended before it joined the service: its log "
                           "says why");
    }
    if (x.has_joined && !x.has_worked && !x.told_to_end)
      note_useless(x.group, now);
    i = alive_.erase(i);
  }
  // Of the run before.
  for (const auto& [name, x] : journal_.started_names)
    if (now < x.at + settings_.listing_seconds)
      if (const auto group = group_of(x.group)) {
        auto& known = alive_[name];
        known.group = *group;
        known.awaited_since = std::max(known.awaited_since, x.at);
      }
}

void fleet_scaler::take_connected(double now, const demand_view& demand) {
  for (auto& [name, x] : alive_) {
    x.connected = 0;
    x.idle.reset();
  }
  for (const auto& x : demand.connected) {
    const auto found = alive_.find(process_name(x.name));
    if (found == alive_.end())
      continue;
    auto& known = found->second;
    auto& record = records_[known.group];
    merge_idle(known.idle, x.idle_seconds, known.connected == 0);
    ++known.connected;
    if (has_had_work(known.idle_since, x.idle_seconds, now)
        && !std::exchange(known.has_worked, true)) {
      record.useful = true;
      record.without_work.clear();
    }
    known.awaited_since = now;
    record.devices.insert(x.device);
    if (!std::exchange(known.has_joined, true)) {
      record.proven = true;
      record.after_failures.clear();
    }
  }
}

/// A process that the service refuses is of no use, and says why at once.
void fleet_scaler::take_refused(double now, const demand_view& demand,
                                std::vector<scale_order>& out) {
  std::set<std::string> names;
  for (const auto& refused : demand.refused) {
    const auto name = process_name(refused.name);
    if (!number_in_fleet(settings_.fleet, name))
      continue;
    names.insert(name);
    if (!refused_.contains(name))
      notes_.push_back("the service refuses " + name + ": " + refused.reason);
    const auto found = alive_.find(name);
    if (found == alive_.end() || found->second.id.empty()
        || found->second.told_to_end || found->second.connected > 0)
      continue;
    if (!found->second.has_joined)
      fail_start(found->second.group, now);
    end(name, now, "the service refuses it", out);
  }
  refused_ = std::move(names);
}

std::vector<std::string> fleet_scaler::take_notes() {
  return std::exchange(notes_, {});
}

void fleet_scaler::pause::begin(double now) {
  if (until <= now)
    until = now + std::chrono::duration<double>(spans.next()).count();
}

void fleet_scaler::pause::clear() {
  spans.reset();
  until = 0;
}

void fleet_scaler::note_useless(std::size_t group, double now) {
  auto& x = records_[group];
  x.useful = false;
  x.without_work.begin(now);
}

void fleet_scaler::fail_start(std::size_t group, double now) {
  auto& x = records_[group];
  x.proven = std::ranges::any_of(alive_, [&](const auto& kvp) {
    return kvp.second.group == group && kvp.second.connected > 0;
  });
  x.after_failures.begin(now);
}

void fleet_scaler::note_failed_start(const std::string& name, bool certain,
                                     double now) {
  const auto found = journal_.started_names.find(name);
  if (found == journal_.started_names.end())
    return;
  if (const auto group = group_of(found->second.group))
    fail_start(*group, now);
  if (!certain)
    return; // it may be listed yet
  found->second.at = 0;
  alive_.erase(name);
}

std::optional<double> fleet_scaler::paused_until(const std::string& group,
                                                 double now) const {
  const auto i = group_of(group);
  if (!i || records_[*i].after_failures.until <= now)
    return std::nullopt;
  return records_[*i].after_failures.until;
}

// -- dividing it --------------------------------------------------------------

std::vector<fleet_scaler::supply>
fleet_scaler::supplies(const demand_view& demand) const {
  enum : int { at_work, idle, on_its_way };
  std::vector<supply> result;
  for (const auto& x : demand.connected) {
    const auto found = alive_.find(process_name(x.name));
    const bool is_ours = found != alive_.end();
    if (is_ours && found->second.told_to_end)
      continue;
    // Another one is to be there when it leaves.
    if (x.seconds_left && is_ours
        && *x.seconds_left
             <= settings_.groups[found->second.group].start_seconds)
      continue;
    supply one;
    one.name = is_ours ? found->first : std::string{};
    one.device = x.device;
    one.ranks = ranks_of(x.ranks);
    if (is_ours)
      one.group = found->second.group;
    one.rank = x.idle_seconds ? idle : at_work;
    one.idle = x.idle_seconds.value_or(0);
    result.push_back(std::move(one));
  }
  for (const auto& [name, x] : alive_) {
    const auto all = settings_.groups[x.group].trainers;
    if (x.told_to_end || x.connected >= all)
      continue;
    supply rest;
    rest.name = name;
    rest.group = x.group;
    rest.trainers = all - x.connected;
    rest.ranks = settings_.groups[x.group].ranks;
    rest.rank = on_its_way;
    result.push_back(std::move(rest));
  }
  std::ranges::stable_sort(result, [](const supply& x, const supply& y) {
    return std::pair{x.rank, x.idle} < std::pair{y.rank, y.idle};
  });
  return result;
}

bool fleet_scaler::can_train(std::optional<std::size_t> group,
                             const std::string& device, std::uint32_t ranks,
                             const work_demand& x) const {
  if (ranks != ranks_of(x.ranks))
    return false;
  std::set<std::string> known;
  if (!device.empty())
    known.insert(device);
  else if (group)
    known = records_[*group].devices;
  const auto accepts = [&](const std::string& kind) {
    return std::ranges::find(x.unfit, kind) == x.unfit.end()
           && (x.kinds.empty()
               || std::ranges::find(x.kinds, kind) != x.kinds.end());
  };
  if (!known.empty())
    return std::ranges::any_of(known, accepts);
  const auto& words = group ? settings_.groups[*group].device : std::string{};
  if (words.empty()) // it shows when one has joined
    return true;
  const auto is_it = [&](const std::string& kind) {
    return is_device(words, kind);
  };
  return std::ranges::none_of(x.unfit, is_it)
         && (x.kinds.empty() || std::ranges::any_of(x.kinds, is_it));
}

std::vector<std::uint64_t>
fleet_scaler::divide(const demand_view& demand,
                     std::vector<supply>& from) const {
  // Those that accept few kinds choose first.
  std::vector<std::size_t> order(demand.work.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  const auto kinds = [&](std::size_t i) {
    const auto n = demand.work[i].kinds.size();
    return n == 0 ? std::numeric_limits<std::size_t>::max() : n;
  };
  std::ranges::stable_sort(order, {}, kinds);
  std::vector<std::uint64_t> missing(demand.work.size());
  for (const auto i : order) {
    const auto& part = demand.work[i];
    auto& open = missing[i] = wanted_of(part);
    for (auto& x : from) {
      if (open == 0)
        break;
      if (x.trainers == 0 || !can_train(x.group, x.device, x.ranks, part))
        continue;
      const auto taken = std::min(open, x.trainers);
      x.trainers -= taken;
      open -= taken;
    }
  }
  return missing;
}

// -- ending -------------------------------------------------------------------

/// A process is needed if any of its trainers is.
void fleet_scaler::mark_unneeded(double now, const std::vector<supply>& left) {
  std::map<std::string, std::uint64_t> spare;
  for (const auto& x : left)
    if (!x.name.empty())
      spare[x.name] += x.trainers;
  for (auto& [name, x] : alive_) {
    const bool is_needed = spare[name] < settings_.groups[x.group].trainers;
    if (is_needed)
      x.unneeded_since.reset();
    else if (!x.unneeded_since)
      x.unneeded_since = now;
  }
}

void fleet_scaler::end(const std::string& name, double now, std::string why,
                       std::vector<scale_order>& out) {
  auto& x = alive_.at(name);
  assert(!x.id.empty());
  x.told_to_end = now;
  out.push_back({scale_order::kind::end, name, settings_.groups[x.group].name,
                 x.id, std::move(why)});
}

/// Ends those that run and never joined, and once more those that were told to
/// end and have not.
void fleet_scaler::end_overdue(double now, std::vector<scale_order>& out) {
  for (const auto& [name, x] : alive_) {
    if (x.id.empty())
      continue;
    if (x.told_to_end) {
      if (now >= *x.told_to_end + settings_.end_seconds)
        end(name, now,
            "it has not ended within " + seconds_text(settings_.end_seconds),
            out);
      continue;
    }
    if (x.state != state::running || x.connected > 0
        || now < x.awaited_since + settings_.join_seconds)
      continue;
    if (!x.has_joined)
      fail_start(x.group, now);
    end(name, now,
        std::string{x.has_joined ? "it has been away from the service for "
                                 : "it has not joined within "}
          + seconds_text(settings_.join_seconds),
        out);
  }
}

bool fleet_scaler::has_alternative(std::size_t group, double now,
                                   const demand_view& demand) const {
  for (std::size_t i = 0; i < settings_.groups.size(); ++i)
    if (i != group && records_[i].after_failures.until <= now && has_room(i)
        && std::ranges::any_of(demand.work, [&](const work_demand& x) {
             return can_train(i, {}, settings_.groups[i].ranks, x);
           }))
      return true;
  return false;
}

/// Ends those that have waited long for a machine, so that another group can
/// have them: theirs is as after a start that failed.
void fleet_scaler::end_queued(double now, const demand_view& demand,
                              std::vector<scale_order>& out) {
  for (const auto& [name, x] : alive_) {
    if (!x.queued_since || x.told_to_end || x.id.empty()
        || now < *x.queued_since + settings_.queue_seconds
        || !has_alternative(x.group, now, demand))
      continue;
    fail_start(x.group, now);
    end(name, now,
        "it has waited for a machine for "
          + seconds_text(now - *x.queued_since),
        out);
  }
}

void fleet_scaler::end_unneeded(double now, std::vector<scale_order>& out) {
  std::vector<std::string> names;
  for (const auto& [name, x] : alive_) {
    if (x.told_to_end || x.id.empty() || !x.unneeded_since)
      continue;
    // One that runs and has yet to join may be given work when it does.
    const bool waits = x.state == state::waiting
                       && now >= *x.unneeded_since + settings_.idle_seconds;
    const bool is_idle =
      x.connected > 0 && x.idle && *x.idle >= settings_.idle_seconds;
    if (waits || is_idle)
      names.push_back(name);
  }
  // The dearest first, then the ones that came last.
  std::ranges::stable_sort(names, [&](const auto& a, const auto& b) {
    const auto key = [&](const std::string& name) {
      const auto& group = settings_.groups[alive_.at(name).group];
      return std::pair{-group.price.value_or(0),
                       -static_cast<std::int64_t>(
                         number_in_fleet(settings_.fleet, name).value_or(0))};
    };
    return key(a) < key(b);
  });
  auto left = trainers_staying();
  for (const auto& name : names) {
    const auto& x = alive_.at(name);
    const auto those = settings_.groups[x.group].trainers;
    if (left < settings_.min + those)
      continue;
    left -= those;
    if (x.connected > 0 && !x.has_worked)
      note_useless(x.group, now);
    end(name, now,
        x.state == state::waiting
          ? "nothing waits for it any more"
          : "it has had no work for " + seconds_text(*x.idle),
        out);
  }
}

// -- starting -----------------------------------------------------------------

std::vector<std::size_t> fleet_scaler::groups_for(const work_demand& x) const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < settings_.groups.size(); ++i)
    if (can_train(i, {}, settings_.groups[i].ranks, x))
      result.push_back(i);
  const auto key = [&](std::size_t i) {
    const auto& group = settings_.groups[i];
    const auto work = x.seconds.value_or(0);
    // One that comes when the work is done anyway, or too late for the
    // deadline, is taken if there is no other.
    const bool is_late =
      (x.seconds && group.start_seconds > work)
      || (x.deadline_seconds
          && group.start_seconds + work > *x.deadline_seconds);
    return std::pair{is_late, group.price.value_or(0)};
  };
  std::ranges::stable_sort(result, {}, key);
  return result;
}

bool fleet_scaler::has_room(std::size_t group) const {
  const auto& most = settings_.groups[group].processes_max;
  return !most || processes_of(group) < *most;
}

bool fleet_scaler::may_start(std::size_t group, double now) const {
  const auto& record = records_[group];
  if (record.after_failures.until > now || !has_room(group)
      || trainers_alive() + settings_.groups[group].trainers > settings_.max)
    return false;
  if (record.proven)
    return true;
  return std::ranges::none_of(alive_, [&](const auto& kvp) {
    return kvp.second.group == group && !kvp.second.has_joined
           && !kvp.second.told_to_end;
  });
}

bool fleet_scaler::may_be_useful(std::size_t group, double now) const {
  const auto& record = records_[group];
  if (record.useful)
    return true;
  return record.without_work.until <= now
         && std::ranges::none_of(alive_, [&](const auto& kvp) {
              return kvp.second.group == group && !kvp.second.has_worked
                     && !kvp.second.told_to_end;
            });
}

std::string fleet_scaler::name_for(std::size_t group, double now) {
  const auto& of = settings_.groups[group].name;
  for (auto& [name, x] : journal_.started_names)
    if (x.group == of && !alive_.contains(name)
        && now >= x.at + settings_.listing_seconds) {
      x.at = now;
      return name;
    }
  const auto name = settings_.fleet + '-' + std::to_string(++journal_.last);
  journal_.started_names[name] = {of, now};
  return name;
}

void fleet_scaler::start_missing(double now, const demand_view& demand,
                                 const std::vector<std::uint64_t>& missing,
                                 std::vector<scale_order>& out) {
  std::size_t count = 0;
  const auto start = [&](std::size_t group, std::string why) {
    const auto name = name_for(group, now);
    auto& x = alive_[name];
    x.group = group;
    x.awaited_since = now;
    out.push_back({scale_order::kind::start,
                   name,
                   settings_.groups[group].name,
                   {},
                   std::move(why)});
    return ++count;
  };
  for (std::size_t i = 0; i < missing.size(); ++i) {
    auto open = missing[i];
    for (const auto group : groups_for(demand.work[i]))
      while (open > 0 && count < starts_at_once_max && may_start(group, now)
             && may_be_useful(group, now)) {
        start(group, std::to_string(wanted_of(demand.work[i]))
                       + " trainers could work, " + std::to_string(open)
                       + " are missing");
        open -= std::min(open, settings_.groups[group].trainers);
      }
  }
  std::vector<std::size_t> groups(settings_.groups.size());
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  std::ranges::stable_sort(groups, {}, [this](std::size_t i) {
    return settings_.groups[i].price.value_or(0);
  });
  for (const auto group : groups)
    while (trainers_staying() < settings_.min && count < starts_at_once_max
           && may_start(group, now))
      start(group, "there are always " + std::to_string(settings_.min));
}

// -- looking ------------------------------------------------------------------

/// Those that were told to end count until they are gone.
std::uint64_t fleet_scaler::trainers_alive() const {
  std::uint64_t result = 0;
  for (const auto& [name, x] : alive_)
    result += settings_.groups[x.group].trainers;
  return result;
}

std::uint64_t fleet_scaler::trainers_staying() const {
  std::uint64_t result = 0;
  for (const auto& [name, x] : alive_)
    if (!x.told_to_end)
      result += settings_.groups[x.group].trainers;
  return result;
}

std::uint64_t fleet_scaler::processes_of(std::size_t group) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
    alive_, [&](const auto& kvp) { return kvp.second.group == group; }));
}

std::optional<std::size_t>
fleet_scaler::group_of(const std::string& name) const {
  const auto found =
    std::ranges::find(settings_.groups, name, &scale_group::name);
  if (found == settings_.groups.end())
    return std::nullopt;
  return static_cast<std::size_t>(found - settings_.groups.begin());
}

void fleet_scaler::check_invariants() const {
#ifndef NDEBUG
  for (const auto& [name, x] : alive_) {
    const auto number = number_in_fleet(settings_.fleet, name);
    assert(number && *number <= journal_.last);
    assert(x.group < settings_.groups.size());
    assert(!x.id.empty() || journal_.started_names.contains(name));
    assert(!x.told_to_end || !x.id.empty());
  }
  for (const auto& [name, x] : journal_.started_names)
    assert(number_in_fleet(settings_.fleet, name));
#endif
}

} // namespace hippo
