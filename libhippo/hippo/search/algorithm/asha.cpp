#include "hippo/search/algorithm/asha.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/algorithm/rungs.hpp"

namespace hippo {

namespace {

/// Of so many equal trials, those that went on and those that may, the one is
/// looked for that differs most.
constexpr std::size_t equals_max = 100;

/// Returns the loss at the 1 - 1/eta percentile of the recorded values, counted
/// from the worst one, between two of them on the line that joins them; or
/// nothing if there are none. As `numpy.percentile`, but its place is exact.
std::optional<double> cutoff(split_ranking& recorded, std::uint64_t eta) {
  if (recorded.size() == 0)
    return std::nullopt;
  const auto steps = recorded.size() - 1; // from the worst to the best
  recorded.split((steps + eta - 1) / eta);
  const auto share = static_cast<double>((eta - steps % eta) % eta)
                     / static_cast<double>(eta);
  const auto worse = recorded.rest().begin()->loss;
  if (share == 0)
    return worse;
  const auto better = recorded.best().rbegin()->loss;
  const auto range = better - worse;
  return share < 0.5 ? worse + range * share : better - range * (1 - share);
}

} // namespace

// -- what both have in common -------------------------------------------------

asha::asha(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
           direction better, std::optional<std::uint64_t> concurrent)
  : most_(trials), rungs_(std::move(rungs)), eta_(eta), better_(better),
    limit_(concurrent), sent_(rungs_.size()) {}

std::vector<action> asha::open(std::uint64_t trials) {
  std::vector<action> out;
  trials_.resize(trials);
  proceed(out);
  return out;
}

std::vector<action> asha::on_result(trial_no trial, step_t at, double value) {
  std::vector<action> out;
  auto& x = trials_[trial];
  if (x.phase != trial_phase::training || at != rungs_[x.rung])
    return out;
  limit_.leave();
  x.at_rung = standing_of(trial, value, better_);
  if (x.rung == last_rung()) {
    x.phase = trial_phase::finished;
    has_finished_ = true;
  } else {
    x.phase = trial_phase::resting;
    on_rung(trial, out);
  }
  proceed(out);
  return out;
}

std::vector<action> asha::on_failure(trial_no trial) {
  std::vector<action> out;
  const auto before = std::exchange(trials_[trial].phase, trial_phase::ended);
  if (before == trial_phase::training)
    limit_.leave();
  if (before == trial_phase::training || before == trial_phase::resting)
    on_lost(trial, before);
  if (!done_)
    proceed(out);
  return out;
}

std::vector<action> asha::withdraw(const std::vector<trial_no>& withdrawn,
                                   std::uint64_t trials) {
  std::vector<action> out;
  for (const auto trial : withdrawn) {
    auto& x = trials_[trial];
    assert(x.rung == 0);
    if (std::exchange(x.phase, trial_phase::ended) == trial_phase::training) {
      limit_.leave();
      --sent_[0];
    }
  }
  withdrawn_ += withdrawn.size();
  most_ = trials;
  done_ = done_ && trials_.size() == trials;
  if (!done_)
    proceed(out);
  return out;
}

bool asha::take_back(trial_no trial) {
  trials_[trial].phase = trial_phase::training;
  limit_.enter();
  on_taken_back(trial);
  done_ = false;
  return true;
}

std::vector<trial_no> asha::lengthen(step_t max) {
  const auto further = rung_steps(rungs_.back(), max, eta_);
  rungs_.insert(rungs_.end(), further.begin() + 1, further.end());
  sent_.resize(rungs_.size());
  has_finished_ = done_ = false;
  std::vector<trial_no> result;
  for (trial_no trial = 0; trial < trials_.size(); ++trial)
    if (auto& x = trials_[trial]; x.phase == trial_phase::finished) {
      x.phase = trial_phase::resting;
      result.push_back(trial);
    }
  on_longer(result);
  return result;
}

std::vector<action> asha::go_on() {
  std::vector<action> out;
  proceed(out);
  return out;
}

std::vector<action> asha::widen(std::uint64_t trials) {
  std::vector<action> out;
  limit_.widen(trials);
  if (!done_)
    proceed(out);
  return out;
}

void asha::train(trial_no trial, std::uint32_t rung, std::vector<action>& out) {
  trials_[trial].phase = trial_phase::training;
  trials_[trial].rung = rung;
  ++sent_[rung];
  limit_.enter();
  out.emplace_back(advance{trial, rungs_[rung]});
}

void asha::end(trial_no trial, std::vector<action>& out) {
  trials_[trial].phase = trial_phase::ended;
  out.emplace_back(prune{trial});
}

std::optional<trial_no> asha::next_fresh() const {
  for (auto trial = next_; trial < trials_.size(); ++trial)
    if (trials_[trial].phase == trial_phase::fresh) // else it was cancelled
      return trial;
  return std::nullopt;
}

bool asha::start_next(std::vector<action>& out) {
  const auto trial = next_fresh();
  next_ = trial ? *trial + 1 : trials_.size();
  if (trial)
    train(*trial, 0, out);
  return trial.has_value();
}

void asha::proceed(std::vector<action>& out) {
  while (limit_.has_room())
    if (!resume(out) && !start_next(out))
      break;
  if (!limit_.empty() || next_ < most_)
    return;
  if (!has_finished_ && resume_last(out))
    return;
  for (trial_no trial = 0; trial < trials_.size(); ++trial)
    if (trials_[trial].phase == trial_phase::resting)
      end(trial, out);
  on_done();
  done_ = true;
}

expected_work asha::to_come() const {
  expected_work result;
  if (done_)
    return result;
  auto trials = most_ - withdrawn_;
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    const auto hop = rungs_[i] - (i == 0 ? 0 : rungs_[i - 1]);
    if (sent_[i] < trials)
      result.steps += (trials - sent_[i]) * hop;
    if (sent_[i] == 0)
      result.longest += hop;
    trials = std::max<std::uint64_t>(1, trials / eta_);
  }
  return result;
}

