// What must hold of all that a simulated service has stored.

#include <algorithm>
#include <cmath>

#include "hippo/search/registry.hpp"
#include "hippo/search/sampler/pbt_explore.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/service/merge/options.hpp"
#include "hippo/space/repeats_reader.hpp"
#include "merger.hpp"
#include "pool.hpp"
#include "simulation/study_texts.hpp"
#include "simulation/world.hpp"
#include "study.hpp"

namespace hippo::simulation {

using namespace std::chrono_literals;

namespace {

using json = nlohmann::ordered_json;

/// A trial as it is stored.
struct known_trial {
  json params;
  std::map<step_t, metrics> results;
};

/// The key of the workload that trains one of a trial's seeds.
std::string key_with_seed(const study_spec& spec, std::uint32_t index) {
  auto workload = spec.workload;
  auto& seed = workload.options.at("seed");
  seed = std::get<double>(seed) + index;
  return key_of(workload);
}

/// Whether a trial and all that it was forked from are stored: a hidden one is
/// not.
bool has_origins(const std::map<std::uint64_t, known_trial>& trials,
                 std::uint64_t no) {
  const auto trial = trials.find(no);
  if (trial == trials.end())
    return false;
  const auto& params = trial->second.params;
  const auto split = params.find("forked");
  return split == params.end() || has_origins(trials, split->at("from"));
}

/// What a trial was trained with, by what is stored of it.
/// REQUIRES: `has_origins`
std::map<std::string, sequence>
values_of(const study_spec& spec,
          const std::map<std::uint64_t, known_trial>& trials,
          std::uint64_t no) {
  const auto& trial = trials.at(no);
  observations seen{spec.objective.direction, {}};
  for (const auto& [step, values] : trial.results)
    if (const auto i = values.find("value"); i != values.end())
      seen.values.push_back({step, i->second});
  const auto split = trial.params.find("forked");
  std::map<std::string, sequence> before, result;
  if (split != trial.params.end())
    before = values_of(spec, trials, split->at("from"));
  const auto made = [&](const json& shown) {
    return make_sequence(shown, spec.max_steps, seen, spec.typed).value;
  };
  for (const auto& [name, shown] : trial.params.items())
    if (name != "forked") {
      // As trials are shown that are forks, where no `join` says the same.
      if (const auto parts = shown.find("fork");
          shown.is_object() && parts != shown.end()) {
        result[name] = made(parts->at(0).at(1));
        for (std::size_t i = 1; i < parts->size(); ++i)
          result[name] = spliced(result[name], made(parts->at(i).at(1)),
                                 parts->at(i).at(0).get<step_t>());
      } else {
        result[name] = made(shown);
      }
      if (!before.empty())
        result[name]
          = spliced(before.at(name), result[name], split->at("at"));
    }
  return result;
}

} // namespace

/// Notes whether the service knows a trainer now that can do what it is given,
/// and which cannot.
void world::note_health() {
  for (const auto& [number, x] : nodes_)
    if (x.device->sick.any() || x.is_hung)
      ever_sick_.insert(number);
  had_healthy_
    = had_healthy_ && std::ranges::any_of(nodes_, [](const auto& x) {
        const auto& y = x.second;
        return !y.device->sick.any() && !y.is_hung && y.link
               && y.link->is_registered() && !y.link->is_lost();
      });
}

/// A trainer whose lease was cancelled is there for others again, whatever its
/// training does.
void world::check_returns() {
  const auto limits = call_limits{};
  for (const auto& [number, x] : nodes_)
    if (const auto span = x.device->unreturned();
        span > 2 * limits.grace + limits.first + 1s)
      fail("trainer " + std::to_string(number) + " does not return since "
           + std::to_string(span / 1s) + " s from a lease that was cancelled");
  after(1s, [this] { check_returns(); });
}

/// Trainers that wait for others of their like are not kept from those who
/// could use them.
void world::check_collected() {
  const bool is_late =
    what_.delay + what_.hang + what_.cut + what_.disk_slow + what_.say_idle > 0;
  const auto before = std::exchange(kept_from_others_, {});
  for (const auto* pool : states<pool_state, pool_actor>())
    for (const auto* x : states<merger_state, merger_actor>())
      for (const auto& [number, handle] : x->trainers) {
        if (!pool->core || !x->core || !pool->core->reserved_for(number)
            || !x->core->leases().has(number)
            || x->core->leases().trainer(number).leases > 0)
          continue;
        const auto i = before.find({x, number});
        const auto since = i == before.end() ? timeline_->now() : i->second;
        kept_from_others_[{x, number}] = since;
        if (!is_late && timeline_->now() - since > 12s)
          fail("trainer " + to_string(number)
               + " waits for others and is kept from who needs it");
      }
  after(1s, [this] { check_collected(); });
}

/// Training has failed by itself. A state takes so many attempts, and one more
/// for each trainer that comes while they are made; where messages are late, or
/// a trainer is at fault, some count for nothing.
void world::note_fruitless(const lease& work, const stop_point& next) {
  const auto* where = stage_reaching(work, next.at);
  auto& [times, first_node] =
    fruitless_[{where ? where->identity : 0, next.at, work.workload.settings}];
  if (times++ == 0)
    first_node = last_node_;
  const bool is_disturbed =
    what_.cut + what_.delay + what_.hang + what_.crash + what_.power_cut
      + what_.disk_slow + what_.disk_full + what_.read_only + what_.actor_death
      + what_.short_memory + what_.stuck + what_.dupe
    > 0;
  // Each trainer may hand back one lease, in each of its registrations.
  const std::uint64_t most =
    merger_options{}.attempts_max + (last_node_ - first_node)
    + (what_.hand_back > 0 ? last_node_ + what_.leave + what_.death : 0);
  if (times > (is_disturbed ? 10 * most : 2 * most))
    fail("training has failed " + std::to_string(times)
         + " times before step " + std::to_string(next.at)
         + " was reported, and is tried again");
}

/// What is held for trainers is theirs that are there, all of them no more than
/// leaves as much free, each no more than leaves as much to the others.
void world::check_held() {
  for (const auto* x : states<pool_state, pool_actor>()) {
    if (!x->core)
      continue;
    std::uint64_t all = 0;
    for (const auto& [number, those] : x->reports) {
      if (x->trainers.count(number) == 0)
        return fail("reports are held of a trainer that has gone");
      std::uint64_t held = 0;
      for (const auto& y : those.those)
        held += y.booked.bytes();
      all += held;
      if (held > pool_room / 4)
        return fail("a trainer has more than its share held");
    }
    if (all != x->core->options().held->root().held())
      return fail("what is held for trainers is not what is booked");
    if (all > pool_room / 2)
      return fail("trainers have more than their share held");
  }
}

/// Whether no study is left that trains or waits.
bool world::all_ended() {
  if (submissions_under_way_ > 0 || !is_up_ || !is_restored_
      || submitted_ < what_.studies)
    return false;
  for (const auto& [id, text] : accepted_)
    if (ended_.count(id) == 0)
      return false;
  return true;
}

/// What is stored equals what training alone gives.
void world::check_store() {
  auto store = state_reader::open(folder_ + "/state");
  if (!store)
    return fail("the store cannot be read: " + store.failure().message);
  const auto studies = (*store)->load_studies();
  if (!studies)
    return fail("the studies cannot be read: " + studies.failure().message);
  for (const auto& x : *studies)
    if (const auto full = (*store)->load_study(x.id); full)
      check_study(**store, *full);
}

void world::check_study(state_reader& store, const stored_study& study) {
  const auto label = "study " + to_string(study.id) + ", trial ";
  const auto read
    = admit_study(study.text, "study", simulated_workloads(),
                  as_before(study.algorithm, study.typed));
  if (study.state == study_phase::failed
      && study.reason.find("memory ran out") != std::string::npos
      && out_of_memory_.count(study.id) == 0)
    return fail("study " + to_string(study.id)
                + " pays for another: " + study.reason);
  if (study.reason.find("died twice") != std::string::npos
      && what_.actor_death == 0)
    return fail("study " + to_string(study.id)
                + " pays for its merger: " + study.reason);
  auto spec = read.study->spec();
  const auto rows = store.load_trials(study.id, 0, 100'000);
  const auto events = store.load_events(study.id, 0, 1'000'000);
  const auto behind = store.load_outdated();
  if (!rows || !events || !behind)
    return fail("study " + to_string(study.id) + " cannot be read");
  std::map<std::uint64_t, known_trial> trials;
  for (const auto& x : *rows)
    trials[x.trial].params = json::parse(x.params, nullptr, false);
  std::set<std::uint64_t> removed; // for a while at least
  for (const auto& event : *events)
    if (const auto* x = std::get_if<study_command>(&event.what);
        x && x->what == study_command::verb::remove && !x->text.empty()) {
      const auto said = json::parse(x->text);
      for (const auto& no : said["trials"])
        removed.insert(no.get<std::uint64_t>());
    }
  for (const auto& event : *events) {
    const auto* x = std::get_if<trial_measured>(&event.what);
    if (!x)
      continue;
    const bool is_given_up =
      study.state == study_phase::failed && out_of_memory_.contains(study.id);
    // One that had ended was told of nothing when its merger died, and takes
    // it in after the next start.
    const bool is_behind =
      what_.short_memory + what_.actor_death > 0 && behind->contains(study.id);
    if (trials.count(x->trial) == 0
        && (removed.contains(x->trial) || is_given_up || is_behind))
      continue;
    if (trials.count(x->trial) == 0)
      return fail(label + std::to_string(x->trial)
                  + " was measured and is not stored");
    if (x->is_part)
      continue; // it is told of again after a restart
    if (!trials[x->trial].results.emplace(x->at, x->values).second)
      return fail(label + std::to_string(x->trial) + " was told of step "
                  + std::to_string(x->at) + " twice");
  }
  tuner decisions{spec, read_search(spec),
                  trial_defaults{simulated_workloads()[0]}};
  for (const auto& event : *events)
    if (const auto* x = std::get_if<study_command>(&event.what);
        x && x->what == study_command::verb::extend)
      if (const auto steps = json::parse(x->text).value("steps", step_t{0});
          steps > 0 && !decisions.refusal_of_length(steps)) {
        decisions.lengthen(steps);
        spec.max_steps = std::max(spec.max_steps, steps);
      }
  const auto& when = decisions.when();
  for (const auto& row : *rows) {
    const auto& trial = trials[row.trial];
    if (!has_ended(row.state) && has_ended(study.state))
      return fail(label + std::to_string(row.trial) + " has not ended: "
                  + to_string(row.state));
    if (trial.params.is_discarded() || trial.params.empty()
        || !has_origins(trials, row.trial))
      continue;
    auto sequences = values_of(spec, trials, row.trial);
    sequences.emplace("lr", sequence{form::constant(0.1)});
    sequences.emplace("batch_size", sequence{form::constant(64)});
    const auto segments = join(sequences, spec.max_steps);
    const auto hash_at = [&](step_t at) {
      auto i = segments.size();
      while (segments[--i].begin > at) {
      }
      return hash_of(segments[i].config);
    };
    const auto repeats = repeats_of(spec);
    std::vector<hash_state> states; // one for each seed
    for (std::uint32_t i = 0; i < repeats.spec.seeds; ++i)
      states.push_back(hash_state::initial(key_with_seed(spec, i)));
    const auto initial = states;
    for (const auto& [at, values] : trial.results) {
      std::vector<metrics> by_seed;
      for (auto& state : states) {
        while (state.at < at)
          state.step(hash_at(state.at));
        by_seed.push_back({{"value", state.measured()}});
      }
      ++compared_;
      if (values
          != (repeats.is_one() ? by_seed[0] : summarize(repeats, by_seed)))
        return fail(label + std::to_string(row.trial) + " measured at step "
                    + std::to_string(at)
                    + " what training it alone does not give: "
                    + trial.params.dump());
    }
    if (row.state != trial_state::failed)
      continue;
    // It fails on its way, where it does alone; else somebody else's fault
    // did it.
    // What it measures before, it was told.
    bool is_its_own = !may_run(spec.workload);
    bool is_others = false; // somewhere it may have failed on some trainers
    const auto first =
      trial.results.empty() ? step_t{0} : trial.results.rbegin()->first;
    for (auto state : initial)
      // One seed may have got further than another one.
      for (const auto until = repeats.is_one() ? when.next(states[0].at)
                                               : spec.max_steps;
           ;) {
        const auto wrong =
          what_.flaws + what_.hangs != 0 ? state.wrong() : flaw{};
        // A step that only others measure or keep counts as well where it
        // passes there: nobody else would be told of it.
        if (wrong.call != flawed_call::none
            && (wrong.call != flawed_call::init || state.at == 0)
            && (wrong.call != flawed_call::evaluate
                || (state.at > first && when.next(state.at - 1) == state.at)))
          (wrong.is_everywhere ? is_its_own : is_others) = true;
        if (state.at >= until)
          break;
        state.step(hash_at(state.at));
        if (what_.poison != 0 && state.at > first)
          is_its_own = is_its_own || state.is_poisoned() || state.is_diverged();
      }
    // What a trainer measures is believed. Else its faults fail no trial while
    // there is another one to try it, which a service knows of, unless as many
    // as make a verdict have them.
    // Those that are lost one after the other over it, by whatever chance, say
    // nothing else.
    // Two that measure what is not there are believed.
    const bool is_disturbed
      = !had_healthy_ || life_ > 1
        || what_.death + what_.leave + what_.cut + what_.delay > 0;
    const bool is_excused =
      (what_.nan > 0
       && (is_disturbed || ever_sick_.size() >= 2 || what_.trainers < 2))
      || what_.death >= merger_options{}.attempts_max
      || (is_others
          && (what_.trainers < 2
              || ever_sick_.size() >= merger_options{}.attempts_max
              || std::ranges::any_of(scenario::fields(),
                                     [this](const auto& x) {
                                       return x.is_fault
                                              && x.value != &scenario::flaws
                                              && x.value != &scenario::hangs
                                              && x.value != &scenario::messages
                                              && x.value != &scenario::budget
                                              && x.value != &scenario::settings
                                              && x.value != &scenario::memory
                                              && x.value != &scenario::parts
                                              && x.value != &scenario::ranks
                                              && what_.*x.value > 0;
                                     })))
      || (what_.sick_load + what_.sick_train + what_.io_failed + what_.stuck
              + what_.hang + what_.slow + what_.nonsense + what_.late
              + what_.hand_back + what_.do_nothing + what_.say_idle + what_.move
              + what_.dupe
            > 0
          && (is_disturbed || what_.short_memory > 0
              || ever_sick_.size() >= std::min<std::uint64_t>(
                   merger_options{}.attempts_max, what_.trainers)));
    if (!is_its_own && !is_excused)
      return fail(label + std::to_string(row.trial) + " failed, and training "
                  "it alone does not: " + row.failure);
  }
}

} // namespace hippo::simulation
