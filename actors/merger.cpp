#include "merger.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include <spdlog/spdlog.h>

#include "collection.hpp"
#include "hippo/wire/codec.hpp"
#include "log_format.hpp"

namespace hippo {

namespace {

using self_ptr = merger_actor::stateful_pointer<merger_state>;
using time_point = caf::actor_clock::time_point;

/// The number of a trial that is yet to be added.
constexpr trial_id no_trial = UINT64_MAX;

/// A trainer is handed over if that gains so many times what it costs.
constexpr double handover_gain_min = 20;

/// A stage that has failed waits so long for another trainer to be free.
constexpr double other_trainer_patience = 60;

/// How long a trainer rests for which there is nothing but what it has failed
/// at.
constexpr std::uint64_t failed_rest_ms = 1000;

/// How long a trainer rests whose disk or network has failed.
constexpr std::chrono::milliseconds io_rest_first{1000};
constexpr std::chrono::milliseconds io_rest_last{60'000};

/// A trainer stalls when a step takes so many times as long as expected.
constexpr double stall_steps = 10;

/// The time between two beats counts as that at most: the service itself may
/// have stood still.
constexpr double beat_gap_max = 10;

/// The longest path goes first as long as that puts no study behind its share
/// by more than so many quanta for each trainer: of two studies, by less than
/// 4 % of what is due in an hour.
constexpr double quanta_behind_max = 2;

/// A study that is behind others by more than so many is not interrupted for
/// longer work of theirs: it has just been served, and would be again soon.
constexpr double quanta_interrupted_max = 1;

/// For the sake of fair shares a lease ends early once it has lasted so many
/// times as long as a hand-over: these cost a tenth of the time at most.
constexpr double handover_lasting_min = 10;

/// What the pool is told where a study could start more: as many as it likes.
constexpr std::uint64_t any_number_of_trainers = UINT32_MAX;

/// Lanes that do not fit each other train in turns. A path joins such lanes only
/// if it takes so many times as long as those that fit: it is worth it to bring
/// on what ends last.
constexpr double misfit_gain_min = 2;

/// The timeline keeps so many entries and then stops growing.
constexpr std::size_t timeline_entries_max = 200'000;

double seconds_between(time_point begin, time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

double seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

bool all_finite(const metrics& xs) {
  return std::all_of(xs.begin(), xs.end(),
                     [](const auto& kvp) { return std::isfinite(kvp.second); });
}

/// What the studies are to hear, once it is durable.
std::map<study_no, study_news> collect_news(merger_state& st) {
  std::map<study_no, study_news> result;
  const auto add = [&](trial_id trial, step_t at, study_event what) {
    const auto study = st.plan.study_of(trial);
    auto& running = st.studies[study].running;
    if (const auto i = running.find(trial);
        i != running.end()
        && (at >= i->second || std::holds_alternative<trial_failed>(what)))
      running.erase(i);
    ++st.studies[study].told;
    result[study].push_back(std::move(what));
  };
  for (auto& x : st.plan.take_deliveries())
    add(x.trial, x.at,
        trial_measured{st.number_in_study[x.trial], x.node, x.at,
                       std::move(x.values)});
  for (auto& x : st.plan.take_failures())
    add(x.trial, x.at,
        trial_failed{st.number_in_study[x.trial], x.at, std::move(x.reason)});
  return result;
}

/// Turns what studies are to hear into what the journal is asked to do.
journal_entry make_entry(merger_state& st) {
  journal_entry result{std::exchange(st.unwritten, {}), {}};
  if (const auto steps = st.trained_steps - st.stored_steps; steps > 0) {
    result.records.emplace_back(
      steps_trained{st.workload_key, steps,
                    st.totals.busy_seconds - st.stored_device_seconds});
    st.stored_steps = st.trained_steps;
    st.stored_device_seconds = st.totals.busy_seconds;
  }
  for (auto& [no, news] : collect_news(st)) {
    const auto& study = st.studies[no];
    for (const auto& x : news)
      result.records.emplace_back(event_added{study.id, st.workload_key, x});
    result.news.emplace_back(study.owner, std::move(news));
  }
  return result;
}

void note_new_nodes(merger_state& st) {
  for (auto id : st.plan.take_made()) {
    const auto& x = st.plan.node(id);
    st.unwritten.push_back(
      node_added{st.workload_key,
                 {id, x.parent, x.begin, x.strand, st.plan.config_of(id)}});
  }
}

/// What a collection leaves free, so that it need not be done at once again.
constexpr std::uint64_t collect_slack_divisor = 10;

/// Takes a checkpoint out of the plan; its file goes once that is durable.
void give_up(merger_state& st, node_id node, step_t at,
             const checkpoint& file) {
  st.plan.forget_checkpoint(node, at);
  st.checkpoint_bytes -= file.bytes;
  st.unwritten.push_back(checkpoint_removed{st.workload_key, node, at});
  st.unwanted_files.push_back(st.options.folder + '/' + file.file);
}

/// Keeps the checkpoints within their budget.
void collect(merger_state& st) {
  const auto limit = st.options.checkpoint_bytes_max;
  if (st.checkpoint_bytes <= std::max(limit, st.checkpoint_bytes_needed))
    return;
  const auto excess = st.checkpoint_bytes - limit;
  const auto slack = limit / collect_slack_divisor;
  const auto victims
    = collect_checkpoints(st.plan, st.chooser->tree(), excess + slack);
  for (const auto& x : victims)
    give_up(st, x.node, x.at, x.file);
  st.checkpoint_bytes_needed
    = st.checkpoint_bytes > limit ? st.checkpoint_bytes + slack : 0;
  spdlog::info("merger: gave up {} checkpoints, {} bytes are left",
               victims.size(), st.checkpoint_bytes);
}

void delete_files(const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed)
      spdlog::warn("merger: cannot delete {}: {}", path, failed.message());
  }
}

/// Whether something waits for what a lease has still to reach.
bool is_waited_for(const merger_state& st,
                   const merger_state::lease_entry& entry) {
  const auto& stages = entry.work.stages;
  return std::any_of(stages.begin(), stages.end(), [&](const stage& x) {
    if (x.begin == x.end) // only to measure
      return st.plan.node(x.node).wants.count(x.end) > 0;
    // What waits beyond its end is nearer with it.
    return x.end > entry.reached
           && st.chooser->tree().is_waited_for(
             x.node, std::max(x.begin, entry.reached));
  });
}

void doubt_all_leases(merger_state& st) {
  for (const auto& kvp : st.leases)
    st.doubtful.insert(kvp.first);
}

/// Ends leases that train what nobody waits for any more.
void cancel_vain_leases(self_ptr self) {
  auto& st = self->state;
  for (auto number : std::exchange(st.doubtful, {}))
    if (const auto i = st.leases.find(number);
        i != st.leases.end() && !is_waited_for(st, i->second)
        && i->second.reached < i->second.work.stages.back().end)
      self->send(i->second.handle, cancel_atom::value,
                 encode(cancel_request{number}));
}

/// Tells held studies of which nothing runs any more.
void tell_rested(self_ptr self) {
  for (auto& x : self->state.studies)
    if (x.held && x.running.empty() && !std::exchange(x.is_told_rested, true))
      self->send(x.owner, rested_atom::value);
}

/// Answers who wants the merger to end, once it may.
void try_to_retire(merger_state& st) {
  if (!st.retiring || !st.leases.empty() || st.commits_under_way > 0)
    return;
  st.retiring->deliver(st.trained_steps);
  st.retiring.reset();
}

/// Has things stored, and studies hear of them then.
void commit(self_ptr self, journal_entry entry) {
  auto& st = self->state;
  ++st.commits_under_way;
  self
    ->request(st.journal, caf::infinite, commit_atom::value, std::move(entry))
    .then(
      [self, unwanted = std::exchange(st.unwanted_files, {}),
       owed = std::exchange(st.owed, {})](std::uint64_t) {
        delete_files(unwanted);
        for (const auto& [trainer, x] : owed)
          self->send(trainer, ack_atom::value, encode(x));
        --self->state.commits_under_way;
        try_to_retire(self->state);
      },
      [self](caf::error& err) {
        if (err != caf::sec::request_receiver_down) // else all of it ends
          spdlog::critical("merger: cannot write the journal: {}",
                           self->system().render(err));
        self->quit(std::move(err));
      });
}

bool is_leasing(const merger_state& st) { return st.going && !st.halted; }

/// Whether a study would start more if it were offered room.
bool has_more(const merger_state::study_entry& x) {
  return x.wants_room && !x.held;
}

/// Follows which studies have something to lease, or would have.
void note_waiting(merger_state& st) {
  for (study_no i = 0; i < st.studies.size(); ++i)
    st.shares.set_waiting(i, st.chooser->is_runnable(i)
                               || has_more(st.studies[i]));
}

void place_trainers(self_ptr self);

/// Tells the pool how many trainers could be used, and for studies of what
/// weight.
void tell_demand(self_ptr self) {
  auto& st = self->state;
  const auto lanes = lanes_of(st.options.workload);
  const auto paths = is_leasing(st) ? st.chooser->runnable_count() : 0;
  std::uint64_t demand = (paths + lanes - 1) / lanes;
  double weight = 0;
  for (study_no i = 0; i < st.studies.size(); ++i) {
    const bool more = has_more(st.studies[i]);
    if (more && is_leasing(st))
      demand = any_number_of_trainers;
    if (more || st.plan.is_waiting(i))
      weight += st.shares.weight(i);
  }
  if (weight == 0)
    weight = st.told_weight; // nothing waits, and nothing will be leased
  if (weight == 0 || (demand == st.told_demand && weight == st.told_weight))
    return;
  st.told_demand = demand;
  st.told_weight = weight;
  ++st.demands_told;
  const auto take_answer = [self] {
    if (++self->state.demands_answered == self->state.demands_told)
      place_trainers(self);
  };
  self
    ->request(st.pool, caf::infinite, demand_atom::value,
              caf::actor_cast<merger_actor>(self), weight, demand)
    .then(take_answer, [](const caf::error&) {});
}

/// Passes on everything that a change of the plan has brought about.
void pass_on(self_ptr self) {
  auto& st = self->state;
  st.chooser->update(st.plan.take_changed());
  collect(st);
  st.chooser->update(st.plan.take_changed());
  for (const auto& x : st.plan.take_added_stops())
    if (auto i = st.leases.find(x.lease); i != st.leases.end())
      self->send(i->second.handle, stop_atom::value,
                 encode(stop_request{x.lease, x.stop}));
  cancel_vain_leases(self);
  note_new_nodes(st);
  tell_rested(self);
  if (auto entry = make_entry(st);
      !entry.records.empty() || !entry.news.empty() || !st.owed.empty()
      || !st.unwanted_files.empty())
    commit(self, std::move(entry));
  try_to_retire(st);
  note_waiting(st);
}

/// Gives a trainer back; it has ended its leases or was not needed.
void release(self_ptr self, std::uint64_t trainer) {
  auto& st = self->state;
  st.free_trainers.erase(trainer);
  st.trainers.erase(trainer);
  self->send(st.pool, release_atom::value, trainer);
}

/// Cuts a path off after so many steps.
void shorten(std::vector<stage>& stages, step_t steps) {
  const auto end = stages.front().begin + steps;
  while (stages.back().begin >= end)
    stages.pop_back();
  stages.back().end = std::min(stages.back().end, end);
}

/// Turns a path into a lease for a trainer.
/// @param speed_keys is given those of its stages
lease make_lease(merger_state& st, path x,
                 std::vector<std::string>& speed_keys) {
  lease result;
  result.number = st.next_lease++;
  result.workload = st.options.workload;
  result.folder = st.options.folder;
  result.code = st.options.code;
  result.token = st.options.folder_token;
  result.depot = st.options.depot_port;
  result.start = std::move(x.start);
  result.stages = std::move(x.stages);
  shorten(result.stages, st.options.lease_steps_max);
  for (auto& stage : result.stages) {
    stage.config = st.plan.config_of(stage.node);
    stage.identity = st.plan.node(stage.node).identity;
    speed_keys.push_back(st.estimates.speed_key(stage.config, stage.begin));
    const auto step_seconds = st.estimates.step_seconds(speed_keys.back());
    const auto save_every = static_cast<step_t>(
      std::ceil(st.options.save_every_seconds / std::max(step_seconds, 1e-6)));
    for (const auto& stop : st.plan.stops_of(stage.node, stage.begin,
                                             stage.end, save_every)) {
      // A stage without length ends where the next one begins.
      if (!result.stops.empty() && result.stops.back().at == stop.at) {
        result.stops.back().evaluate |= stop.evaluate;
        result.stops.back().save |= stop.save;
      } else {
        result.stops.push_back(stop);
      }
    }
  }
  return result;
}

/// Whether a trainer has failed at a path that others should try now.
bool has_failed_at(const merger_state& st, std::uint64_t trainer,
                   const path& x, time_point now) {
  const auto failed_on = [&](const stage& s) {
    for (auto i = st.failures.lower_bound({s.node, 0});
         i != st.failures.end() && i->first.first == s.node; ++i) {
      const auto& where = i->second;
      if (i->first.second < s.end && where.trainers.count(trainer) > 0
          && seconds_between(where.last, now) < other_trainer_patience
          && std::any_of(st.leases.begin(), st.leases.end(),
                         [&](const auto& kvp) {
                           return where.trainers.count(kvp.second.trainer) == 0;
                         }))
        return true;
    }
    return false;
  };
  return std::any_of(x.stages.begin(), x.stages.end(), failed_on);
}

/// Books the device time of studies until now. Whatever changes who holds what,
/// or with which weight, begins with this.
void catch_up(self_ptr self) {
  auto& st = self->state;
  const auto now = self->clock().now();
  st.shares.advance(seconds_between(st.shared_until, now));
  st.shared_until = now;
}

/// Divides a trainer's time among its leases, however many lanes they leave
/// empty: who trains alone has all of it.
void divide(merger_state& st, std::uint64_t trainer) {
  const auto part
    = 1 / static_cast<double>(st.trainers.at(trainer).leases);
  for (const auto& lane : st.trainers.at(trainer).lanes) {
    const auto i = st.leases.find(lane.lease);
    if (i == st.leases.end())
      continue;
    auto& entry = i->second;
    for (auto& [study, held] : entry.holders) {
      const auto now = held / entry.part * part;
      st.shares.hold(study, now - held);
      held = now;
    }
    entry.part = part;
  }
}

void take_from_holders(merger_state& st, merger_state::lease_entry& entry) {
  for (const auto& [study, part] : std::exchange(entry.holders, {}))
    st.shares.hold(study, -part);
}

/// Counts the trainer of a lease as that of the studies which wait for what it
/// trains now. It is divided among them by weight, so that it brings all of
/// them on equally: none falls back because others want the same.
void note_holders(merger_state& st, merger_state::lease_entry& entry,
                  const std::vector<study_no>& waiting) {
  if (waiting.empty())
    return; // it ends soon; until then it is theirs who wanted it
  take_from_holders(st, entry);
  double sum = 0;
  for (auto study : waiting)
    sum += st.shares.weight(study);
  for (auto study : waiting) {
    const auto part = entry.part * st.shares.weight(study) / sum;
    entry.holders.emplace_back(study, part);
    st.shares.hold(study, part);
  }
}

/// So many quanta for each trainer that trains here.
double device_seconds_of(const merger_state& st, double quanta) {
  const auto trainers = std::max<std::size_t>(st.leases.size(), 1);
  return quanta * fair_shares::quantum_seconds * static_cast<double>(trainers);
}

/// The study that would be left behind if a trainer went to `others`, the
/// studies that a path is for: behind all of them by more than the scheduler may
/// put it.
std::optional<study_no> left_behind(const merger_state& st,
                                    const fair_shares& shares,
                                    const std::vector<study_no>& others) {
  const auto slack = device_seconds_of(st, quanta_behind_max);
  const auto first = shares.next();
  if (!first || std::any_of(others.begin(), others.end(), [&](study_no x) {
        return shares.lag(*first, x) <= slack;
      }))
    return std::nullopt;
  return static_cast<study_no>(*first);
}

/// The longest path, or the longest for a study that it would leave behind.
std::optional<path> next_path(const merger_state& st) {
  auto result = st.chooser->choose();
  if (!result)
    return std::nullopt;
  const auto& first = result->stages.front();
  if (const auto study = left_behind(
        st, st.shares, st.chooser->waiting_for(first, first.begin)))
    return st.chooser->choose_for(*study);
  return result;
}

/// The stage that training up to `at` has been in.
std::size_t stage_index(const lease& x, step_t at) {
  const auto i
    = std::find_if(x.stages.begin(), x.stages.end(),
                   [&](const stage& s) { return at <= s.end; });
  return i == x.stages.end() ? x.stages.size() - 1
                             : static_cast<std::size_t>(i - x.stages.begin());
}

/// How long a path or the rest of a lease takes to train, in seconds.
double training_seconds(const merger_state& st,
                        const std::vector<stage>& stages, step_t from) {
  double result = 0;
  for (const auto& x : stages)
    if (x.end > from)
      result += static_cast<double>(x.end - std::max(x.begin, from))
                * st.chooser->tree().seconds_per_step(x.node);
  return result;
}

/// Where a path could be trained.
struct place {
  std::uint64_t trainer = 0;
  double own = 0;     ///< seconds that the path alone takes
  double seconds = 0; ///< until it is trained
  bool fits = true;   ///< whether it can be trained at once with what is there
  std::size_t leases = 0;
};

/// Estimates how it would be to train a path on a trainer. Lanes whose steps
/// take equally long for the same reasons (`time_estimates::speed_key`) are
/// taken to fit each other: a step of all then takes as long as one of one.
/// @param own how long the path alone takes
place place_on(const merger_state& st, std::uint64_t trainer, const path& x,
               double own) {
  const auto& first = x.stages.front();
  const auto& entry = st.trainers.at(trainer);
  place result{trainer, own, own, true, entry.leases};
  if (entry.leases == 0)
    return result;
  const auto key
    = st.estimates.speed_key(st.plan.config_of(first.node), first.begin);
  std::map<std::string, double> misfits; ///< how long they go on
  for (const auto& lane : entry.lanes)
    if (const auto i = st.leases.find(lane.lease); i != st.leases.end()) {
      const auto& [number, other] = *i;
      const auto& theirs
        = other.speed_keys[stage_index(other.work, other.reached + 1)];
      if (theirs == key)
        continue;
      auto& longest = misfits[theirs];
      longest = std::max(longest, training_seconds(st, other.work.stages,
                                                   other.reached));
    }
  for (const auto& [theirs, seconds] : misfits)
    result.seconds += std::min(own, seconds);
  result.fits = misfits.empty();
  return result;
}

/// Chooses where to train a path: where it is done first, and of such places the
/// fullest, so that others stay free. @returns nothing if it has failed wherever
/// there is room
/// @complexity O(lanes of the trainers with room)
std::optional<place> place_for(const merger_state& st, const path& x) {
  const auto own = training_seconds(st, x.stages, x.stages.front().begin);
  std::optional<place> best;
  for (auto trainer : st.free_trainers) {
    if (has_failed_at(st, trainer, x, st.shared_until))
      continue;
    const auto next = place_on(st, trainer, x, own);
    if (!best || next.seconds < best->seconds
        || (next.seconds == best->seconds && next.leases > best->leases))
      best = next;
  }
  return best;
}

/// The lane of a trainer that a path had best go to: one that is in its first
/// state already, if there is one that has no lease.
std::uint32_t lane_for(const merger_state::trainer_entry& trainer,
                       const path& x) {
  std::optional<std::uint32_t> result;
  for (std::uint32_t i = 0; i < trainer.lanes.size(); ++i) {
    const auto& lane = trainer.lanes[i];
    if (lane.lease == 0
        && (!result || (!x.start.file.empty() && lane.present == x.start.file)))
      result = i;
  }
  return *result;
}

/// Leases a path to a trainer that has a lane for it.
void lease_to(self_ptr self, std::uint64_t number, path chosen) {
  auto& st = self->state;
  auto& trainer = st.trainers.at(number);
  const auto lane = lane_for(trainer, chosen);
  merger_state::lease_entry entry;
  entry.trainer = number;
  entry.handle = trainer.handle;
  entry.work = make_lease(st, std::move(chosen), entry.speed_keys);
  entry.work.lane = lane;
  const auto& first = entry.work.stages.front();
  entry.reached = entry.saved = first.begin;
  entry.granted = entry.since = entry.beat_since = st.shared_until;
  st.shares.pass_turns();
  note_holders(st, entry, st.chooser->waiting_for(first, first.begin));
  self->send(trainer.handle, lease_atom::value, encode(entry.work),
             caf::actor_cast<lease_owner_actor>(self));
  st.plan.begin_lease(entry.work);
  const auto lease = entry.work.number;
  st.leases.emplace(lease, std::move(entry));
  trainer.lanes[lane] = {lease, {}};
  ++trainer.leases;
  divide(st, number);
  if (trainer.leases == trainer.lanes.size())
    st.free_trainers.erase(number);
}

/// Sees to trainers that have failed at everything there is: those without a
/// lease have to rest, the others are left alone until one of theirs has ended.
void set_free_trainers_aside(self_ptr self) {
  auto& st = self->state;
  for (auto number : std::exchange(st.free_trainers, {}))
    if (st.trainers.at(number).leases == 0) {
      self->send(st.pool, rest_atom::value, number, failed_rest_ms);
      release(self, number);
    }
}

/// Whether the pool knows that more trainers could be used, and has none.
bool has_refused_more(const merger_state& st) {
  return st.told_demand.value_or(0) > 0
         && st.demands_answered == st.demands_told;
}

/// Leases a path to a trainer with room, or finds that these have to rest.
/// @returns whether it could do either
bool employ(self_ptr self) {
  auto& st = self->state;
  if (st.free_trainers.empty() || !is_leasing(st))
    return false;
  catch_up(self);
  auto chosen = next_path(st);
  if (!chosen)
    return false;
  auto where = place_for(st, *chosen);
  if (!where || !where->fits) {
    std::optional<place> there;
    const auto is_better = [&](const path& x) {
      there = place_for(st, x);
      return there
             && (!where
                 || (there->fits && there->own * misfit_gain_min >= where->own));
    };
    if (auto other = st.chooser->choose(is_better)) {
      chosen = std::move(other);
      where = there;
    }
  }
  if (!where) {
    set_free_trainers_aside(self);
    return true;
  }
  // The pool may have a trainer on which it need not take turns.
  if (!where->fits && !has_refused_more(st))
    return false;
  lease_to(self, where->trainer, std::move(*chosen));
  return true;
}

/// Divides the free lanes among studies that have more, by their shares.
/// @returns how many each gets, by `study_no`; none have more: empty
std::vector<std::uint64_t> rooms(const merger_state& st) {
  std::vector<std::uint64_t> result(st.studies.size());
  auto shares = st.shares;
  for (study_no i = 0; i < st.studies.size(); ++i)
    shares.set_waiting(i, has_more(st.studies[i]));
  for (auto number : st.free_trainers) {
    const auto& trainer = st.trainers.at(number);
    const auto lanes = trainer.lanes.size();
    for (auto n = trainer.leases; n < lanes; ++n) {
      const auto next = shares.next();
      if (!next)
        return {};
      ++result[*next];
      shares.hold(*next, 1 / static_cast<double>(lanes));
    }
  }
  return result;
}

/// Offers room for as many trials as there are free lanes to studies that have
/// more. Gives the trainers without a lease back if none have.
void offer_room(self_ptr self) {
  auto& st = self->state;
  if (st.free_trainers.empty())
    return;
  if (is_leasing(st)
      && std::any_of(st.studies.begin(), st.studies.end(), [](const auto& x) {
           return has_more(x) && x.heard < x.must_hear;
         }))
    return;
  const auto offers = is_leasing(st) ? rooms(st) : std::vector<std::uint64_t>{};
  for (study_no i = 0; i < offers.size(); ++i)
    if (offers[i] > 0) {
      auto& study = st.studies[i];
      study.must_hear = ++study.told;
      self->send(study.owner, room_atom::value, offers[i]);
    }
  if (!offers.empty())
    return;
  const auto free = st.free_trainers;
  for (auto number : free)
    if (st.trainers.at(number).leases == 0)
      release(self, number);
}

/// Puts the free trainers to use, and tells the pool what more could be.
void place_trainers(self_ptr self) {
  while (employ(self))
    pass_on(self);
  offer_room(self);
  tell_demand(self);
}

/// Sees to what a change of the plan has brought about. Every handler that
/// touches the plan ends with this.
void settle(self_ptr self) {
  pass_on(self);
  place_trainers(self);
}

void grant(self_ptr self, std::uint64_t trainer, const trainer_actor& handle) {
  auto& st = self->state;
  if (st.free_trainers.empty())
    for (auto& x : st.studies)
      x.must_hear = x.told;
  merger_state::trainer_entry entry;
  entry.handle = handle;
  entry.lanes.resize(lanes_of(st.options.workload));
  st.trainers.insert_or_assign(trainer, std::move(entry));
  st.free_trainers.insert(trainer);
  st.told_demand = std::nullopt; // the pool has counted one off: tell it anew
  place_trainers(self);
}

/// Books the time since the last report of a lease. What others in the same
/// launches have booked already counts no more: what is left of the time stands
/// for all of its parts.
void account(merger_state& st, merger_state::lease_entry& entry,
             const stop_report& x, const stage& where, time_point now) {
  auto& booked = st.trainers.at(entry.trainer).booked;
  const auto span = seconds_between(entry.since, now);
  const auto unbooked = seconds_between(std::max(entry.since, booked), now);
  const auto part = span > 0 ? unbooked / span : 1;
  booked = now;
  busy_record busy;
  busy.trainer = entry.trainer;
  busy.lane = entry.work.lane;
  busy.begin = seconds_between(st.begun, entry.since);
  busy.end = seconds_between(st.begun, now);
  busy.stage = where.node;
  busy.from = entry.reached;
  busy.to = x.at;
  busy.load = seconds(x.load_ns);
  busy.train = seconds(x.train_ns);
  busy.evaluate = seconds(x.evaluate_ns);
  busy.save = seconds(x.save_ns);
  auto& totals = st.totals;
  totals.busy_seconds += unbooked;
  totals.load_seconds += part * busy.load;
  totals.train_seconds += part * busy.train;
  totals.evaluate_seconds += part * busy.evaluate;
  totals.save_seconds += part * busy.save;
  totals.dispatch_seconds
    += part
       * std::max(0.0, span - busy.load - busy.train - busy.evaluate
                         - busy.save);
  totals.timeline_is_whole = totals.timeline.size() < timeline_entries_max;
  if (totals.timeline_is_whole)
    totals.timeline.push_back(busy);
  if (span > 0 && x.trained_steps > 0)
    entry.steps_per_second = static_cast<double>(x.trained_steps) / span;
  entry.since = now;
  entry.reached = x.at;
}

void learn(merger_state& st, const std::string& speed_key,
           const stop_report& x) {
  if (x.trained_steps > 0)
    st.estimates.learn_step(speed_key, x.trained_steps, seconds(x.train_ns));
  if (x.evaluate_ns > 0)
    st.estimates.learn_evaluate(seconds(x.evaluate_ns));
  if (x.saved)
    st.estimates.learn_save(seconds(x.save_ns));
  if (x.load_ns > 0)
    st.estimates.learn_load(seconds(x.load_ns));
}

/// What handing a trainer over costs: saving, a new lease, loading. In seconds.
double handover_seconds(const merger_state& st) {
  const auto leases = st.next_lease - st.options.first_lease;
  return st.estimates.save_seconds() + st.estimates.load_seconds()
         + st.totals.dispatch_seconds / static_cast<double>(leases);
}

/// Ends a lease at state `at`, or after the present step if that is passed.
/// Nothing is lost, since it leaves a checkpoint.
void end_early(self_ptr self, const merger_state::lease_entry& entry,
               step_t at) {
  if (at < entry.work.stages.back().end)
    self->send(entry.handle, stop_atom::value,
               encode(stop_request{entry.work.number,
                                   {.at = at, .save = true, .last = true}}));
}

/// Whether work waits that is so much farther from its end than a lease that
/// its trainer had better take that: shared out like this, all comes to its end
/// at about the same time (the level algorithm of Muntz and Coffman 1969).
bool is_nearer_its_end(const merger_state& st,
                       const merger_state::lease_entry& entry) {
  const auto waiting = st.chooser->longest_waiting();
  return st.options.policy == policy::critical_path && waiting
         && st.estimates.has_saved()
         && *waiting
                - st.chooser->seconds_left(entry.work.stages, entry.reached)
              > handover_gain_min * handover_seconds(st);
}

/// The studies that a lease is for.
std::vector<study_no> holders_of(const merger_state::lease_entry& entry) {
  std::vector<study_no> result;
  for (const auto& kvp : entry.holders)
    result.push_back(kvp.first);
  return result;
}

/// How much longer a lease must last so that ending it early costs little.
double seconds_to_last(const merger_state& st,
                       const merger_state::lease_entry& entry) {
  return handover_lasting_min * handover_seconds(st)
         - seconds_between(entry.granted, st.shared_until);
}

/// Ends a lease early if its trainer is needed for other work: for a study that
/// would be left behind if it went on, or because longer work waits.
void make_room(self_ptr self, merger_state::lease_entry& entry) {
  auto& st = self->state;
  const auto next = entry.reached + 1;
  const bool was_outranked = std::exchange(entry.outranked, false);
  if (!st.shares.next() || !st.free_trainers.empty())
    return; // nobody waits, or not for this
  auto shares = st.shares; // as they will be when it has ended
  for (const auto& [study, part] : entry.holders) {
    shares.set_waiting(study, true);
    shares.hold(study, -part);
  }
  const auto holders = holders_of(entry);
  if (left_behind(st, shares, holders)) {
    if (seconds_to_last(st, entry) <= 0)
      end_early(self, entry, next);
    return;
  }
  if (!is_nearer_its_end(st, entry))
    return;
  const auto slack = device_seconds_of(st, quanta_interrupted_max);
  const auto longest = st.chooser->choose();
  const auto& first = longest->stages.front();
  const auto others = st.chooser->waiting_for(first, first.begin);
  entry.outranked
    = std::none_of(holders.begin(), holders.end(), [&](study_no x) {
        return std::all_of(others.begin(), others.end(), [&](study_no y) {
          return shares.lag(x, y) > slack;
        });
      });
  // A free trainer would have taken what waited at the last report.
  if (was_outranked && entry.outranked)
    end_early(self, entry, next);
}

/// Gives a trainer no further lease, so that it is given back once those that it
/// has have ended.
void wind_down(merger_state& st, std::uint64_t trainer) {
  st.trainers.at(trainer).yields = true;
  st.free_trainers.erase(trainer);
}

/// Ends a lease soon whose trainer others need more, once it has lasted long
/// enough.
void yield(self_ptr self, const merger_state::lease_entry& entry) {
  auto& st = self->state;
  auto at = entry.reached + 1;
  if (const auto left = seconds_to_last(st, entry); left > 0) {
    const auto& stages = entry.work.stages;
    const auto& where = stages[stage_index(entry.work, at)];
    const auto span = left + seconds_between(entry.since, st.shared_until);
    at += static_cast<step_t>(
      span / st.chooser->tree().seconds_per_step(where.node));
  }
  end_early(self, entry, at);
}

/// Gives a trainer back that others need more, once its leases have ended.
void yield(self_ptr self, std::uint64_t number) {
  auto& st = self->state;
  const auto i = st.trainers.find(number);
  if (i == st.trainers.end())
    return; // it has been released
  const auto& trainer = i->second;
  if (trainer.leases == 0) {
    release(self, number);
    return;
  }
  wind_down(st, number);
  catch_up(self);
  for (const auto& lane : trainer.lanes)
    if (lane.lease != 0)
      yield(self, st.leases.at(lane.lease));
}

/// Writes down what of a report is new. A checkpoint that is not needed goes.
void keep(merger_state& st, const stop_report& x,
          const std::optional<recorded>& news) {
  if (news && !x.output.empty())
    st.unwritten.push_back(
      output_added{st.workload_key, {news->node, x.at, x.output}});
  if (news && news->measured)
    st.unwritten.push_back(
      result_added{st.workload_key, {news->node, x.at, x.values, x.device}});
  if (!x.saved)
    return;
  if (news && news->saved) {
    st.checkpoint_bytes += x.saved->bytes;
    st.unwritten.push_back(
      checkpoint_added{st.workload_key, {news->node, x.at, *x.saved}});
    return;
  }
  // Only a name that nothing else can have, and not of a report that was here
  // before.
  const auto node = news ? news->node : x.node;
  if (x.saved->file != checkpoint_name(node, x.at, x.lease))
    return;
  if (node < st.plan.size()) {
    const auto& known = st.plan.node(node).checkpoints;
    if (const auto i = known.find(x.at);
        i != known.end() && i->second.file == x.saved->file)
      return;
  }
  st.unwanted_files.push_back(st.options.folder + '/' + x.saved->file);
}

/// Takes in a report of a lease that does not run any more, or is of an earlier
/// run: it counts as far as nothing else came first.
void take_late(self_ptr self, stop_report x, trainer_actor from) {
  auto& st = self->state;
  if (!all_finite(x.values))
    x.values.clear(); // to be found out again
  const auto news = st.plan.adopt(x);
  keep(st, x, news);
  if (news && (news->measured || news->saved)) {
    st.trained_steps += x.trained_steps;
    doubt_all_leases(st);
    spdlog::info("merger: took in a late report of lease {} at step {}",
                 x.lease, x.at);
  }
  if (from)
    st.owed.emplace_back(std::move(from), ack{x.lease, x.at});
  settle(self);
}

void take_report(self_ptr self, stop_report x) {
  auto& st = self->state;
  const auto i = st.leases.find(x.lease);
  if (i == st.leases.end()) {
    take_late(self, std::move(x),
              caf::actor_cast<trainer_actor>(self->current_sender()));
    return;
  }
  auto& entry = i->second;
  self->send(st.pool, told_atom::value, entry.trainer);
  const auto index = stage_index(entry.work, x.at);
  catch_up(self);
  account(st, entry, x, entry.work.stages[index], st.shared_until);
  entry.still_seconds = 0;
  st.trainers.at(entry.trainer).lanes[entry.work.lane].present
    = x.saved ? x.saved->file : std::string{};
  learn(st, entry.speed_keys[index], x);
  st.trained_steps += x.trained_steps;
  if (!all_finite(x.values))
    x.values.clear(); // the trainer ends the lease as diverged
  st.doubtful.insert(x.lease);
  const auto news = st.plan.record(x);
  if (news && x.saved)
    entry.saved = x.at;
  keep(st, x, news);
  st.owed.emplace_back(entry.handle, ack{x.lease, x.at});
  settle(self);
  const auto& next = entry.work.stages[stage_index(entry.work, x.at + 1)];
  note_holders(st, entry, st.chooser->waiting_for(next, x.at));
  make_room(self, entry);
}

/// Decides what a failed lease means for the plan.
void take_failure(self_ptr self, const merger_state::lease_entry& entry,
                  const lease_end& x) {
  auto& st = self->state;
  const auto& why = *x.failure;
  const auto& stages = entry.work.stages;
  spdlog::warn("merger: lease {} of trainer {} failed at step {}: {}", x.lease,
               entry.trainer, x.at, first_line(why.message));
  if (why.code == errc::cancelled) {
    // A trainer that takes leave hands back whatever it is given.
    if (x.at == stages.front().begin)
      wind_down(st, entry.trainer);
    return;
  }
  if (why.code == errc::io_failed) {
    // Not the stage's fault, and further work of the trainer would fail alike.
    wind_down(st, entry.trainer);
    auto& rest = st.rests.try_emplace(entry.trainer, io_rest_first,
                                      io_rest_last).first->second;
    self->send(st.pool, rest_atom::value, entry.trainer,
               static_cast<std::uint64_t>(rest.next().count()));
    return;
  }
  if (why.code == errc::diverged) {
    const auto node = stages[stage_index(entry.work, x.at)].node;
    // What is said of one state twice is not about measuring it.
    if (!st.plan.diverge(node, x.at, why))
      st.plan.fail(node, x.at, why);
    return;
  }
  if (why.code == errc::bad_checkpoint && !entry.work.start.file.empty()) {
    // The state lies on the first stage's node or on the one that it leaves.
    const auto node = stages.front().node;
    const auto at = stages.front().begin;
    const auto holder
      = at > st.plan.node(node).begin ? node : st.plan.node(node).parent;
    if (st.plan.node(holder).checkpoints.count(at) > 0)
      give_up(st, holder, at, entry.work.start);
    return;
  }
  // The stage that could not be left.
  const auto i = std::find_if(stages.begin(), stages.end(), [&](auto& s) {
    return x.at < s.end;
  });
  const auto& where = i == stages.end() ? stages.back() : *i;
  const auto since = std::max(entry.saved, where.begin);
  auto& failed = st.failures[{where.node, since}];
  failed.trainers.insert(entry.trainer);
  failed.last = self->clock().now();
  if (++failed.attempts < st.options.attempts_max)
    return;
  auto reason = why;
  if (!x.log.empty())
    reason.message += "\nlog of trainer " + std::to_string(entry.trainer)
                      + ":\n" + x.log;
  st.plan.fail(where.node, std::min(x.at + 1, where.end), reason);
}

/// The strand of a trial: with merging off each has its own, the same after a
/// restart, but a fork is in that of the trial it comes from.
std::uint64_t strand_for(const merger_state& st, study_no no,
                       const study_orders::trial& x) {
  if (st.options.merge)
    return 0;
  const auto& study = st.studies[no];
  return x.fork_of ? st.plan.strand_of(study.trials[*x.fork_of])
                   : study.id * strands_per_study + x.no + 1;
}

/// Takes up a request of a study.
void ask(merger_state& st, merger_state::study_entry& study,
         const study_orders::request& x) {
  const auto trial = study.trials[x.no];
  if (x.heard > 0)
    st.plan.recall(trial, x.heard);
  if (x.is_over) {
    st.plan.cover(trial, x.to);
    st.plan.drop(trial);
  } else if (study.held) {
    study.held_back.push_back({x.no, x.to, 0, false});
  } else {
    st.plan.ask(trial, x.to);
  }
}

/// Leaves a held study only what is being trained now.
void suspend(merger_state& st, merger_state::study_entry& study) {
  study.running.clear();
  for (auto trial : study.trials)
    if (trial != no_trial)
      if (const auto to = st.plan.suspend(trial))
        study.running[trial] = to;
  study.is_told_rested = false;
}

void hold(merger_state& st, study_no no, bool held) {
  auto& study = st.studies[no];
  if (std::exchange(study.held, held) == held)
    return;
  if (held) {
    suspend(st, study);
    return;
  }
  study.running.clear();
  for (auto trial : study.trials)
    if (trial != no_trial)
      st.plan.go_on(trial);
  for (const auto& x : std::exchange(study.held_back, {}))
    ask(st, study, x);
}

/// What a lease that has ended did not reach is no longer on its way: held
/// studies must not have it trained again.
void suspend_held(merger_state& st) {
  for (auto& x : st.studies)
    if (x.held && !x.running.empty())
      suspend(st, x);
}

/// Notes that a lane has no lease any more. A trainer with others goes on with
/// further work, unless it is to be given back; one without is given back.
void free_lane(self_ptr self, std::uint64_t number, std::uint32_t lane) {
  auto& st = self->state;
  auto& trainer = st.trainers.at(number);
  trainer.lanes[lane].lease = 0;
  if (--trainer.leases == 0) {
    release(self, number);
    return;
  }
  divide(st, number);
  if (trainer.yields)
    return;
  st.free_trainers.insert(number);
  place_trainers(self);
}

void take_end(self_ptr self, const lease_end& x) {
  auto& st = self->state;
  auto entry = st.leases.extract(x.lease);
  if (!entry)
    return;
  catch_up(self);
  if (!x.failure)
    st.rests.erase(entry.mapped().trainer);
  if (x.failure) {
    take_failure(self, entry.mapped(), x);
    doubt_all_leases(st); // trials may have failed with it
  }
  st.plan.end_lease(x.lease);
  suspend_held(st);
  settle(self);
  take_from_holders(st, entry.mapped());
  free_lane(self, entry.mapped().trainer, entry.mapped().work.lane);
}

/// Ends a lease of which nothing more is expected.
void give_lease_up(self_ptr self, std::uint64_t number) {
  auto& st = self->state;
  auto entry = st.leases.extract(number);
  spdlog::info("merger: lease {} is free again from step {}", number,
               entry.mapped().reached);
  take_from_holders(st, entry.mapped());
  st.plan.end_lease(number);
}

/// Forgets a trainer of which nothing more is expected.
void forget_trainer(self_ptr self, std::uint64_t number) {
  auto& st = self->state;
  st.rests.erase(number);
  st.free_trainers.erase(number);
  const auto trainer = st.trainers.extract(number);
  if (!trainer)
    return;
  catch_up(self);
  for (const auto& lane : trainer.mapped().lanes)
    if (lane.lease != 0)
      give_lease_up(self, lane.lease);
  suspend_held(st);
  settle(self);
}

/// For how long a trainer may tell of the same state.
double stall_seconds(const merger_state& st,
                     const merger_state::lease_entry& entry) {
  const auto index = stage_index(entry.work, entry.beat_at + 1);
  return std::max(
    std::chrono::duration<double>(st.options.stall_max).count(),
    stall_steps * st.estimates.step_seconds(entry.speed_keys[index]));
}

/// Notes how far a trainer is. Ends its lease if it makes no progress.
void take_beat(self_ptr self, std::uint64_t trainer, std::uint64_t number,
               step_t at) {
  auto& st = self->state;
  const auto i = st.leases.find(number);
  if (i == st.leases.end() || i->second.trainer != trainer)
    return;
  auto& entry = i->second;
  const auto now = self->clock().now();
  const auto gap = seconds_between(entry.beat_since, now);
  entry.beat_since = now;
  entry.still_seconds += std::min(gap, beat_gap_max);
  if (std::exchange(entry.beat_at, at) != at)
    entry.still_seconds = 0;
  if (entry.still_seconds <= stall_seconds(st, entry))
    return;
  const auto why
    = "no step for "
      + std::to_string(static_cast<std::uint64_t>(entry.still_seconds))
      + " s, at step " + std::to_string(at);
  // What its other lanes train stands still as well.
  for (const auto& lane : st.trainers.at(trainer).lanes)
    if (lane.lease != 0)
      self->send(entry.handle, cancel_atom::value,
                 encode(cancel_request{lane.lease}));
  self->send(st.pool, stalled_atom::value, trainer, why);
  lease_end end;
  end.lease = number;
  end.at = std::max(at, entry.reached);
  end.failure = error{errc::training_failed, "trainer "
                                               + std::to_string(trainer)
                                               + " made " + why};
  take_failure(self, entry, end);
  doubt_all_leases(st); // trials may have failed with it
  forget_trainer(self, trainer);
}

/// A trainer that speaks nonsense gets no further than its present step.
void distrust(self_ptr self, const error& why) {
  const auto sender = self->current_sender();
  for (const auto& [number, x] : self->state.leases)
    if (sender == x.handle) {
      spdlog::error("merger: trainer {} of lease {}: {}", x.trainer, number,
                    why.message);
      self->send(x.handle, cancel_atom::value, encode(cancel_request{number}));
    }
}

void carry_out(merger_state& st, study_no study, const study_orders& x) {
  st.studies[study].wants_room = x.wants_room;
  st.studies[study].heard = x.heard;
  auto& trials = st.studies[study].trials;
  for (const auto& y : x.added) {
    if (y.no >= trials.size())
      trials.resize(y.no + 1, no_trial);
    trials[y.no] = st.plan.add_trial(study, y.segments, strand_for(st, study, y),
                                     y.responsive);
    st.number_in_study.push_back(y.no);
  }
  for (const auto& y : x.rerouted)
    st.plan.reroute(trials[y.no], y.segments);
  for (auto no : x.dropped)
    st.plan.drop(trials[no]);
  if (!x.dropped.empty())
    doubt_all_leases(st);
  for (const auto& y : x.asked)
    ask(st, st.studies[study], y);
}

/// Leases nothing more and cancels what runs.
void halt(self_ptr self) {
  auto& st = self->state;
  st.halted = true;
  for (const auto& [number, x] : st.leases)
    self->send(x.handle, cancel_atom::value, encode(cancel_request{number}));
}

void set_weight(self_ptr self, std::uint64_t study, double weight) {
  auto& st = self->state;
  if (study >= st.studies.size() || !(weight > 0) || std::isinf(weight)) {
    spdlog::warn("merger: ignored the weight {} for study {} of {}: it must be "
                 "a number greater than 0",
                 weight, study, st.studies.size());
    return;
  }
  catch_up(self);
  st.shares.set_weight(study, weight);
  settle(self);
}

merger_status status_of(const merger_state& st) {
  merger_status result;
  result.figures = st.plan.figures();
  for (study_no i = 0; i < st.studies.size(); ++i)
    result.by_study.push_back(st.plan.figures(i));
  result.trained_steps = st.trained_steps;
  result.reused_steps = st.plan.restored_steps();
  result.runnable_paths = st.chooser->runnable_count();
  result.device_seconds = st.totals.busy_seconds;
  if (st.trained_steps > 0)
    result.step_seconds
      = result.device_seconds / static_cast<double>(st.trained_steps);
  if (result.figures.delivered_steps > st.trained_steps)
    result.saved_seconds
      = static_cast<double>(result.figures.delivered_steps - st.trained_steps)
        * result.step_seconds;
  for (const auto& [number, x] : st.leases) {
    const auto& where = x.work.stages[stage_index(x.work, x.reached + 1)];
    result.running.push_back({x.trainer, x.work.lane, to_text(where.config),
                              x.reached, x.work.stages.back().end,
                              x.steps_per_second});
  }
  return result;
}

merger_overview overview_of(const merger_state& st) {
  auto result = st.totals;
  result.status = status_of(st);
  result.workload_key = st.workload_key;
  result.lanes = lanes_of(st.options.workload);
  result.stages = overview(st.plan);
  for (study_no i = 0; i < st.studies.size(); ++i)
    result.study_seconds.push_back(st.shares.seconds(i));
  const auto shared = st.plan.shared_steps();
  for (const auto& x : st.studies) {
    auto& trials = result.trials.emplace_back();
    for (auto id : x.trials)
      trials.push_back(id == no_trial
                         ? merger_overview::trial_entry{}
                         : merger_overview::trial_entry{shared[id],
                                                        st.plan.leaf_of(id)});
  }
  return result;
}

} // namespace

merger_actor::behavior_type merger(self_ptr self, merger_options options,
                                   pool_actor pool, journal_actor journal) {
  auto& state = self->state;
  state.options = std::move(options);
  state.workload_key = key_of(state.options.workload);
  state.pool = std::move(pool);
  state.journal = std::move(journal);
  state.next_lease = state.options.first_lease;
  state.begun = state.shared_until = self->clock().now();
  state.estimates = time_estimates{state.options.speed_names};
  state.checkpoint_bytes
    = restore(state.plan, std::exchange(state.options.known, {}));
  state.chooser = std::make_unique<scheduler>(state.plan, state.estimates,
                                              state.options.policy);
  self->send(state.pool, introduce_atom::value,
             caf::actor_cast<merger_actor>(self),
             workload_need{state.workload_key, state.options.workload.name,
                           state.options.workload_version,
                           numerics_of(state.options.workload)});
  return {
    [self](report_atom, const stop_report_wire& msg) {
      if (auto x = decode(msg))
        take_report(self, std::move(*x));
      else
        distrust(self, x.failure());
    },
    [self](ended_atom, const lease_end_wire& msg) {
      if (auto x = decode(msg))
        take_end(self, *x);
      else
        distrust(self, x.failure());
    },
    [self](register_atom, const study_registration& x,
           const trial_owner_actor& owner) {
      auto& st = self->state;
      auto& study = st.studies.emplace_back();
      study.id = x.id;
      study.owner = owner;
      study.held = x.held;
      st.shares.add(x.weight);
      return std::uint64_t{st.plan.add_study(x.when)};
    },
    [self](order_atom, std::uint64_t study, const study_orders& x) {
      carry_out(self->state, static_cast<study_no>(study), x);
      settle(self);
    },
    [self](weight_atom, std::uint64_t study, double weight) {
      set_weight(self, study, weight);
    },
    [self](go_atom) {
      self->state.going = true;
      settle(self);
    },
    [self](halt_atom) {
      halt(self);
      settle(self);
    },
    [self](hold_atom, std::uint64_t study, bool held) {
      hold(self->state, static_cast<study_no>(study), held);
      doubt_all_leases(self->state);
      settle(self);
    },
    [self](settings_atom, const workload_spec& x) {
      self->state.options.workload.settings = x.settings;
    },
    [self](budget_atom, std::uint64_t bytes) {
      auto& st = self->state;
      st.options.checkpoint_bytes_max = bytes;
      st.checkpoint_bytes_needed = 0;
      settle(self);
    },
    [self](retire_atom) -> caf::result<std::uint64_t> {
      auto promise = self->make_response_promise<std::uint64_t>();
      self->state.retiring = promise;
      halt(self);
      settle(self);
      return promise;
    },
    [self](grant_atom, std::uint64_t trainer, const trainer_actor& handle) {
      grant(self, trainer, handle);
    },
    [self](lost_atom, std::uint64_t trainer) {
      forget_trainer(self, trainer);
    },
    [self](beat_atom, std::uint64_t trainer, std::uint64_t number, step_t at) {
      take_beat(self, trainer, number, at);
    },
    [self](resent_atom, const stop_report& x, const trainer_actor& from) {
      take_late(self, x, from);
    },
    [self](yield_atom, std::uint64_t trainer) { yield(self, trainer); },
    [self](status_atom) { return status_of(self->state); },
    [self](status_atom, told_atom) {
      catch_up(self);
      return overview_of(self->state);
    },
  };
}

} // namespace hippo
