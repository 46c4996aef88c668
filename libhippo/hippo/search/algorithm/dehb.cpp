#include "hippo/search/algorithm/dehb.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <memory>
#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/sampler/differential_evolution.hpp"
#include "hippo/search/surrogate/counter_rng.hpp"

namespace hippo {

namespace {

/// Differential evolution by `rand/1`: a base, and the difference of two.
constexpr std::size_t parent_count = 3;

/// The number of possible parents: the trials that have come farthest.
constexpr std::size_t farthest_count = 10;

} // namespace

std::vector<dehb_bracket> dehb_brackets(std::size_t rungs, std::uint64_t eta) {
  std::vector<std::uint64_t> powers{1};
  while (powers.size() < rungs)
    powers.push_back(powers.back() * eta);
  std::vector<dehb_bracket> result;
  for (auto s = rungs; s-- > 0;) {
    dehb_bracket x{rungs - 1 - s, {}};
    const auto first = rungs / (s + 1) * powers[s];
    for (std::size_t k = 0; k <= s; ++k)
      x.sizes.push_back(std::max<std::uint64_t>(1, first / powers[k]));
    result.push_back(std::move(x));
  }
  return result;
}

// -- populations --------------------------------------------------------------

std::size_t dehb::population::take_turn() {
  const auto result = next++;
  if (next == places.size())
    next = 0;
  return result;
}

void dehb::population::compete(std::size_t place, const standing& standing) {
  auto& holder = places[place];
  if (holder) {
    if (std::pair{holder->is_nan, holder->loss}
        < std::pair{standing.is_nan, standing.loss})
      return;
    ranking.erase(std::lower_bound(ranking.begin(), ranking.end(), *holder));
  }
  ranking.insert(std::lower_bound(ranking.begin(), ranking.end(), standing),
                 standing);
  holder = standing;
}

// -- brackets -----------------------------------------------------------------

std::uint64_t dehb::bracket::to_begin() const {
  if (has_ended() || !begins_trials())
    return 0;
  auto result = sizes[at] - started;
  if (!promotes)
    for (auto k = at + 1; k < sizes.size(); ++k)
      result += sizes[k];
  return result;
}

dehb::bracket dehb::planned(std::size_t index, std::uint64_t left) const {
  const auto& whole = round_[index % round_.size()];
  bracket result;
  result.first_rung = whole.first_rung;
  result.sizes = whole.sizes;
  result.promotes = promotes_always_ || index < round_.size();
  if (!result.promotes) {
    for (auto& x : result.sizes) {
      x = std::min(x, left);
      left -= x;
    }
  } else if (auto size = result.sizes[0]; left < size) {
    size = left;
    for (auto& x : result.sizes) {
      x = std::max<std::uint64_t>(1, size);
      size /= eta_;
    }
  }
  return result;
}

std::uint64_t dehb::left() const {
  auto result = most_ - next_;
  for (auto i = first_active_; i < brackets_.size(); ++i)
    result -= std::min(result, brackets_[i].to_begin());
  return result;
}

void dehb::settle(bracket& which, std::vector<action>& out) {
  while (!which.has_ended() && which.awaited == 0) {
    const bool is_full =
      which.begins_trials()
        ? which.started == which.sizes[which.at] || next_ == most_
        : which.to_go_on.empty();
    if (!is_full)
      break;
    end_rung(which, out);
  }
}

void dehb::end_rung(bracket& which, std::vector<action>& out) {
  const bool is_last = which.first_rung + which.at + 1 == rungs_.size();
  const auto kept = !which.promotes || is_last
                      ? 0
                      : std::min<std::uint64_t>(which.sizes[which.at + 1],
                                                which.reported.size());
  std::sort(which.reported.begin(), which.reported.end());
  std::vector<trial_no> others;
  for (std::size_t i = 0; i < which.reported.size(); ++i)
    (i < kept ? which.to_go_on : others).push_back(which.reported[i].trial);
  std::reverse(which.to_go_on.begin(), which.to_go_on.end());
  std::sort(others.begin(), others.end());
  for (auto trial : others) {
    trials_[trial].phase = trial_phase::ended;
    if (!is_last)
      out.emplace_back(prune{trial});
  }
  if (which.reported.empty() && which.promotes) { // where a retry finds it
    which.all_failed = true;
    return;
  }
  which.reported.clear();
  which.started = 0;
  ++which.at;
}

// -- what an algorithm does ---------------------------------------------------

dehb::dehb(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
           bool promotes_always, direction better,
           std::optional<std::uint64_t> concurrent, std::uint64_t seed)
  : most_(trials), rungs_(std::move(rungs)), eta_(eta),
    promotes_always_(promotes_always), better_(better), limit_(concurrent),
    seed_(seed), round_(dehb_brackets(rungs_.size(), eta)),
    populations_(rungs_.size()) {
  assert(rungs_.size() > 1 && most_ > 0);
  for (std::size_t rung = 0; rung < rungs_.size(); ++rung) {
    std::uint64_t size = 0;
    for (const auto& x : round_)
      if (rung >= x.first_rung)
        size = std::max(size, x.sizes[rung - x.first_rung]);
    populations_[rung].places.resize(std::min(size, most_));
  }
}

std::vector<action> dehb::open(std::uint64_t trials) {
  std::vector<action> out;
  trials_.resize(trials);
  proceed(out);
  return out;
}

std::vector<action> dehb::on_result(trial_no trial, step_t at, double value) {
  std::vector<action> out;
  auto& x = trials_[trial];
  if (x.phase != trial_phase::training || at != rungs_[x.rung])
    return out;
  const auto own = standing_of(trial, value, better_);
  populations_[x.rung].compete(x.place, own);
  auto& in = brackets_[x.bracket];
  x.phase = trial_phase::resting;
  in.reported.push_back(own);
  --in.awaited;
  limit_.leave();
  settle(in, out);
  proceed(out);
  return out;
}

std::vector<action> dehb::on_failure(trial_no trial) {
  std::vector<action> out;
  auto& x = trials_[trial];
  const auto before = std::exchange(x.phase, trial_phase::ended);
  if (before == trial_phase::ended)
    return out;
  if (before != trial_phase::fresh) {
    auto& in = brackets_[x.bracket];
    if (before == trial_phase::training) {
      --in.awaited;
      limit_.leave();
    } else {
      std::erase(in.to_go_on, trial);
      std::erase_if(in.reported,
                    [trial](const standing& y) { return y.trial == trial; });
    }
    settle(in, out);
  }
  proceed(out);
  return out;
}

bool dehb::take_back(trial_no trial) {
  // Who was awaited on a rung that has ended is late for it.
  auto& x = trials_[trial];
  auto& in = brackets_[x.bracket];
  if (x.rung != in.first_rung + in.at)
    return false;
  in.all_failed = false;
  first_active_ = std::min<std::size_t>(first_active_, x.bracket);
  x.phase = trial_phase::training;
  ++in.awaited;
  limit_.enter();
  done_ = false;
  return true;
}

std::vector<action> dehb::widen(std::uint64_t trials) {
  std::vector<action> out;
  limit_.widen(trials);
  if (!done_)
    proceed(out);
  return out;
}

bool dehb::find_fresh() {
  while (next_ < trials_.size() && trials_[next_].phase != trial_phase::fresh)
    ++next_; // it was cancelled
  return next_ < trials_.size();
}

void dehb::proceed(std::vector<action>& out) {
  while (limit_.has_room() && start_next(out))
    ;
  done_ = limit_.empty() && next_ == most_;
  check_invariants();
}

bool dehb::start_next(std::vector<action>& out) {
  find_fresh();
  for (auto i = first_active_; i < brackets_.size(); ++i) {
    settle(brackets_[i], out);
    if (start_on(i, out))
      return true;
  }
  while (first_active_ < brackets_.size()
         && brackets_[first_active_].has_ended())
    ++first_active_;
  const auto unused = left();
  if (unused == 0 || !find_fresh())
    return false;
  brackets_.push_back(planned(brackets_.size(), unused));
  return start_on(brackets_.size() - 1, out);
}

bool dehb::start_on(std::size_t index, std::vector<action>& out) {
  auto& in = brackets_[index];
  if (in.has_ended())
    return false;
  const auto rung = in.first_rung + in.at;
  trial_no trial = 0;
  if (in.begins_trials()) {
    if (in.started == in.sizes[in.at] || !find_fresh())
      return false;
    trial = next_++;
  } else {
    if (in.to_go_on.empty())
      return false;
    trial = in.to_go_on.back();
    in.to_go_on.pop_back();
  }
  const auto place = populations_[rung].take_turn();
  if (in.begins_trials())
    if (const auto& target = populations_[rung].places[place])
      if (auto parents = choose_parents(trial, index, target->trial);
          !parents.empty())
        out.emplace_back(cross{trial, target->trial, std::move(parents)});
  trials_[trial] = {trial_phase::training, static_cast<std::uint32_t>(rung),
                    static_cast<std::uint32_t>(index),
                    static_cast<std::uint32_t>(place)};
  ++in.started;
  ++in.awaited;
  limit_.enter();
  out.emplace_back(advance{trial, rungs_[rung]});
  return true;
}

std::vector<trial_no> dehb::farthest() const {
  std::vector<trial_no> result;
  for (auto x = populations_.rbegin(); x != populations_.rend(); ++x)
    for (const auto& y : x->ranking)
      if (result.size() < farthest_count
          && std::find(result.begin(), result.end(), y.trial) == result.end())
        result.push_back(y.trial);
  return result;
}

std::vector<trial_no> dehb::possible_parents(std::size_t index) const {
  if (promotes_always_)
    return farthest();
  const auto& in = brackets_[index];
  const auto rung = in.first_rung + in.at;
  const auto& from = populations_[in.at == 0 ? rung : rung - 1].ranking;
  const auto wanted = round_[index % round_.size()].sizes[in.at];
  std::vector<trial_no> result;
  for (std::size_t i = 0; i < std::min<std::uint64_t>(wanted, from.size()); ++i)
    result.push_back(from[i].trial);
  return result;
}

std::vector<trial_no> dehb::choose_parents(trial_no trial, std::size_t index,
                                           trial_no target) const {
  const auto from = possible_parents(index);
  counter_rng draws{{seed_, trial}, "parents"};
  std::vector<trial_no> result;
  const auto add = [&](trial_no x) {
    if (x != target
        && std::find(result.begin(), result.end(), x) == result.end())
      result.push_back(x);
  };
  if (from.size() > parent_count) { // these without the target are enough
    while (result.size() < parent_count)
      add(from[draws.below(from.size())]);
    return result;
  }
  for (const auto x : from)
    add(x);
  std::vector<trial_no> others;
  for (const auto& x : populations_)
    for (const auto& y : x.ranking)
      others.push_back(y.trial);
  while (result.size() < parent_count && !others.empty()) {
    auto& x = others[draws.below(others.size())];
    add(x);
    x = others.back();
    others.pop_back();
  }
  if (result.size() < parent_count)
    return {};
  for (auto i = result.size(); i > 1; --i) // who is the base is left to chance
    std::swap(result[i - 1], result[draws.below(i)]);
  return result;
}

// -- what is to come ----------------------------------------------------------

/// Returns the steps that a trial takes to come to the bracket's rung `at`.
step_t dehb::hop(const bracket& which, std::size_t at) const {
  const auto rung = which.first_rung + at;
  return rungs_[rung] - (which.promotes && at > 0 ? rungs_[rung - 1] : 0);
}

void dehb::add_work(const bracket& which, expected_work& to) const {
  if (which.has_ended())
    return;
  step_t longest = 0;
  for (auto k = which.at; k < which.sizes.size(); ++k) {
    const auto trials = k > which.at            ? which.sizes[k]
                        : which.begins_trials() ? which.sizes[k] - which.started
                                                : which.to_go_on.size();
    to.steps += trials * hop(which, k);
    if (trials > 0)
      longest += hop(which, k);
  }
  to.longest = std::max(to.longest, longest);
}

expected_work dehb::to_come() const {
  expected_work result;
  if (done_)
    return result;
  for (auto i = first_active_; i < brackets_.size(); ++i)
    add_work(brackets_[i], result);
  auto trials = left();
  for (auto index = brackets_.size(); trials > 0; ++index) {
    if (index >= round_.size() && index % round_.size() == 0) {
      expected_work round;
      std::uint64_t size = 0;
      for (std::size_t i = 0; i < round_.size(); ++i) {
        const auto x = planned(index + i, most_);
        size += x.to_begin();
        add_work(x, round);
      }
      result.steps += trials / size * round.steps;
      trials %= size;
    }
    if (trials == 0)
      break;
    const auto x = planned(index, trials);
    trials -= x.to_begin();
    add_work(x, result);
  }
  return result;
}

void dehb::check_invariants() const {
  assert(next_ <= trials_.size() && trials_.size() <= most_);
  for (auto i = first_active_; i < brackets_.size(); ++i) {
    [[maybe_unused]] const auto& x = brackets_[i];
    assert(x.has_ended() || !x.begins_trials()
           || x.started <= x.sizes[x.at]);
    assert(x.awaited <= x.started && (x.awaited == 0 || !x.has_ended()));
    assert(x.reported.size() + x.awaited <= x.started);
  }
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option dehb_promote{
  .name = "promote",
  .type = option_type::word,
  .words = {"always", "first-round"},
  .fallback = "always",
  .meaning = "the rounds in which trials continue on later rungs; with"
             " `first-round` parents are chosen as in the paper, too"};

constexpr option dehb_options[]{eta_option, min_option, max_option,
                                dehb_promote, auto_concurrent_option};

void check_dehb_rungs(algorithm_reader& from, const dehb_settings& x) {
  if (x.first < x.max)
    return;
  from.error(from.has(min_option) ? from.path_of(min_option) : "algorithm",
             "dehb needs two rungs: `min`, " + std::to_string(x.first)
               + ", must be below "
               + (from.has(max_option) ? "`max`, " : "`max_steps`, ")
               + std::to_string(x.max)
               + "; to train each trial in full use tpe");
}

std::shared_ptr<algorithm_settings> read_dehb(algorithm_reader& from) {
  auto result = std::make_shared<dehb_settings>();
  from.read_rungs(*result);
  result->concurrent = from.read_concurrent();
  from.read_sampling();
  result->promotes_always = from.word(dehb_promote) == "always";
  check_dehb_rungs(from, *result);
  const auto round = dehb_brackets(result->rungs().size(), result->eta);
  std::optional<std::uint64_t> own;
  if (!from.study().budget.trials) {
    own = 0;
    for (const auto& x : round)
      *own += x.sizes[0];
  }
  result->trials = from.count_trials(
    own, {round[0].sizes[0], "the first bracket",
          "fewer go on from each of its rungs, and no other begins"});
  if (result->concurrent == 0 && !from.has_errors())
    from.warn(from.path_of(auto_concurrent_option),
              "with 0 all trials start at once, before any could be made of"
              " others: all will be random");
  return result;
}

} // namespace

std::unique_ptr<algorithm> dehb_settings::make(const study_spec& study,
                                               const trial_states*,
                                               const trial_outcomes*) const {
  return std::make_unique<dehb>(trials, rungs(), eta, promotes_always,
                                study.objective.direction, concurrent,
                                study.seed);
}

std::unique_ptr<sampler>
dehb_settings::make_sampler(const study_spec& study, const sampler_settings&,
                            const sampler_context&) const {
  return std::make_unique<differential_evolution>(study.space, study.seed);
}

const algorithm_type dehb_type{
  .name = "dehb",
  .meaning = "`hyperband`, with new trials made from good ones",
  .options = dehb_options,
  .for_several_goals = full_training_or_halving,
  .read = read_dehb};

} // namespace hippo
