#include "hippo/plan/search_plan.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

/// Inserts `x` into a short sorted vector; returns whether it was not there.
template <class Vector>
bool insert_sorted(Vector& xs, const typename Vector::value_type& x) {
  const auto i = std::lower_bound(xs.begin(), xs.end(), x);
  if (i != xs.end() && *i == x)
    return false;
  xs.insert(i, x);
  return true;
}

std::uint64_t key_of(node_id parent, step_t begin, std::uint64_t strand,
                     const configuration_pool::compact& config) {
  const std::uint64_t head[]{number_of(parent), begin, strand};
  return hash_bytes(config.data(), config.size() * sizeof(config[0]),
                    hash_bytes(head, sizeof(head)));
}

} // namespace

bool want::is_of(study_no study) const {
  return std::any_of(live.begin(), live.end(),
                     [&](const auto& x) { return x.first == study; });
}

const error* plan_node::divergence_at(step_t at) const {
  if (!troubles)
    return nullptr;
  const auto i = troubles->diverged.find(at);
  return i == troubles->diverged.end() ? nullptr : &i->second;
}

search_plan::search_plan(waiting_limits limits,
                         std::pmr::memory_resource* cold)
  : limits_(limits),
    pool_(cold),
    nodes_(cold),
    by_key_(cold),
    trials_(std::pmr::deque<trial_state>(cold)) {
  assert(limits.near > 0 && limits.near <= limits.far);
  nodes_.emplace_back();
  nodes_[root_node].checkpoints.emplace(0, checkpoint{}); // the initial state
}

// -- building -----------------------------------------------------------------

study_no search_plan::add_study(measuring when) {
  assert(!when.rungs.empty() && when.every > 0);
  study_state study;
  study.measuring = intern(std::move(when));
  return studies_.add(study);
}

void search_plan::lengthen(study_no study, measuring when) {
  auto& known = studies_[study];
  assert(when.rungs.back() >= measurings_[known.measuring].rungs.back());
  known.measuring = intern(std::move(when));
  known.segments = 0; // of its trials, which are rerouted
}

std::uint32_t search_plan::intern(measuring measuring) {
  auto i = std::find(measurings_.begin(), measurings_.end(), measuring);
  if (i == measurings_.end())
    i = measurings_.insert(i, std::move(measuring));
  return static_cast<std::uint32_t>(i - measurings_.begin());
}

node_id search_plan::add_node(node_id parent, step_t begin,
                              std::uint64_t strand,
                              configuration_pool::compact config) {
  const node_id id{nodes_.size()};
  by_key_.emplace(key_of(parent, begin, strand, config), id);
  auto& made = nodes_.emplace_back();
  made.parent = parent;
  made.depth = nodes_[parent].depth + 1;
  made.begin = begin;
  made.asked_to = made.delivered_to = made.known_to = begin;
  made.strand = strand;
  auto& above = nodes_[parent];
  const std::uint64_t way[]{above.identity, begin, strand,
                            pool_.digest_of(config)};
  made.identity = hash_bytes(way, sizeof(way));
  made.config = std::move(config);
  made.next_sibling = std::exchange(above.first_child, id);
  insert_sorted(above.cuts, begin);
  return id;
}

std::optional<node_id> search_plan::find_child(
  node_id parent, step_t begin, std::uint64_t strand,
  const configuration_pool::compact& config) const {
  const auto [first, last]
    = by_key_.equal_range(key_of(parent, begin, strand, config));
  for (auto i = first; i != last; ++i) {
    const auto& x = nodes_[i->second];
    if (x.parent == parent && x.begin == begin && x.strand == strand
        && x.config == config)
      return i->second;
  }
  return std::nullopt;
}

node_id search_plan::child_of(node_id parent, step_t begin,
                              std::uint64_t strand,
                              configuration_pool::compact config) {
  if (const auto found = find_child(parent, begin, strand, config))
    return *found;
  const auto id = add_node(parent, begin, strand, std::move(config));
  made_.push_back(id);
  for (const auto& r : nodes_[parent].running)
    if (r.reached < begin && begin <= r.to)
      added_stops_.push_back({r.lease, {begin, false, true}});
  return id;
}

