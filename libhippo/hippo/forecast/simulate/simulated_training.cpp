#include "hippo/forecast/simulate/simulated_training.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/base/number.hpp"
#include "hippo/forecast/simulate/draw.hpp"
#include "hippo/model/stop_points.hpp"

namespace hippo {

namespace {

using duration = simulated_training::duration;

/// What is drawn at an address; told apart by these.
enum class drawn : std::uint64_t { stretch_time = 1, failure, failing_step };

duration from_seconds(double x) {
  return duration{std::llround(x * 1e9)};
}

std::uint64_t ns(duration x) {
  return static_cast<std::uint64_t>(x.count());
}

std::uint64_t key_hash(const workload_spec& x) {
  const auto key = key_of(x);
  return hash_bytes(key.data(), key.size());
}

} // namespace

simulated_training::simulated_training(const simulation_profile& profile,
                                       simulated_store& store,
                                       std::uint64_t seed, lease lease)
  : profile_(&profile), store_(&store), lease_(std::move(lease)),
    address_(hash_numbers(
      {seed, key_hash(lease_.workload), number_of(lease_.number)})),
    curve_(profile.curve, hash_numbers({seed, key_hash(lease_.workload)})),
    at_(lease_.stages.front().begin),
    speedup_(lease_.gang && ranks_of(lease_.workload) == 1 ? profile.speedup(
               static_cast<unsigned>(lease_.gang->members.size()))
                                                           : 1) {
  start();
}

// -- planning -----------------------------------------------------------------

void simulated_training::start() {
  begin_ = from_seconds(profile_->dispatch_seconds);
  const auto& file = lease_.start.file;
  if (file.empty()) {
    if (at_ == 0)
      plan();
    else
      end_with({errc::bad_checkpoint,
                "no checkpoint to start from at step " + std::to_string(at_)},
               begin_);
    return;
  }
  load_ = from_seconds(profile_->load_seconds);
  begin_ += load_;
  const auto i = store_->find(lease_.folder + '/' + file);
  if (i == store_->end()) {
    end_with({errc::bad_checkpoint, "checkpoint " + file + " is not there"},
             begin_);
    return;
  }
  state_ = i->second;
  plan();
}

/// Decides what comes after the present state.
void simulated_training::plan() {
  now_ = {};
  now_.end = begin_;
  if (next_stop_ == lease_.stops.size())
    return;
  if (cancelled_) {
    end_with(cancelled(at_), begin_);
    return;
  }
  now_.stop = lease_.stops[next_stop_];
  plan_steps();
  if (!now_.failure)
    plan_stop();
}

void simulated_training::plan_steps() {
  now_.state = state_;
  // By the begin alone: a stop that is added in between changes no pace.
  const auto pace = log_normal_at(
    hash_numbers({address_, static_cast<std::uint64_t>(drawn::stretch_time),
                  number_of(stage_at(at_).node), at_}),
    profile_->spread);
  double spent = 0;
  for (const auto& x : lease_.stages) {
    const auto fails = failing_step(x);
    for (auto t = std::max(at_, x.begin); t < std::min(now_.stop->at, x.end);
         ++t) {
      spent += profile_->step_time(x.config, t) * pace / speedup_;
      now_.end = begin_ + from_seconds(spent);
      now_.step_ends.push_back(now_.end);
      if (t == fails) {
        now_.last_step_fails = true;
        now_.failure = error{errc::training_failed,
                             "simulated failure while training step "
                               + std::to_string(t)};
        return;
      }
      train_step(x.config, t);
      if (now_.failure)
        return;
    }
  }
}

/// Goes from state `at` of the stretch to the next one.
void simulated_training::train_step(const configuration& config, step_t at) {
  if (!profile_->table) {
    curve_.train(now_.state, config, at);
    return;
  }
  auto& state = now_.state.history;
  state = profile_->table->next(state, config, at);
  if (profile_->table->find(state) != nullptr)
    return;
  now_.last_step_fails = true;
  // Every trainer would say the same.
  now_.failure = error{errc::fails_everywhere,
                       profile_->table_file + " has no training that goes on "
                         "at step " + std::to_string(at) + " with "
                         + to_text(config)};
}

/// Measures the state that the stretch leads to.
void simulated_training::measure() {
  const auto at = now_.stop->at;
  if (!profile_->table) {
    now_.values = curve_.evaluate(now_.state);
    return;
  }
  const auto* found = profile_->table->find(now_.state.history);
  if (found != nullptr && !found->empty())
    now_.values = *found;
  else
    now_.failure = error{errc::fails_everywhere,
                         profile_->table_file
                           + " has no measurement at step "
                           + std::to_string(at) + " of this training"};
}

void simulated_training::plan_stop() {
  if (now_.stop->evaluate) {
    measure();
    now_.diverged = std::ranges::any_of(
      now_.values, [](const auto& x) { return !std::isfinite(x.second); });
    now_.end += evaluate_time();
  }
  if (now_.stop->save && !now_.diverged)
    now_.end += from_seconds(profile_->save_seconds);
}

duration simulated_training::evaluate_time() const {
  return from_seconds(profile_->evaluate_seconds / speedup_);
}

void simulated_training::end_with(error why, duration when) {
  now_.stop.reset();
  now_.failure = std::move(why);
  now_.end = when;
}

/// Returns the stage of which state `at` is the end or the middle.
const stage& simulated_training::stage_at(step_t at) const {
  return *std::ranges::find_if(lease_.stages,
                               [&](const auto& x) { return at <= x.end; });
}

/// Returns the step of a stage at which it fails, if it does.
std::optional<step_t>
simulated_training::failing_step(const stage& stage) const {
  const auto draw = [&](drawn what) {
    return uniform_at(hash_numbers({address_, static_cast<std::uint64_t>(what),
                                    number_of(stage.node), stage.begin}));
  };
  if (draw(drawn::failure) >= profile_->failure_rate)
    return {};
  const auto steps = static_cast<double>(stage.end - stage.begin);
  return stage.begin + static_cast<step_t>(draw(drawn::failing_step) * steps);
}

error simulated_training::cancelled(step_t at) const {
  return {errc::cancelled, "cancelled at step " + std::to_string(at)};
}

// -- events -------------------------------------------------------------------

duration simulated_training::next_time() const noexcept {
  return now_.end;
}

simulated_event simulated_training::take() {
  assert(!ended_);
  if (!now_.stop || now_.failure)
    return finish();
  auto result = report();
  const auto diverged = std::ranges::find_if(
    now_.values, [](const auto& x) { return !std::isfinite(x.second); });
  at_ = now_.stop->at;
  state_ = now_.state;
  begin_ = now_.end;
  load_ = {};
  ++next_stop_;
  if (diverged == now_.values.end()) {
    plan();
    return result;
  }
  error why{errc::diverged, "diverged: " + diverged->first + " is "
                              + to_text(diverged->second) + " at step "
                              + std::to_string(at_)};
  now_ = {};
  end_with(std::move(why), begin_);
  return result;
}

stop_report simulated_training::report() {
  const auto& stop = *now_.stop;
  stop_report result;
  result.lease = lease_.number;
  result.at = stop.at;
  result.device = profile_->device;
  if (!now_.diverged)
    result.values = now_.values;
  result.load_ns = ns(load_);
  if (!now_.step_ends.empty())
    result.train_ns = ns(now_.step_ends.back() - begin_);
  result.trained_steps = stop.at - at_;
  result.size = profile_->size;
  if (stop.evaluate)
    result.evaluate_ns = ns(evaluate_time());
  if (stop.save && !now_.diverged) {
    result.save_ns = ns(from_seconds(profile_->save_seconds));
    const auto file
      = checkpoint_name(stage_at(stop.at).node, stop.at, lease_.number);
    result.saved =
      checkpoint{file, profile_->checkpoint_bytes, digest_of(now_.state)};
    store_->insert_or_assign(lease_.folder + '/' + file, now_.state);
  }
  return result;
}

lease_end simulated_training::finish() {
  ended_ = true;
  const auto reached = at_ + now_.step_ends.size() - now_.last_step_fails;
  return {lease_.number, reached, now_.failure};
}

// -- requests -----------------------------------------------------------------

bool simulated_training::add_stop(stop_point stop, duration now) {
  if (ended_ || cancelled_ || !now_.stop)
    return false;
  // Until training begins nothing is passed, not even the first state.
  const auto passed = now < begin_ ? at_ : reached(now) + 1;
  if (stop.last)
    stop.at = std::max(stop.at, passed);
  if (stop.at < passed || stop.at > lease_.stops.back().at)
    return false;
  const auto changes_now = stop.at <= now_.stop->at;
  merge_stop(lease_.stops, next_stop_, stop);
  if (changes_now)
    plan();
  return true;
}

void simulated_training::cancel(duration now) {
  if (ended_ || std::exchange(cancelled_, true) || !now_.stop)
    return;
  auto& ends = now_.step_ends;
  if (ends.empty())
    return; // the stop at the present state is passed first
  if (now < begin_) {
    ends.clear();
    now_.last_step_fails = false;
    end_with(cancelled(at_), begin_);
    return;
  }
  const auto present = std::upper_bound(ends.begin(), ends.end(), now);
  if (present == ends.end())
    return; // it evaluates or saves, which it brings to an end
  if (now_.last_step_fails && present + 1 == ends.end()) {
    now_.failure->code = errc::cancelled; // as whatever fails after that
    return;
  }
  ends.erase(present + 1, ends.end());
  now_.last_step_fails = false;
  end_with(cancelled(at_ + ends.size()), ends.back());
}

step_t simulated_training::reached(duration now) const noexcept {
  const auto& ends = now_.step_ends;
  const auto done = std::upper_bound(ends.begin(), ends.end(), now);
  // A step that fails leaves no state.
  const auto most = ends.size() - now_.last_step_fails;
  return at_ + std::min(static_cast<std::size_t>(done - ends.begin()), most);
}

} // namespace hippo
