#include "simulation/hash_training.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/model/workload_seed.hpp"
#include "simulation/study_texts.hpp"

namespace hippo::simulation {

using namespace std::chrono_literals;

namespace {

/// As the service's limits of a stall are here, not six hours.
call_limits limits_here() {
  call_limits result;
  result.usual_min = 40s;
  result.unknown_max = 80s;
  return result;
}

} // namespace

hash_state hash_state::initial(const std::string& workload_key) {
  return {hash_bytes(workload_key.data(), workload_key.size()), 0};
}

void hash_state::step(std::uint64_t config) {
  const std::uint64_t words[] = {value, config, at++};
  value = hash_bytes(words, sizeof words);
}

double hash_state::measured() const {
  return static_cast<double>(value >> 12) * 0x1p-52;
}

flaw hash_state::wrong() const {
  flaw result;
  const auto h = value / 4096;
  if (h % 19 != 0)
    return result;
  result.call = static_cast<flawed_call>(
    h / 32 % static_cast<std::uint64_t>(flawed_call::none));
  result.how = static_cast<flawed_way>(h / 1024 % 4);
  result.is_everywhere = h / 8192 % 3 > 0;
  result.of_three = h / 65536 % 3;
  using effect = call_watch::effect;
  result.ends_with = std::array{effect::nothing, effect::terminate,
                                effect::kill}[h / 262144 % 3];
  return result;
}

std::uint64_t hash_of(const configuration& params) {
  const auto text = to_text(params);
  return hash_bytes(text.data(), text.size());
}

// -- gangs --------------------------------------------------------------------

void gang_room::enter(const gang_place& gang, const hash_engine& device) {
  all_[gang.secret].there.emplace(gang.rank, &device);
}

void gang_room::leave(const gang_place& gang, bool has_ended) {
  auto& x = all_[gang.secret];
  x.there.erase(gang.rank);
  x.is_broken = true;
  x.has_ended = x.has_ended || has_ended;
}

bool gang_room::is_whole(const gang_place& gang) const {
  const auto i = all_.find(gang.secret);
  return i != all_.end() && i->second.there.size() == gang.members.size()
         && std::ranges::all_of(i->second.there, [](const auto& kvp) {
              return kvp.second->responds();
            });
}

bool gang_room::is_broken(const gang_place& gang) const {
  const auto i = all_.find(gang.secret);
  return i != all_.end() && i->second.is_broken;
}

bool gang_room::has_ended(const gang_place& gang) const {
  const auto i = all_.find(gang.secret);
  return i != all_.end() && i->second.has_ended;
}

/// Whether a lease of a gang cannot go on now. It is ended if it never will.
bool hash_engine::is_held_up(job& work) {
  const auto& gang = *work.work.gang;
  const auto now = where_.timeline->now();
  const auto number = work.work.number;
  if (!where_.gangs->is_broken(gang) && where_.gangs->is_whole(gang)) {
    work.unanswered_since.reset();
    if (!std::exchange(work.is_joined, true))
      work.since = now;
    return false;
  }
  if (!work.unanswered_since)
    work.unanswered_since = now;
  if (where_.gangs->is_broken(gang) || now - *work.unanswered_since > 30s)
    end(number, error{errc::gang_lost, "lost a member"});
  else
    work.next =
      where_.timeline->schedule_at(now + 1s, [this, number] { go_on(number); });
  return true;
}

/// Behaves as a member that is not the lead.
void hash_engine::follow(job& work) {
  const auto number = work.work.number;
  if (where_.gangs->has_ended(*work.work.gang)) {
    end(number, {});
    return;
  }
  if (!is_held_up(work))
    work.next = where_.timeline->schedule_at(where_.timeline->now() + 1s,
                                             [this, number] { go_on(number); });
}

// -- leases -------------------------------------------------------------------

hash_engine::~hash_engine() {
  for (auto& [number, x] : jobs_) {
    if (x.next)
      where_.timeline->cancel(*x.next);
    if (x.work.gang)
      where_.gangs->leave(*x.work.gang, false);
  }
}

void hash_engine::start(const lease& lease, engine_sink sink) {
  for (const auto& [number, y] : jobs_)
    if (y.work.lane == lease.lane
        || key_of(without_seed(y.work.workload))
             != key_of(without_seed(lease.workload)))
      where_.complain("a lease starts beside one that excludes it");
  if (is_stuck_)
    where_.complain("a lease starts on a device that is stuck");
  if (lease.lane >= where_.at_once)
    where_.complain("a lease is for a lane that is not there");
  const auto members = lease.gang ? lease.gang->members.size() : 1;
  if (const auto ranks = ranks_of(lease.workload);
      where_.ranks * (ranks > 1 ? members : 1) != ranks)
    where_.complain("a lease has not the ranks that it needs");
  job next;
  next.work = lease;
  next.sink = std::move(sink);
  next.since = where_.timeline->now() + 50ms;
  next.step = where_.step * (sick.is_slow ? 10 : 1);
  if (lease.gang) {
    next.step /= static_cast<std::int64_t>(lease.gang->members.size());
    where_.gangs->enter(*lease.gang, *this);
    if (lease.gang->members[lease.gang->rank]
        != "host" + std::to_string(where_.number) + ":1")
      where_.complain("a member of a gang has another one's place");
  }
  next.state = hash_state::initial(key_of(lease.workload));
  next.calls = call_watch{limits_here()};
  const auto [i, is_new] = jobs_.emplace(lease.number, std::move(next));
  if (!is_new)
    where_.complain("a lease starts twice");
  schedule(i->second);
}

void hash_engine::add_stop(lease_id lease, const stop_point& stop) {
  const auto found = jobs_.find(lease);
  if (found == jobs_.end())
    return;
  auto& x = found->second;
  if (follows(x)) {
    if (stop.last)
      end(lease, {}); // its trainer leaves
    return;
  }
  if (stop.last)
    x.calls.wind_down(where_.timeline->now());
  if (x.hangs_until) {
    schedule(x); // whether or not it would ever come there
    return;
  }
  auto point = stop;
  const auto passed = reached(x) + 1;
  if (point.last)
    point.at = std::max(point.at, passed);
  auto& stops = x.work.stops;
  if (point.at < passed || point.at > stops.back().at)
    return;
  auto i = std::find_if(stops.begin(), stops.end(),
                        [&](const auto& y) { return y.at >= point.at; });
  if (i - stops.begin() < static_cast<std::ptrdiff_t>(x.next_stop))
    return;
  if (i->at == point.at) {
    i->evaluate |= point.evaluate;
    i->save |= point.save;
  } else {
    i = stops.insert(i, point);
  }
  if (point.last)
    stops.erase(i + 1, stops.end());
  schedule(x);
}

void hash_engine::cancel(lease_id lease) {
  if (const auto i = jobs_.find(lease); i != jobs_.end()) {
    i->second.cancelled = true;
    i->second.calls.cancel(where_.timeline->now());
    if (i->second.hangs_until && !i->second.awaited_since)
      i->second.awaited_since = where_.timeline->now();
    schedule(i->second);
  }
}

std::chrono::milliseconds hash_engine::overdue(lease_id lease) const {
  const auto i = jobs_.find(lease);
  if (i == jobs_.end())
    return {};
  return std::chrono::ceil<std::chrono::milliseconds>(
    i->second.calls.overdue(where_.timeline->now()));
}

virtual_timeline::duration hash_engine::unreturned() const {
  virtual_timeline::duration result{};
  if (!frozen_)
    for (const auto& [number, x] : jobs_)
      if (x.awaited_since)
        result = std::max(result,
                          where_.timeline->now() - *x.awaited_since);
  return result;
}

step_t hash_engine::reached(lease_id lease) const {
  const auto i = jobs_.find(lease);
  return i == jobs_.end() ? 0 : reached(i->second);
}

step_t hash_engine::reached(const job& work) const {
  const auto begin = std::max(work.state.at, work.work.stages.front().begin);
  const auto now = where_.timeline->now();
  if (!work.is_loaded || sick.stands_still() || work.is_silent
      || (work.work.gang && (!work.is_joined || follows(work)))
      || work.hangs_until || now <= work.since
      || work.next_stop >= work.work.stops.size())
    return begin;
  const auto steps = static_cast<step_t>((now - work.since) / work.step);
  return std::min(begin + steps, work.work.stops[work.next_stop].at);
}

void hash_engine::freeze(bool frozen) {
  if (std::exchange(frozen_, frozen) && !frozen)
    for (auto& [number, x] : jobs_)
      if (x.awaited_since) // whoever watches it stood still as well
        x.awaited_since = where_.timeline->now();
  for (auto& [number, x] : jobs_)
    schedule(x);
}

/// Decides when the next thing of a lease happens.
void hash_engine::schedule(job& work) {
  if (work.is_silent)
    return; // whatever is asked of it
  if (work.next)
    where_.timeline->cancel(*work.next);
  work.next.reset();
  if (frozen_)
    return;
  if (work.hangs_until) {
    if (const auto due =
          work.calls.due(*work.hangs_until != call_watch::effect::nothing))
      work.next = where_.timeline->schedule_at(
        std::max<virtual_timeline::duration>(*due, where_.timeline->now()),
        [this, number = work.work.number] { look(number); });
    return;
  }
  if (sick.stands_still())
    return;
  if (!work.is_loaded || (work.work.gang && !work.is_joined) || follows(work)) {
    work.next = where_.timeline->schedule_at(
      std::max(work.since, where_.timeline->now()),
      [this, number = work.work.number] { go_on(number); });
    return;
  }
  const auto begin = std::max(work.state.at, work.work.stages.front().begin);
  const auto to =
    work.cancelled ? reached(work) + 1 : work.work.stops[work.next_stop].at;
  const auto steps
    = static_cast<std::int64_t>(to > begin ? to - begin : 0);
  work.next = where_.timeline->schedule_at(
    std::max(work.since + work.step * steps, where_.timeline->now()),
    [this, number = work.work.number] { go_on(number); });
}

void hash_engine::go_on(lease_id number) {
  auto& x = jobs_.at(number);
  x.next.reset();
  if (follows(x) && x.cancelled) {
    end(number, error{errc::cancelled, "cancelled"});
    return;
  }
  if (!may_run(x.work.workload)) {
    end(number, error{errc::training_failed, "it was silent for too long"});
    return;
  }
  if (sick.hands_back || sick.does_nothing) {
    where_.note_fruitless(x.work, x.work.stops.at(x.next_stop));
    end(number, sick.does_nothing
                  ? std::nullopt
                  : std::optional{error{errc::cancelled, "not wanted"}});
    return;
  }
  if (sick.dupes && !x.is_loaded) {
    dupe(x);
    return;
  }
  if (sick.cannot_train) {
    end(number, error{errc::training_failed, "no module named 'torch'"});
    return;
  }
  if (sick.cannot_start && !x.is_loaded) {
    end(number, error{errc::cannot_start, "no module named 'torch'"});
    return;
  }
  const auto& file = x.work.start.file;
  const auto begin = x.work.stages.front().begin;
  if (x.state.at < begin) {
    const auto path = x.work.folder + '/' + file;
    const auto found = where_.folder->find(path);
    if (file.empty() || sick.cannot_load || found == where_.folder->end()
        || !std::filesystem::exists(path)) {
      if (!sick.cannot_load && !where_.has_dupes && where_.is_wanted(x.work))
        where_.complain("a lease starts from " + path
                        + ", which is not there");
      end(number, error{errc::bad_checkpoint, "cannot read " + path});
      return;
    }
    x.state = found->second;
    if (x.state.at != begin)
      where_.complain("a lease starts from a state of another step");
    for (const auto& y : x.work.start.part_files)
      if (!std::filesystem::exists(x.work.folder + '/' + y.file)) {
        if (where_.is_wanted(x.work))
          where_.complain("a lease starts from " + path + ", but " + y.file
                          + ", which has parts of it, is not there");
        end(number, error{errc::bad_checkpoint, "cannot read " + path});
        return;
      }
  }
  if (follows(x)) {
    follow(x);
    return;
  }
  if (!x.is_loaded
      && fails(x, file.empty() ? flawed_call::init : flawed_call::load,
               x.state))
    return;
  if (!std::exchange(x.is_loaded, true)) {
    schedule(x);
    return;
  }
  if (x.cancelled) {
    end(number, error{errc::cancelled, "cancelled"});
    return;
  }
  if (x.work.gang && !x.is_joined) {
    if (!is_held_up(x))
      schedule(x);
    return;
  }
  if (x.work.gang && is_held_up(x))
    return;
  pass_stop(x, x.work.stops.at(x.next_stop));
}

/// Says that it has saved what it is to save first, which it has not, and ends
/// the lease.
void hash_engine::dupe(job& work) {
  const auto number = work.work.number;
  const auto& stop = work.work.stops.front();
  where_.note_fruitless(work.work, stop);
  if (stop.save && !stop.evaluate) {
    const auto* where = stage_reaching(work.work, stop.at);
    stop_report lie;
    lie.lease = number;
    lie.at = stop.at;
    lie.device = "sim";
    lie.saved = checkpoint{
      checkpoint_name(where ? where->node : root_node, stop.at, number), 1, 1};
    work.sink(lie);
  }
  end(number, error{errc::cancelled, "gone"});
}

/// Chooses the checkpoints that have parts of the present state.
std::vector<part_file> hash_engine::shared_parts(const job& work) {
  std::set<part_file> result;
  auto chance = work.state.value;
  for (const auto* x : {&work.work.base, &work.work.start, &work.written}) {
    chance /= 3;
    if (x->table_bytes > 0 && chance % 3 == 0)
      result.insert({x->file, x->bytes, x->digest});
  }
  return {result.begin(), result.end()};
}

void hash_engine::pass_stop(job& work, const stop_point& stop) {
  const auto number = work.work.number;
  stop_report report;
  report.lease = number;
  report.at = stop.at;
  report.device = "sim";
  for (const auto& y : work.work.stages) {
    const auto config = hash_of(y.config);
    while (work.state.at >= y.begin
           && work.state.at < std::min(y.end, stop.at)) {
      work.state.step(config);
      ++trained;
      ++report.trained_steps;
      if (where_.has_poison && work.state.is_poisoned()) {
        --work.state.at; // that step was not taken
        end(number, error{errc::training_failed, "poisoned"});
        return;
      }
      if (fails(work, flawed_call::train, work.state))
        return;
    }
  }
  report.train_ns =
    report.trained_steps * static_cast<std::uint64_t>(work.step.count());
  if (fails(work, flawed_call::size, work.state)
      || (stop.evaluate && fails(work, flawed_call::evaluate, work.state)))
    return;
  if (stop.evaluate)
    report.values = {{"value", work.state.measured()}};
  if (stop.evaluate
      && (sick.measures_nan
          || (where_.has_poison && work.state.is_diverged()))) {
    report.values.clear();
    work.sink(report);
    end(number, error{errc::diverged, "value is not finite"});
    return;
  }
  if (stop.save && sick.cannot_save) {
    end(number, error{errc::io_failed, "no space left on device"});
    return;
  }
  if ((stop.save && fails(work, flawed_call::save, work.state))
      || fails(work, flawed_call::output, work.state))
    return;
  if (stop.save) {
    const auto* where = stage_reaching(work.work, stop.at);
    const auto name
      = checkpoint_name(where ? where->node : root_node, stop.at, number);
    const auto path = work.work.folder + '/' + name;
    where_.folder->insert_or_assign(path, work.state);
    std::ofstream{path};
    report.saved =
      checkpoint{name, 1, work.state.value, {}, 1, shared_parts(work)};
    work.written = *report.saved;
  }
  ++work.next_stop;
  work.since = where_.timeline->now();
  where_.note_report(work.work, stop.at);
  work.sink(report);
  if (work.next_stop == work.work.stops.size() || stop.last)
    end(number, {});
  else
    schedule(work);
}

/// The lease is in a call from now on that does not return.
void hash_engine::hang(job& work, call_kind call,
                       call_watch::effect ends_with) {
  const auto now = where_.timeline->now();
  work.hangs_until = ends_with;
  work.calls.begin(call, 1, now);
  if (work.cancelled)
    work.awaited_since = now;
  schedule(work);
}

/// Does what is due about a call that does not return.
void hash_engine::look(lease_id number) {
  using effect = call_watch::effect;
  auto& x = jobs_.at(number);
  x.next.reset();
  const auto now = where_.timeline->now();
  const auto what = x.calls.tick(now, *x.hangs_until != effect::nothing);
  if (x.calls.overdue(now) > 0s && !x.awaited_since)
    x.awaited_since = now;
  if (what == effect::give_up) {
    is_stuck_ = true;
    const auto entry = jobs_.extract(number);
    const auto& y = entry.mapped();
    y.sink(device_stuck{{number, y.work.stages.front().begin,
                         error{errc::cancelled, "does not return"}}});
    where_.start_anew();
  } else if (what != effect::nothing && what == *x.hangs_until) {
    end(number, error{errc::cancelled, "was ended"});
  } else {
    schedule(x);
  }
}

/// Fails a lease if something is wrong with a state, in that call.
/// @returns whether it does
bool hash_engine::fails(job& work, flawed_call call, const hash_state& state) {
  if (!where_.has_flaws && !where_.has_hangs)
    return false;
  auto wrong = state.wrong();
  if (where_.has_hangs && (!where_.has_flaws || state.value % 2 == 0))
    wrong.how = flawed_way::never_returns;
  if (wrong.call != call
      || (!wrong.is_everywhere && wrong.of_three != where_.number % 3))
    return false;
  const auto at = state.at;
  switch (call) {
    case flawed_call::train:
      --work.state.at; // that step was not taken
      strike(work, wrong, lease_part::training, at - 1);
      break;
    case flawed_call::evaluate:
      strike(work, wrong, lease_part::measuring, at);
      break;
    case flawed_call::init:
    case flawed_call::load:
      strike(work, wrong, lease_part::training, at);
      break;
    default:
      strike(work, wrong, lease_part::saving, at);
  }
  return true;
}

void hash_engine::strike(job& work, const flaw& wrong, lease_part during,
                         step_t at) {
  const auto number = work.work.number;
  where_.note_fruitless(work.work, work.work.stops.at(work.next_stop));
  switch (wrong.how) {
    case flawed_way::never_returns:
      hang(work,
           during == lease_part::measuring ? call_kind::measuring
           : during == lease_part::saving  ? call_kind::saving
                                           : call_kind::training,
           wrong.ends_with);
      break;
    case flawed_way::throws:
      end(number, error{errc::training_failed, "flawed"}, during, at);
      break;
    case flawed_way::kills:
      work.is_silent = true;
      where_.die();
      break;
    case flawed_way::is_silent:
      work.is_silent = true;
      work.next = where_.timeline->schedule_at(
        where_.timeline->now() + 100s, [this, number, during, at] {
          jobs_.at(number).next.reset();
          end(number, error{errc::training_failed, "silent for too long"},
              during, at);
        });
      break;
    case flawed_way::is_refused:
      end(number, error{errc::training_failed, "a metric without a name"},
          during, at % 2 == 0 ? at : at + 1000);
  }
}

void hash_engine::end(lease_id number, std::optional<error> why,
                      lease_part during, std::optional<step_t> at) {
  if (why)
    where_.note_failure();
  const auto entry = jobs_.extract(number);
  const auto& x = entry.mapped();
  if (x.next)
    where_.timeline->cancel(*x.next);
  if (x.work.gang)
    where_.gangs->leave(*x.work.gang, !why && x.work.gang->rank == 0);
  const auto reached
    = std::max(x.state.at, x.work.stages.front().begin);
  x.sink(lease_end{number, at.value_or(reached), std::move(why), {}, during});
}

} // namespace hippo::simulation