// -- promotion ----------------------------------------------------------------

asha_promotion::asha_promotion(std::uint64_t trials, std::vector<step_t> rungs,
                               std::uint64_t eta, direction better,
                               std::optional<std::uint64_t> concurrent,
                               const trial_states* states,
                               const trial_outcomes* outcomes)
  : asha(trials, std::move(rungs), eta, better, concurrent),
    boards_(last_rung() + 1), states_(states), outcomes_(outcomes) {}

void asha_promotion::place(trial_no trial) {
  auto& board = boards_[state(trial).rung];
  board.values.insert(state(trial).at_rung);
  board.resting.insert(state(trial).at_rung);
  board.is_stale = outcomes_ != nullptr;
}

void asha_promotion::on_lost(trial_no trial, trial_phase before) {
  const auto& x = state(trial);
  auto& board = boards_[x.rung];
  ++board.failed;
  if (before == trial_phase::resting) {
    board.values.erase(x.at_rung);
    board.resting.erase(x.at_rung);
  }
}

void asha_promotion::on_taken_back(trial_no trial) {
  --boards_[state(trial).rung].failed;
}

void asha_promotion::on_longer(const std::vector<trial_no>& finished) {
  boards_.resize(last_rung() + 1);
  for (const auto trial : finished)
    place(trial);
}

void asha_promotion::on_done() {
  for (auto& board : boards_)
    board.resting.clear();
}

void asha_promotion::keep_promising(std::vector<trial_no>& trials) const {
  const auto loss = [&](trial_no trial) {
    const auto expected = states_->predicted(trial);
    return expected ? standing_of(trial, *expected, better()).loss
                    : std::numeric_limits<double>::infinity();
  };
  auto least = std::numeric_limits<double>::infinity();
  std::vector<trial_no> kept;
  for (auto trial : trials) {
    const auto now = loss(trial);
    if (now < least)
      kept.clear();
    least = std::min(least, now);
    if (now == least)
      kept.push_back(trial);
  }
  trials = std::move(kept);
}

