#include "hippo/train/call_watch.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

namespace {

using duration = call_watch::duration;

duration now() {
  return std::chrono::duration_cast<duration>(
    std::chrono::steady_clock::now().time_since_epoch());
}

duration times(double factor, duration x) {
  return std::chrono::duration_cast<duration>(x * factor);
}

} // namespace

void call_watch::start_lease(bool is_new) {
  assert(!call_);
  if (is_new)
    longest_ = {};
  cancelled_.reset();
  ending_since_.reset();
}

void call_watch::begin(call_kind what, std::uint64_t units, duration now) {
  assert(!call_ && units > 0);
  call_ = call{what, units, now, effect::nothing, {}};
}

void call_watch::end(duration now) {
  assert(call_ && now >= call_->begun);
  // How long one took that was ended says nothing.
  if (call_->done == effect::nothing) {
    auto& longest = longest_[static_cast<std::size_t>(call_->what)];
    longest = std::max(longest, times(1 / static_cast<double>(call_->units),
                                      now - call_->begun));
  }
  call_.reset();
}

void call_watch::wind_down(duration now) {
  if (!ending_since_)
    ending_since_ = now;
}

void call_watch::cancel(duration now) {
  if (!cancelled_)
    cancelled_ = now;
}

call_watch::effect call_watch::tick(duration now, bool can_stop) {
  const auto at = due(can_stop);
  if (!at || now < *at)
    return effect::nothing;
  if (!cancelled_) {
    cancelled_ = now;
    return effect::nothing;
  }
  assert(call_ && call_->done != effect::give_up);
  call_->done_at = now;
  switch (call_->done) {
    case effect::nothing:
      call_->done = can_stop ? effect::terminate : effect::give_up;
      break;
    case effect::terminate:
      call_->done = effect::kill;
      break;
    default:
      call_->done = effect::give_up;
  }
  return call_->done;
}

std::optional<duration> call_watch::due(bool can_stop) const {
  if (!call_ || call_->done == effect::give_up || !is_to_end())
    return std::nullopt;
  const auto known = usual(*call_);
  if (!cancelled_)
    return std::max(*ending_since_, call_->begun)
           + (known ? std::max(limits_.usual_min,
                               times(limits_.usual_factor, *known))
                    : limits_.unknown_max);
  if (call_->done != effect::nothing)
    return call_->done_at + limits_.grace;
  const auto since = awaited_since();
  const auto by_itself = call_->begun + 2 * known.value_or(duration{});
  if (!can_stop)
    return std::max(since + limits_.grace, by_itself);
  return std::clamp(by_itself, since + std::min(limits_.first, limits_.grace),
                    since + limits_.grace);
}

duration call_watch::overdue(duration now) const {
  if (!call_ || !cancelled_)
    return {};
  return std::max(now - awaited_since(), duration{1});
}

std::optional<duration> call_watch::usual(const call& request) const {
  const auto longest = longest_[static_cast<std::size_t>(request.what)];
  if (longest == duration{})
    return std::nullopt;
  return times(static_cast<double>(request.units), longest);
}

duration call_watch::awaited_since() const {
  return std::max(*cancelled_, call_->begun);
}

// -- watched_calls ------------------------------------------------------------

void watched_calls::start_lease(bool is_new) {
  const std::lock_guard guard{mutex_};
  watch_.start_lease(is_new);
}

void watched_calls::wind_down() {
  const std::lock_guard guard{mutex_};
  watch_.wind_down(now());
}

void watched_calls::cancel() {
  const std::lock_guard guard{mutex_};
  watch_.cancel(now());
}

call_watch::effect watched_calls::tick(bool can_stop) {
  const std::lock_guard guard{mutex_};
  return watch_.tick(now(), can_stop);
}

bool watched_calls::is_to_end() const {
  const std::lock_guard guard{mutex_};
  return watch_.is_to_end();
}

std::optional<duration> watched_calls::due_in(bool can_stop) const {
  const std::lock_guard guard{mutex_};
  const auto at = watch_.due(can_stop);
  if (!at)
    return std::nullopt;
  return std::max(*at - now(), duration{});
}

duration watched_calls::overdue() const {
  const std::lock_guard guard{mutex_};
  return watch_.overdue(now());
}

watched_calls::scope::scope(watched_calls& calls, call_kind what,
                            std::uint64_t units)
  : calls_(&calls) {
  const std::lock_guard guard{calls_->mutex_};
  calls_->watch_.begin(what, units, now());
}

void watched_calls::scope::end() {
  auto* const calls = std::exchange(calls_, nullptr);
  if (calls == nullptr)
    return;
  const std::lock_guard guard{calls->mutex_};
  calls->watch_.end(now());
}

} // namespace hippo