node_id search_plan::chain(const trial_state& trial,
                           const std::vector<segment>& segments,
                           std::uint64_t strand) {
  assert(!segments.empty());
  auto when = studies_[trial.study].measuring;
  if (trial.responsive) {
    auto own = measurings_[when];
    own.parts_anywhere = true;
    when = intern(std::move(own));
  }
  auto at = root_node;
  for (const auto& x : segments) {
    at = child_of(at, x.begin, strand, pool_.intern(x.config));
    if (insert_sorted(nodes_[at].measurings, when))
      announce_stops(at, measurings_[when]);
  }
  return at;
}

trial_id search_plan::add_trial(study_no study,
                                const std::vector<segment>& segments,
                                std::uint64_t strand, bool responsive) {
  assert(studies_.has(study));
  trial_state trial;
  trial.study = study;
  trial.responsive = responsive;
  trial.leaf = chain(trial, segments, strand);
  ++studies_[study].figures.trials;
  studies_[study].segments += segments.size();
  return trials_.add(trial);
}

void search_plan::reroute(trial_id id, const std::vector<segment>& segments) {
  auto& trial = trials_[id];
  [[maybe_unused]] const auto before = node_at(id, trial.asked_to);
  trial.leaf = chain(trial, segments, nodes_[trial.leaf].strand);
  studies_[trial.study].segments += segments.size();
  assert(node_at(id, trial.asked_to) == before);
}

void search_plan::announce_stops(node_id at, const measuring& when) {
  const auto& x = nodes_[at];
  for (const auto& r : x.running)
    for (auto t = when.next(r.reached); t != 0 && t <= r.to; t = when.next(t))
      added_stops_.push_back(
        {r.lease, {t, !is_measured(x, t), when.keeps(t)}});
  for (const auto& r : x.running)
    for (auto t : when.branches)
      if (t > r.reached && t <= r.to)
        added_stops_.push_back({r.lease, {t, false, true}});
}

void search_plan::cover(trial_id id, step_t to) {
  auto& trial = trials_[id];
  if (to <= trial.asked_to)
    return;
  auto& figures = studies_[trial.study].figures;
  figures.asked_steps += to - trial.asked_to;
  asked_steps_ += to - trial.asked_to;
  for (const auto& [at, end] : passages(id, to)) {
    auto& x = nodes_[at];
    if (end > x.asked_to) {
      unique_steps_ += end - x.asked_to;
      x.asked_to = end;
    }
    auto& reach = reach_of(x, trial.study);
    if (end > reach.asked_to) {
      figures.unique_steps += end - reach.asked_to;
      reach.asked_to = end;
    }
  }
  trial.asked_to = to;
}

// -- training -----------------------------------------------------------------

std::vector<stop_point> search_plan::stops_of(node_id at, step_t from,
                                              step_t to,
                                              step_t save_every) const {
  const auto& x = nodes_[at];
  std::map<step_t, stop_point> stops;
  const auto stop_at = [&](step_t t) -> stop_point& {
    return stops.try_emplace(t, stop_point{t, false, false}).first->second;
  };
  stop_at(to).save = true;
  for (auto i = std::upper_bound(x.cuts.begin(), x.cuts.end(), from);
       i != x.cuts.end() && *i <= to; ++i)
    stop_at(*i).save = true;
  for (auto no : x.measurings) {
    const auto& when = measurings_[no];
    for (auto t = when.next(from); t != 0 && t <= to; t = when.next(t)) {
      auto& stop = stop_at(t);
      stop.evaluate = true;
      stop.save = stop.save || when.keeps(t);
    }
    if (from == to && when.covers(to))
      stop_at(to).evaluate = true;
    for (auto t : when.branches)
      if (t > from && t <= to)
        stop_at(t).save = true;
  }
  if (save_every > 0)
    for (auto t = from + save_every; t < to; t += save_every)
      stop_at(t).save = true;
  std::vector<stop_point> result;
  for (auto& [t, stop] : stops) {
    stop.evaluate = stop.evaluate && !is_measured(x, t);
    stop.save = stop.save && x.checkpoints.count(t) == 0;
    if (stop.evaluate || stop.save || t == to)
      result.push_back(stop);
  }
  return result;
}