trial_no asha_promotion::choose_equal(std::size_t rung) const {
  const auto& board = boards_[rung];
  const auto best = *board.resting.begin();
  std::vector<trial_no> gone; // equals that went on before
  std::vector<trial_no> candidates;
  for (const auto* part : {&board.values.best(), &board.values.rest()})
    for (auto i = part->lower_bound({best.is_nan, best.loss, 0});
         i != part->end() && i->is_nan == best.is_nan && i->loss == best.loss;
         ++i) {
      auto& to = board.resting.contains(*i) ? candidates : gone;
      if (to.size() < equals_max)
        to.push_back(board.trial_at(*i));
    }
  std::sort(candidates.begin(), candidates.end());
  keep_promising(candidates);
  for (auto at = rung; at < rungs().size() && candidates.size() > 1; ++at) {
    std::map<std::uint64_t, std::uint64_t> counts; // of those gone, by state
    for (auto trial : gone)
      ++counts[states_->of(trial, rung_step(at))];
    auto least = UINT64_MAX;
    std::optional<std::uint64_t> chosen; // a state
    for (auto trial : candidates) {
      const auto state = states_->of(trial, rung_step(at));
      const auto i = counts.find(state);
      const auto count = i == counts.end() ? 0 : i->second;
      if (count < least) {
        least = count;
        chosen = state;
      }
    }
    const auto is_other = [&](trial_no trial) {
      return states_->of(trial, rung_step(at)) != *chosen;
    };
    std::erase_if(candidates, is_other);
    std::erase_if(gone, is_other);
  }
  return candidates.front();
}

void asha_promotion::reorder(std::size_t rung) {
  auto& board = boards_[rung];
  if (!std::exchange(board.is_stale, false))
    return;
  std::vector<standing> all;
  for (const auto* part : {&board.values.best(), &board.values.rest()})
    all.insert(all.end(), part->begin(), part->end());
  std::set<trial_no> resting;
  for (const auto& x : board.resting)
    resting.insert(x.trial);
  outcomes_->rank(all, rung_step(rung));
  board.values = {};
  board.resting.clear();
  for (const auto& x : all) {
    board.values.insert(x);
    if (!resting.contains(x.trial))
      continue;
    board.resting.insert(x);
    state(x.trial).at_rung = x;
  }
}

trial_no asha_promotion::take_best(std::size_t rung) {
  auto& board = boards_[rung];
  const auto best = *board.resting.begin();
  const auto first = board.trial_at(best);
  const auto second = std::next(board.resting.begin());
  const bool is_tie = second != board.resting.end()
                      && second->is_nan == best.is_nan
                      && second->loss == best.loss;
  const auto chosen = is_tie && states_ != nullptr ? choose_equal(rung) : first;
  if (chosen != first) { // they change places
    std::swap(state(first).at_rung, state(chosen).at_rung);
    board.places[state(first).at_rung.trial] = first;
    board.places[best.trial] = chosen;
  }
  board.resting.erase(best);
  return chosen;
}

bool asha_promotion::resume(std::vector<action>& out) {
  for (auto rung = boards_.size(); rung-- > 0;) {
    reorder(rung);
    auto& board = boards_[rung];
    auto& values = board.values;
    values.split((values.size() + board.failed) / eta());
    if (board.resting.empty() || values.best().empty()
        || *values.best().rbegin() < *board.resting.begin())
      continue;
    train(take_best(rung), static_cast<std::uint32_t>(rung + 1), out);
    return true;
  }
  return false;
}

bool asha_promotion::resume_last(std::vector<action>& out) {
  for (auto rung = boards_.size(); rung-- > 0;)
    if (!boards_[rung].resting.empty()) {
      reorder(rung);
      train(take_best(rung), static_cast<std::uint32_t>(rung + 1), out);
      return true;
    }
  return false;
}

// -- stopping -----------------------------------------------------------------

asha_stopping::asha_stopping(std::uint64_t trials, std::vector<step_t> rungs,
                             std::uint64_t eta, direction better,
                             std::optional<std::uint64_t> concurrent,
                             const trial_outcomes* outcomes)
  : asha(trials, std::move(rungs), eta, better, concurrent),
    recorded_(last_rung()),
    outcomes_(outcomes) {}

bool asha_stopping::record(trial_no trial, std::size_t rung) {
  const auto& x = state(trial).at_rung;
  auto& recorded = recorded_[rung];
  const auto limit = cutoff(recorded, eta());
  const bool stops = limit && (x.is_nan || x.loss > *limit);
  if (!x.is_nan)
    recorded.insert(x);
  return stops;
}

bool asha_stopping::record_outcome(trial_no trial, std::size_t rung) {
  auto& recorded = recorded_[rung];
  if (outcomes_->at(trial, rung_step(rung)).is_nan)
    return recorded.size() > 0;
  std::vector<standing> all(recorded.best().begin(), recorded.best().end());
  all.insert(all.end(), recorded.rest().begin(), recorded.rest().end());
  all.push_back({false, 0, trial});
  outcomes_->rank(all, rung_step(rung));
  const auto own = std::find_if(
    all.begin(), all.end(), [&](const auto& x) { return x.trial == trial; });
  const auto place = static_cast<std::uint64_t>(own - all.begin());
  recorded.insert({false, 0, trial}); // who they are is all that counts
  return place >= (all.size() - 1) / eta() + 1;
}

