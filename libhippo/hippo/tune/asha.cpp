#include "hippo/tune/asha.hpp"

#include <iterator>
#include <optional>
#include <utility>

namespace hippo {

namespace {

/// Of so many equal trials the one with the least work is looked for.
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
  : most_(trials),
    rungs_(std::move(rungs)),
    eta_(eta),
    better_(better),
    flight_(concurrent) {}

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
  flight_.leave();
  if (x.rung == last_rung()) {
    x.phase = trial_phase::ended;
  } else {
    x.phase = trial_phase::resting;
    x.at_rung = standing_of(trial, value, better_);
    on_rung(trial, out);
  }
  proceed(out);
  return out;
}

std::vector<action> asha::on_failure(trial_no trial) {
  std::vector<action> out;
  const auto before = std::exchange(trials_[trial].phase, trial_phase::ended);
  if (before == trial_phase::training)
    flight_.leave();
  if (before == trial_phase::training || before == trial_phase::resting)
    on_lost(trial, before);
  if (!done_)
    proceed(out);
  return out;
}

std::vector<action> asha::widen(std::uint64_t trials) {
  std::vector<action> out;
  flight_.widen(trials);
  if (!done_)
    proceed(out);
  return out;
}

void asha::train(trial_no trial, std::uint32_t rung, std::vector<action>& out) {
  trials_[trial].phase = trial_phase::training;
  trials_[trial].rung = rung;
  flight_.enter();
  out.emplace_back(advance{trial, rungs_[rung]});
}

void asha::end(trial_no trial, std::vector<action>& out) {
  trials_[trial].phase = trial_phase::ended;
  out.emplace_back(prune{trial});
}

bool asha::start_next(std::vector<action>& out) {
  while (next_ < trials_.size()) {
    const auto trial = next_++;
    if (trials_[trial].phase == trial_phase::fresh) { // else it was cancelled
      train(trial, 0, out);
      return true;
    }
  }
  return false;
}

void asha::proceed(std::vector<action>& out) {
  while (flight_.has_room())
    if (!resume(out) && !start_next(out))
      break;
  if (!flight_.empty() || next_ < most_)
    return;
  for (trial_no trial = 0; trial < trials_.size(); ++trial)
    if (trials_[trial].phase == trial_phase::resting)
      end(trial, out);
  done_ = true;
}

// -- promotion ----------------------------------------------------------------

asha_promotion::asha_promotion(std::uint64_t trials, std::vector<step_t> rungs,
                               std::uint64_t eta, direction better,
                               std::optional<std::uint64_t> concurrent,
                               const untrained_work* work)
  : asha(trials, std::move(rungs), eta, better, concurrent),
    boards_(last_rung()),
    work_(work) {}

void asha_promotion::on_rung(trial_no trial, std::vector<action>&) {
  auto& board = boards_[state(trial).rung];
  board.values.insert(state(trial).at_rung);
  board.resting.insert(state(trial).at_rung);
}

void asha_promotion::on_lost(trial_no trial, trial_phase before) {
  const auto& x = state(trial);
  if (x.rung == last_rung())
    return;
  auto& board = boards_[x.rung];
  ++board.failed;
  if (before == trial_phase::resting) {
    board.values.erase(x.at_rung);
    board.resting.erase(x.at_rung);
  }
}

trial_no asha_promotion::take_best(rung_board& board, step_t next_rung) {
  const auto trial_at = [&](const standing& x) {
    const auto i = board.places.find(x.trial);
    return i == board.places.end() ? x.trial : i->second;
  };
  const auto best = *board.resting.begin();
  const auto first = trial_at(best);
  auto chosen = first;
  if (work_ != nullptr) {
    auto least = work_->of(first, next_rung);
    auto i = std::next(board.resting.begin());
    for (std::size_t n = 1; n < equals_max && least > 0; ++n, ++i) {
      if (i == board.resting.end() || i->is_nan != best.is_nan
          || i->loss != best.loss)
        break;
      const auto trial = trial_at(*i);
      if (const auto steps = work_->of(trial, next_rung); steps < least) {
        least = steps;
        chosen = trial;
      }
    }
  }
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
    auto& board = boards_[rung];
    auto& values = board.values;
    values.split((values.size() + board.failed) / eta());
    if (board.resting.empty() || values.best().empty()
        || *values.best().rbegin() < *board.resting.begin())
      continue;
    const auto trial = take_best(board, rung_step(rung + 1));
    train(trial, static_cast<std::uint32_t>(rung + 1), out);
    return true;
  }
  return false;
}

// -- stopping -----------------------------------------------------------------

asha_stopping::asha_stopping(std::uint64_t trials, std::vector<step_t> rungs,
                             std::uint64_t eta, direction better,
                             std::optional<std::uint64_t> concurrent)
  : asha(trials, std::move(rungs), eta, better, concurrent),
    recorded_(last_rung()) {}

void asha_stopping::on_rung(trial_no trial, std::vector<action>& out) {
  const auto& x = state(trial);
  auto& recorded = recorded_[x.rung];
  const auto limit = cutoff(recorded, eta());
  const bool stops = limit && (x.at_rung.is_nan || x.at_rung.loss > *limit);
  if (!x.at_rung.is_nan)
    recorded.insert(x.at_rung);
  if (stops)
    end(trial, out);
  else
    train(trial, x.rung + 1, out);
}

} // namespace hippo