void search_plan::begin_lease(const lease& lease) {
  lease_state state;
  for (const auto& s : lease.stages) {
    state.stages.push_back({s.node, s.begin, s.end, {}});
    nodes_[s.node].running.push_back({lease.number, s.begin, s.end, s.begin});
    changed_.insert(s.node);
  }
  leases_.emplace(lease.number, std::move(state));
}

std::optional<recorded> search_plan::record(const stop_report& report) {
  const auto l = leases_.find(report.lease);
  if (l == leases_.end())
    return std::nullopt;
  const auto& stages = l->second.stages;
  const auto at = report.at;
  const auto stage_of
    = std::find_if(stages.begin(), stages.end(), [&](const stage& s) {
        return (s.begin < at && at <= s.end) || (s.begin == at && s.end == at);
      });
  if (stage_of == stages.end())
    return std::nullopt;
  const auto id = stage_of->node;
  for (const auto& s : stages) {
    auto& running = nodes_[s.node].running;
    const auto r = std::find_if(running.begin(), running.end(), [&](auto& y) {
      return y.lease == report.lease;
    });
    if (r == running.end() || s.begin > at)
      continue;
    r->reached = std::max(r->reached, std::min(at, r->to));
    if (r->reached == r->to)
      running.erase(r);
    changed_.insert(s.node);
  }
  return keep(id, report);
}

recorded search_plan::keep(node_id at, const stop_report& report) {
  auto& x = nodes_[at];
  recorded result{at, false, false};
  if (report.saved)
    result.saved = x.checkpoints.try_emplace(report.at, *report.saved).second;
  if (!report.values.empty())
    result.measured = put_result(x, report.at, report.values);
  if (result.saved || result.measured)
    changed_.insert(at);
  if (result.measured)
    answer(at, report.at);
  return result;
}

bool search_plan::put_result(plan_node& node, step_t at,
                             const metrics& values) {
  // What was said of a state first counts: trials may have failed with it.
  return node.results.count(at) == 0 && node.divergence_at(at) == nullptr
         && node.results.try_emplace(at, values, nodes_.names()).second;
}

bool search_plan::is_measured(const plan_node& node, step_t at) {
  return node.results.count(at) > 0 || node.divergence_at(at) != nullptr;
}

trouble& search_plan::troubles_of(node_id at) {
  auto& x = nodes_[at].troubles;
  if (!x)
    x = std::make_unique<trouble>();
  return *x;
}

std::optional<recorded> search_plan::adopt(const stop_report& report) {
  const auto id = report.node;
  if (id == root_node || !has_node(id)
      || nodes_[id].identity != report.identity
      || report.at <= nodes_[id].begin)
    return std::nullopt;
  return keep(id, report);
}

void search_plan::end_lease(lease_id number) {
  const auto l = leases_.extract(number);
  if (!l)
    return;
  for (const auto& s : l.mapped().stages) {
    auto& running = nodes_[s.node].running;
    const auto gone
      = std::remove_if(running.begin(), running.end(),
                       [&](const auto& y) { return y.lease == number; });
    if (gone == running.end())
      continue;
    running.erase(gone, running.end());
    changed_.insert(s.node);
  }
}

void search_plan::forget_checkpoint(node_id at, step_t step) {
  if (nodes_[at].checkpoints.erase(step) > 0)
    changed_.insert(at);
}

// -- what was there before ----------------------------------------------------

void search_plan::restore_node(node_id id, node_id parent, step_t begin,
                               const configuration& config,
                               std::uint64_t strand) {
  [[maybe_unused]] const auto made
    = add_node(parent, begin, strand, pool_.intern(config));
  assert(made == id);
  (void)id;
}

void search_plan::restore_lost(node_id id) {
  // Strands are given from 0 on; each of these has one of its own.
  restore_node(id, root_node, 0, {}, ~number_of(id));
}

