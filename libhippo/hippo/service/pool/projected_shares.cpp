#include "hippo/service/pool/projected_shares.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

projected_shares::projected_shares(const pool_view& view)
  : shares_(view.demands.shares()) {
  for (std::size_t i = 0; i < view.demands.size(); ++i)
    wanted_.push_back(view.demands[i].wanted);
  for (const auto& [number, trainer] : view.trainers.all())
    if (trainer.holder && trainer.reserved_for && trainer.is_there())
      move(*view.demands.place_of(*trainer.holder),
           *view.demands.place_of(*trainer.reserved_for));
}

void projected_shares::move(std::size_t from, std::size_t to) {
  assert(from != to);
  shares_.hold(from, -1);
  grant(to);
}

void projected_shares::grant(std::size_t to) {
  shares_.hold(to, 1);
  if (wanted_[to] > 0)
    shares_.set_waiting(to, --wanted_[to] > 0);
}

void projected_shares::pass(std::size_t place) {
  shares_.set_waiting(place, false);
  passed_.push_back(place);
}

bool projected_shares::is_spoken_for(const pool_view& view,
                                     const pool_trainer& trainer) const {
  return std::any_of(passed_.begin(), passed_.end(), [&](std::size_t place) {
    return view.could_use(trainer, place);
  });
}

std::optional<std::size_t> next_for(const pool_view& view,
                                    const kind_gains& gains,
                                    const pool_trainer& trainer,
                                    const fair_shares& shares) {
  auto turns = shares;
  auto first = turns.next();
  for (; first && !view.could_use(trainer, *first); first = turns.next())
    turns.set_waiting(*first, false);
  if (!first || gains.empty())
    return first;
  const auto gain = [&](std::size_t place) {
    return gains.of(place, trainer.record.device);
  };
  auto best = *first;
  const auto slack = gains.slack() * shares.weight(*first);
  for (std::size_t i = 0; i < view.demands.size(); ++i)
    if (turns.waits(i) && shares.lag(*first, i) <= slack
        && view.could_use(trainer, i)
        && (gain(i) > gain(best)
            || (gain(i) == gain(best) && shares.lag(i, best) > 0)))
      best = i;
  return gain(best) > gain(*first) * advantage_gain_min ? best : first;
}

std::optional<std::size_t> next_helped(const pool_view& view,
                                       const pool_trainer& trainer,
                                       const fair_shares& shares) {
  std::optional<std::size_t> result;
  if (trainer.gang.empty())
    return result;
  for (std::size_t i = 0; i < view.demands.size(); ++i) {
    const auto& x = view.demands[i];
    if (x.helpers > 0 && x.helper_kinds.contains(trainer.record.device)
        && view.suits(trainer, x.merger)
        && !trainer.is_resting(x.merger, view.now)
        && (!result || shares.lag(i, *result) > 0))
      result = i;
  }
  return result;
}

std::optional<yield_candidate> candidate_for(const pool_view& view,
                                             const kind_gains& gains,
                                             const projected_shares& next,
                                             std::size_t to) {
  const auto wanting = view.demands[to].merger;
  std::optional<yield_candidate> result;
  const pool_trainer* best = nullptr;
  const auto is_better = [&](const pool_trainer& x, std::size_t from) {
    if (from != result->from)
      return next.shares().lag(result->from, from) > 0;
    const auto& kind = x.record.device;
    const auto& best_kind = best->record.device;
    if (!gains.empty() && kind != best_kind) {
      // Not by division: a kind that is of no use gains nothing.
      const auto here = gains.of(to, kind) * gains.of(from, best_kind);
      const auto there = gains.of(to, best_kind) * gains.of(from, kind);
      if (here != there)
        return here > there;
    }
    return x.granted < best->granted;
  };
  for (const auto& [number, x] : view.trainers.all()) {
    if (!x.holder || x.reserved_for || !x.is_there() || !view.could_use(x, to)
        || !x.is_able(wanting) || next.is_spoken_for(view, x))
      continue;
    const auto from = *view.demands.place_of(*x.holder);
    if (from == to)
      continue;
    if (!result || is_better(x, from)) {
      result = yield_candidate{number, from};
      best = &x;
    }
  }
  return result;
}

std::optional<yield_candidate> helper_for(const pool_view& view,
                                          const projected_shares& next,
                                          std::size_t to) {
  std::optional<yield_candidate> result;
  bool is_idle = false;
  for (const auto& [number, x] : view.trainers.all()) {
    if (!x.holder || !x.helps || x.reserved_for || !x.is_there()
        || !view.could_use(x, to) || !x.is_able(view.demands[to].merger))
      continue;
    const auto from = *view.demands.place_of(*x.holder);
    if (from == to)
      continue;
    const auto ahead = !result ? 1
                       : result->from == from
                         ? 0
                         : next.shares().lag(result->from, from);
    if (ahead < 0 || (ahead == 0 && (is_idle || !x.idle_since)))
      continue;
    result = yield_candidate{number, from};
    is_idle = x.idle_since.has_value();
  }
  return result;
}

} // namespace hippo
