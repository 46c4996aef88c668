#include "hippo/service/study/trials.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "hippo/base/trial_result.hpp"
#include "hippo/search/pareto/dominance.hpp"

namespace hippo {

namespace {

/// What a block of memory takes beyond what is in it.
constexpr std::uint64_t block_bytes = 16;

} // namespace

const study_trials::entry& study_trials::operator[](trial_no no) const {
  assert(no < entries_.size());
  return entries_[no];
}

study_trials::entry& study_trials::at(trial_no no) {
  assert(no < entries_.size());
  return entries_[no];
}

void study_trials::make_room(trial_no no) {
  if (entries_.size() <= no)
    entries_.resize(no + 1);
}

void study_trials::add(trial_no no) {
  make_room(no);
  at(no).added = true;
}

bool study_trials::ask(trial_no no, step_t to) {
  auto& x = at(no);
  if (has_ended(x.state) || to <= x.asked_to)
    return false;
  asked_steps_ += to - x.asked_to;
  waiting_steps_ -= waiting(x);
  x.asked_to = to;
  x.state = trial_state::running;
  waiting_steps_ += waiting(x);
  check(no);
  return true;
}

void study_trials::ack(trial_no no, step_t to, step_t shared) {
  auto& x = at(no);
  waiting_steps_ -= waiting(x);
  x.heard = true;
  x.acked = std::max(x.acked, to);
  waiting_steps_ += waiting(x);
  x.shared += shared;
  if (const auto i = ahead_.find(no);
      i != ahead_.end()
      && *std::max_element(i->second.begin(), i->second.end()) <= x.acked)
    ahead_.erase(i);
  check(no);
}

void study_trials::ack_seed(trial_no no, std::uint32_t seed_no, step_t got,
                            step_t shared) {
  assert(seed_no > 0 && seed_no <= seeds_);
  auto& x = at(no);
  x.heard = true;
  auto& reached = ahead_[no];
  reached.resize(seeds_);
  if (got <= reached[seed_no - 1])
    return;
  reached[seed_no - 1] = got;
  x.shared += shared;
}

double study_trials::measure(trial_no no, step_t at_step,
                             const metrics& values) {
  auto& x = at(no);
  const auto value = value_of(values);
  x.results.emplace_back(at_step, packed_metrics{values, names_});
  held_bytes_ += sizeof(x.results.back()) + values.size() * sizeof(double)
                 + 2 * block_bytes;
  if (has_front())
    add_to_front(no, at_step, value, values);
  else if (wanted_.is_one() || outcome_of(values, wanted_).is_feasible())
    compare(no, at_step, value);
  check(no);
  return value;
}

void study_trials::compare(trial_no no, step_t at_step, double value) {
  auto& x = at(no);
  if (!std::isnan(value) && (!x.best || is_better(value, x.best->value)))
    x.best = stored_best{at_step, value};
  if (may_be_best(x) && is_new_best(no, at_step, value))
    best_ = best_measurement{no, at_step, value};
}

void study_trials::add_to_front(trial_no no, step_t at_step, double value,
                                const metrics& values) {
  auto& x = at(no);
  const auto worth = outcome_of(values, wanted_);
  if (may_be_best(x))
    front_.add(no, at_step, worth, x.results.size() == 1);
  if (!worth.is_feasible())
    return;
  if (x.best) {
    const auto before = result_near(no, x.best->step);
    if (dominates(outcome_of(before->values, wanted_), worth))
      return;
  }
  x.best = stored_best{at_step, value};
}

bool study_trials::is_in_front(trial_no no) const {
  const auto& points = front_.points();
  if (std::any_of(points.begin(), points.end(),
                  [no](const front_point& x) { return x.trial == no; }))
    return true;
  const auto& results = (*this)[no].results;
  if (results.empty())
    return false;
  const auto first
    = outcome_of(results.front().second.unpack(names_), wanted_);
  for (std::size_t k = 0; k < first.values.size(); ++k)
    if (!first.is_nan && first.values[k] == front_.reference()[k])
      return true;
  return false;
}

void study_trials::find_front() {
  front_.clear();
  for (trial_no no = 0; no < entries_.size(); ++no) {
    const auto& x = entries_[no];
    if (!may_be_best(x))
      continue;
    for (const auto& [step, values] : x.results)
      front_.add(no, step, outcome_of(values.unpack(names_), wanted_),
                 &values == &x.results.front().second);
  }
}

void study_trials::pause(trial_no no) {
  assert(!has_ended(at(no).state));
  at(no).state = trial_state::paused;
}

bool study_trials::end(trial_no no, trial_state how, std::string failure,
                       std::optional<errc> cause) {
  assert(has_ended(how));
  auto& x = at(no);
  if (has_ended(x.state))
    return false;
  waiting_steps_ -= waiting(x);
  x.state = how;
  x.failure = std::move(failure);
  held_bytes_ += x.failure.size();
  x.cause = cause;
  ++finished_;
  failed_ += how == trial_state::failed;
  if (!has_result(how) && best_ && best_->trial == no)
    find_best();
  if (!has_result(how) && has_front() && is_in_front(no))
    find_front();
  check(no);
  return true;
}

void study_trials::retry(trial_no no) {
  auto& x = at(no);
  assert(x.state == trial_state::failed && x.cause);
  take_back(x, trial_state::running);
  x.retried = true;
  --failed_;
  find_best_after(no);
  check(no);
}

bool study_trials::is_begun(trial_no no) const {
  const auto& x = (*this)[no];
  return !x.withdrawn
         && (x.heard || !x.results.empty() || x.retried || has_ended(x.state));
}

void study_trials::withdraw(trial_no no) {
  make_room(no);
  assert(!is_begun(no) && !at(no).withdrawn);
  auto& x = at(no);
  waiting_steps_ -= waiting(x);
  x.state = trial_state::cancelled;
  x.withdrawn = true;
  ++withdrawn_;
  asked_steps_ -= x.asked_to;
  check(no);
}

void study_trials::admit(trial_no no) {
  auto& x = at(no);
  assert(x.withdrawn);
  x.withdrawn = false;
  --withdrawn_;
  ++finished_;
  asked_steps_ += x.asked_to;
}

void study_trials::remove(trial_no no) {
  auto& x = at(no);
  assert(has_ended(x.state) && !x.withdrawn && !x.removed);
  x.removed = true;
  ++removed_;
  --finished_;
  failed_ -= x.state == trial_state::failed;
  asked_steps_ -= x.asked_to;
  if (best_ && best_->trial == no)
    find_best();
  if (has_front() && is_in_front(no))
    find_front();
  check(no);
}

void study_trials::restore(trial_no no) {
  auto& x = at(no);
  assert(x.removed);
  x.removed = false;
  --removed_;
  ++finished_;
  failed_ += x.state == trial_state::failed;
  asked_steps_ += x.asked_to;
  find_best_after(no);
  check(no);
}

bool study_trials::is_shown(trial_no no) const {
  return no < entries_.size() && entries_[no].added && !entries_[no].removed
         && !entries_[no].withdrawn;
}

void study_trials::revive(trial_no no, trial_state state) {
  auto& x = at(no);
  if (x.withdrawn)
    admit(no);
  assert(has_ended(x.state) && has_result(x.state) && !has_ended(state));
  take_back(x, state);
  check(no);
}

void study_trials::take_back(entry& place, trial_state state) {
  place.state = state;
  held_bytes_ -= place.failure.size();
  place.failure.clear();
  place.cause.reset();
  --finished_;
  waiting_steps_ += waiting(place);
}

bool study_trials::may_be_best(const entry& place) {
  return has_result(place.state) && !place.removed;
}

void study_trials::find_best_after(trial_no no) {
  const auto& x = (*this)[no];
  if (x.best && !has_front())
    find_best();
  if (has_front() && !x.results.empty())
    find_front();
}

void study_trials::find_best() {
  best_.reset();
  for (trial_no no = 0; no < entries_.size(); ++no)
    if (const auto& x = entries_[no];
        x.best && may_be_best(x)
        && is_new_best(no, x.best->step, x.best->value))
      best_ = best_measurement{no, x.best->step, x.best->value};
}

step_t study_trials::waiting(const entry& place) {
  return has_ended(place.state)
           ? 0
           : place.asked_to - std::min(place.acked, place.asked_to);
}

bool study_trials::is_on_its_way(trial_no no) const {
  return waiting((*this)[no]) > 0;
}

const std::string* study_trials::missing_in(const metrics& values) const {
  for (const auto& x : wanted_.metrics)
    if (!values.contains(x.metric))
      return &x.metric;
  for (const auto& x : wanted_.constraints)
    if (!values.contains(x.metric))
      return &x.metric;
  return nullptr;
}

double study_trials::value_of(const metrics& values) const {
  const auto i = values.find(objective_.metric);
  return i == values.end() ? std::numeric_limits<double>::quiet_NaN()
                           : i->second;
}

std::vector<trial_measurement> study_trials::results_of(trial_no no) const {
  std::vector<trial_measurement> result;
  for (const auto& [step, values] : (*this)[no].results)
    result.push_back({step, values.unpack(names_)});
  return result;
}

std::optional<trial_measurement> study_trials::last_result(trial_no no) const {
  const auto& results = (*this)[no].results;
  if (results.empty())
    return std::nullopt;
  const auto& [step, values] = results.back();
  return trial_measurement{step, values.unpack(names_)};
}

std::optional<trial_measurement> study_trials::result_near(trial_no no,
                                                           step_t to) const {
  const auto& results = (*this)[no].results;
  const auto i
    = std::find_if(results.begin(), results.end(),
                   [to](const auto& x) { return x.first == to; });
  if (i == results.end())
    return last_result(no);
  return trial_measurement{i->first, i->second.unpack(names_)};
}

study_phase study_trials::final_phase() const {
  const auto has_failed = [](const entry& x) {
    return x.state == trial_state::failed || x.removed;
  };
  return size() > removed_
             && std::all_of(entries_.begin(), entries_.end(), has_failed)
           ? study_phase::failed
           : study_phase::complete;
}

bool study_trials::is_better(double left, double right) const {
  return objective_.direction == direction::maximize ? left > right
                                                     : left < right;
}

bool study_trials::is_new_best(trial_no no, step_t at_step,
                               double value) const {
  if (std::isnan(value) || !best_)
    return !std::isnan(value);
  return is_better(value, best_->value)
         || (value == best_->value
             && std::pair{no, at_step} < std::pair{best_->trial, best_->at});
}

void study_trials::check([[maybe_unused]] trial_no no) const {
#ifndef NDEBUG
  const auto& x = (*this)[no];
  assert(finished_ <= entries_.size());
  assert(!x.removed || (has_ended(x.state) && !x.withdrawn));
  const bool counts = !x.withdrawn && !x.removed;
  assert(!counts || x.asked_to <= asked_steps_);
  assert(!counts || !has_ended(x.state) || finished_ > 0);
  assert(!x.cause || x.state == trial_state::failed);
  assert(!x.best || !x.results.empty());
  assert(!x.best || !std::isnan(x.best->value));
  assert(seeds_ > 1 || x.shared <= x.acked);
  assert(!x.best || !may_be_best(x) || has_front()
         || (best_ && !is_better(x.best->value, best_->value)));
#endif
}

void study_trials::check_invariants() const {
#ifndef NDEBUG
  std::uint64_t finished = 0, withdrawn = 0, failed = 0, asked = 0, waits = 0;
  std::uint64_t removed = 0;
  for (trial_no no = 0; no < entries_.size(); ++no) {
    check(no);
    const auto& x = entries_[no];
    waits += waiting(x);
    withdrawn += x.withdrawn;
    removed += x.removed;
    if (x.withdrawn || x.removed)
      continue;
    finished += has_ended(x.state);
    failed += x.state == trial_state::failed;
    asked += x.asked_to;
  }
  assert(waits == waiting_steps_);
  assert(finished == finished_);
  assert(withdrawn == withdrawn_);
  assert(removed == removed_);
  assert(failed == failed_);
  assert(asked == asked_steps_);
  assert(!best_ || best_->trial < entries_.size());
  for (const auto& x : front_.points())
    assert(may_be_best(entries_[x.trial]));
  assert(!best_ || may_be_best(entries_[best_->trial]));
#endif
}

} // namespace hippo