void search_plan::restore_result(node_id at, step_t step,
                                 const metrics& values) {
  auto& x = nodes_[at];
  put_result(x, step, values);
  change_restored(x, [&] { x.restored_to = std::max(x.restored_to, step); });
}

void search_plan::restore_checkpoint(node_id at, step_t step, checkpoint file) {
  auto& x = nodes_[at];
  x.checkpoints.try_emplace(step, std::move(file));
  change_restored(x, [&] { x.restored_to = std::max(x.restored_to, step); });
}

// -- outcomes -----------------------------------------------------------------

std::vector<delivery> search_plan::take_deliveries() {
  return std::exchange(deliveries_, {});
}

std::vector<trial_failure> search_plan::take_failures() {
  return std::exchange(failures_, {});
}

std::vector<added_stop> search_plan::take_added_stops() {
  return std::exchange(added_stops_, {});
}

std::set<node_id> search_plan::take_changed() {
  return std::exchange(changed_, {});
}

std::vector<node_id> search_plan::take_made() {
  return std::exchange(made_, {});
}

// -- looking ------------------------------------------------------------------

merge_figures search_plan::figures() const {
  return {trials_.size(), asked_steps_, unique_steps_, delivered_steps_,
          unique_delivered_steps_, shared_steps_};
}

merge_figures search_plan::figures(study_no study) const {
  return studies_[study].figures;
}

std::uint64_t search_plan::memory_bytes() const {
  std::uint64_t waiting = 0;
  for (const auto& x : studies_)
    waiting += x.wants;
  constexpr auto want_bytes = sizeof(step_t) + sizeof(want) + 2 * block_bytes;
  return nodes_.memory_bytes() + nodes_.names().bytes()
         + waiting * want_bytes;
}

std::uint64_t search_plan::cold_bytes() const {
  constexpr auto key_bytes = 3 * block_bytes; // in `by_key_`
  return nodes_.cold_bytes() + nodes_.size() * key_bytes
         + trials_.size() * sizeof(trial_state) + pool_.cold_bytes();
}

step_t search_plan::densest_measuring(node_id at) const {
  step_t result = 0;
  for (auto no : nodes_[at].measurings)
    if (result == 0 || measurings_[no].every < result)
      result = measurings_[no].every;
  return std::max<step_t>(result, 1);
}

std::vector<search_plan::passage> search_plan::passages(trial_id trial,
                                                        step_t to) const {
  std::vector<passage> result;
  auto end = to;
  for (auto at = trials_[trial].leaf; at != root_node; at = nodes_[at].parent)
    if (nodes_[at].begin < to) {
      result.push_back({at, end});
      end = nodes_[at].begin;
    }
  std::reverse(result.begin(), result.end());
  return result;
}

step_t search_plan::uncovered_steps(trial_id trial, step_t to) const {
  step_t result = 0;
  for (const auto& [at, end] : passages(trial, to))
    if (end > nodes_[at].asked_to)
      result += end - nodes_[at].asked_to;
  return result;
}

step_t search_plan::uncovered_steps(const std::vector<segment>& segments,
                                    step_t to) const {
  step_t result = 0;
  auto at = root_node;
  for (std::size_t i = 0; i < segments.size() && segments[i].begin < to; ++i) {
    const auto begin = segments[i].begin;
    const auto config = pool_.find(segments[i].config);
    const auto next = config ? find_child(at, begin, 0, *config) : std::nullopt;
    if (!next)
      return result + to - begin;
    at = *next;
    const auto end
      = i + 1 < segments.size() ? std::min(segments[i + 1].begin, to) : to;
    if (end > nodes_[at].asked_to)
      result += end - nodes_[at].asked_to;
  }
  return result;
}

const measuring& search_plan::measuring_of(trial_id trial) const {
  return measurings_[studies_[trials_[trial].study].measuring];
}

node_id search_plan::node_at(trial_id trial, step_t at) const {
  auto id = trials_[trial].leaf;
  while (id != root_node && nodes_[id].begin >= at)
    id = nodes_[id].parent;
  return id;
}

} // namespace hippo
