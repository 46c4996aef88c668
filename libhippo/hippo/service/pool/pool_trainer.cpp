#include "hippo/service/pool/pool_trainer.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

std::string trainer_name(const hello& hello) {
  return hello.host + ':' + std::to_string(hello.process_id);
}

pool_trainer pool_trainer::from(const hello& hello, moment now) {
  pool_trainer result;
  result.record.name = trainer_name(hello);
  result.record.device = hello.device;
  result.record.memory_bytes = hello.memory_bytes;
  result.record.driver = hello.driver;
  result.record.compute_capability = hello.compute_capability;
  result.record.notice_seconds = hello.notice_seconds;
  result.record.at_once = hello.at_once;
  result.record.code_at_once = hello.code_at_once;
  result.workloads = hello.workloads;
  result.numerics = hello.numerics;
  result.record.ranks = hello.ranks;
  result.gang = hello.gang;
  result.last_message = result.since = now;
  result.idle_since = now;
  if (hello.seconds_left > 0)
    result.leaves_at = now + std::chrono::seconds{hello.seconds_left};
  return result;
}

void pool_trainer::note_idle(const heartbeat& heartbeat, moment now) {
  if (heartbeat.lease != lease_id{})
    idle_since.reset();
  else if (!idle_since)
    idle_since = now;
}

void pool_trainer::add_time(moment until, trainer_record& to) const {
  assert(since <= until);
  (holder ? to.work_seconds : to.idle_seconds) +=
    std::chrono::duration<double>(until - since).count();
}

void pool_trainer::count_time(moment until) {
  add_time(until, record);
  since = until;
}

void pool_trainer::note_unreturned(const heartbeat& heartbeat, moment now,
                                   std::chrono::milliseconds interval) {
  constexpr std::uint64_t year_ms = 366ull * 86'400'000;
  ends = holder ? lease_id{} : heartbeat.lease;
  if (heartbeat.overdue_ms > 0) {
    unreturned = heartbeat.lease;
    unreturned_said = now;
    unreturned_since =
      now - std::chrono::milliseconds{std::min(heartbeat.overdue_ms, year_ms)};
  } else if (heartbeat.lease == lease_id{} || heartbeat.lease == unreturned
             || now - unreturned_said > 2 * interval) {
    unreturned_since.reset(); // else this beat is of another lane
  }
}

std::optional<std::chrono::milliseconds>
pool_trainer::fall_sick(const std::string& why, moment now) {
  record.sick = why;
  if (blamed && now - *blamed > sick_rest_max)
    sick_pauses.reset();
  // What it has begun before it rests says nothing new.
  if (sick_until > now)
    return std::nullopt;
  const auto span = sick_pauses.next();
  sick_until = now + span;
  blamed = now;
  return span;
}

void pool_trainer::rest_on(const pool_trainer& before, moment now) {
  blamed = before.blamed;
  sick_pauses = before.sick_pauses;
  sick_until = before.sick_until;
  if (sick_until > now)
    record.sick = before.record.sick;
}

std::optional<double> pool_trainer::seconds_left(moment now) const {
  if (!leaves_at || gone)
    return std::nullopt;
  return std::max(0.0, seconds_between(now, *leaves_at));
}

std::string pool_trainer::held_up(moment now) const {
  if (gone)
    return {};
  const auto& stalled = record.stalled;
  if (unreturned_since && now - *unreturned_since >= unreturned_shown) {
    const auto span =
      std::chrono::duration_cast<std::chrono::seconds>(now - *unreturned_since);
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

bool pool_trainer::knows(const workload_need& need) const {
  const auto i = workloads.find(need.name);
  return i != workloads.end()
         && (i->second.empty() || need.version.empty()
             || i->second == need.version);
}

bool pool_trainer::can_train(const workload_need& need) const {
  return knows(need) && (holds_all(need) || can_join(need))
         && (numerics.empty() || need.numerics.empty()
             || numerics == need.numerics);
}

} // namespace hippo