void asha_stopping::on_longer(const std::vector<trial_no>& finished) {
  const auto rung = recorded_.size();
  recorded_.resize(last_rung());
  auto& recorded = recorded_[rung];
  const auto is_nan = [&](trial_no trial) {
    return outcomes_ != nullptr ? outcomes_->at(trial, rung_step(rung)).is_nan
                                : state(trial).at_rung.is_nan;
  };
  for (const auto trial : finished)
    if (!is_nan(trial))
      recorded.insert(outcomes_ != nullptr ? standing{false, 0, trial}
                                           : state(trial).at_rung);
  // Each is compared with all of them: they have come there in no order.
  std::vector<standing> all(recorded.best().begin(), recorded.best().end());
  all.insert(all.end(), recorded.rest().begin(), recorded.rest().end());
  if (outcomes_ != nullptr)
    outcomes_->rank(all, rung_step(rung));
  std::set<trial_no> good;
  const auto limit = cutoff(recorded, eta());
  const auto places = all.empty() ? 0 : (all.size() - 1) / eta() + 1;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (outcomes_ != nullptr ? i < places : all[i].loss <= *limit)
      good.insert(all[i].trial);
  for (const auto trial : finished)
    if (good.contains(trial) || all.empty())
      passed_.push_back(trial);
}

bool asha_stopping::resume(std::vector<action>& out) {
  if (passed_.empty())
    return false;
  const auto trial = passed_.front();
  passed_.pop_front();
  train(trial, state(trial).rung + 1, out);
  return true;
}

void asha_stopping::on_rung(trial_no trial, std::vector<action>& out) {
  const auto rung = state(trial).rung;
  if (outcomes_ != nullptr ? record_outcome(trial, rung) : record(trial, rung))
    end(trial, out);
  else
    train(trial, rung + 1, out);
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option asha_mode{
  .name = "mode",
  .type = option_type::word,
  .words = {"promotion", "stopping"},
  .fallback = "promotion",
  .meaning = "`promotion`: trials pause on rungs, and the best continue;"
             " `stopping`: bad trials end, and none continues later"};

constexpr option asha_options[]{eta_option,          min_option,
                                max_option,          sampler_option,
                                asha_mode,           auto_concurrent_option,
                                prefer_shared_option};

/// ASHA promotes floor(n / eta) of a rung: of a few trials none gets to the
/// last one but the best of those that got farthest, in the end.
void warn_of_rungs_out_of_reach(algorithm_reader& from,
                                const asha_settings& x) {
  if (from.has_errors() || !x.may_resume)
    return;
  auto left = x.trials;
  const auto rungs = x.rungs();
  for (std::size_t i = 1; i < rungs.size(); ++i) {
    left /= x.eta;
    if (left == 0) {
      from.warn("algorithm",
                "with " + std::to_string(x.trials)
                  + " trials only one will go beyond step "
                  + std::to_string(rungs[i - 1])
                  + ", after all others have ended: more trials, a greater"
                    " `min` or a smaller `eta` would give more of them a"
                    " chance");
      return;
    }
  }
}

std::shared_ptr<algorithm_settings> read_asha(algorithm_reader& from) {
  auto result = std::make_shared<asha_settings>();
  from.read_rungs(*result);
  result->may_resume = from.word(asha_mode) == "promotion";
  result->concurrent = from.read_concurrent();
  from.read_sampling();
  result->trials = from.count_trials();
  warn_of_rungs_out_of_reach(from, *result);
  from.warn_of_blind_start(result->concurrent);
  return result;
}

} // namespace

std::unique_ptr<algorithm>
asha_settings::make(const study_spec& study, const trial_states* states,
                    const trial_outcomes* outcomes) const {
  const auto better = study.objective.direction;
  if (may_resume)
    return std::make_unique<asha_promotion>(trials, rungs(), eta, better,
                                            concurrent, states, outcomes);
  return std::make_unique<asha_stopping>(trials, rungs(), eta, better,
                                         concurrent, outcomes);
}

const algorithm_type asha_type{
  .name = "asha",
  .meaning = "like `sha`, but without waiting for a complete rung",
  .options = asha_options,
  .read = read_asha};

} // namespace hippo
