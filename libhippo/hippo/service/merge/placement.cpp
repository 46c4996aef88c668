#include "hippo/service/merge/placement.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

#include "hippo/base/text.hpp"
#include "hippo/service/merge/rank_groups.hpp"

namespace hippo {

namespace {

/// How many times as fast as on a kind that nobody has measured, or on all of
/// them on average, a trainer is by its kind.
double speed_of(const merge_view& view, trainer_id x) {
  if (!view.speeds || view.speeds->empty())
    return 1;
  const auto* kind = view.kinds.kind_of_trainer(x);
  const auto i = kind ? view.speeds->find(*kind) : view.speeds->end();
  return i == view.speeds->end() || !(i->second > 0) ? 1 : i->second;
}

/// A step of a node on a trainer beside the leases that it has, with its share
/// of the measurements, in seconds.
double step_seconds(const merge_view& view, trainer_id trainer, node_id node) {
  // A tree that is on a kind has that kind's times.
  const bool is_free = view.kinds.kind_of_tree(node) == nullptr;
  const auto leases = view.leases.trainer(trainer).leases;
  return view.chooser.tree().seconds_per_step(node)
         / (is_free ? speed_of(view, trainer) : 1)
         * view.estimates.slowdown(view.kinds.kind_of_trainer(trainer),
                                   static_cast<double>(leases + 1));
}

/// The time that a trainer has for training and measuring, beside the start and
/// a checkpoint, in seconds; nothing: it has no limit, or nothing was measured.
std::optional<double> seconds_for_steps(const merge_view& view,
                                        trainer_id trainer,
                                        const checkpoint& start) {
  const auto& leaves_at = view.leases.trainer(trainer).leaves_at;
  if (!leaves_at || !view.estimates.has_trained())
    return std::nullopt;
  const auto* kind = view.kinds.kind_of_trainer(trainer);
  return seconds_between(view.ledger.advanced_to(), *leaves_at)
         - (start.file.empty() ? 0 : view.estimates.load_seconds())
         - view.estimates.save_seconds(kind);
}

/// A stage on a trainer, its measurements included, in seconds.
double stage_seconds(const merge_view& view, trainer_id trainer,
                     const stage& stage) {
  if (stage.begin == stage.end)
    return view.estimates.evaluate_seconds(view.kinds.kind_of_trainer(trainer));
  return static_cast<double>(stage.end - stage.begin)
         * step_seconds(view, trainer, stage.node);
}

} // namespace

const settings_table::settings&
settings_for(const merge_view& view, const std::vector<stage>& stages) {
  if (view.settings.is_uniform())
    return view.settings.of(study_no{});
  const auto& first = stages.front();
  return view.settings.choose(
    view.chooser.waiting_for(first, first.begin),
    [&](const auto& x) { return view.retries.is_spent(first, x); });
}

double training_seconds(const merge_view& view,
                        const std::vector<stage>& stages, step_t from) {
  double result = 0;
  for (const auto& x : stages)
    if (x.end > from)
      result += static_cast<double>(x.end - std::max(x.begin, from))
                * view.chooser.tree().seconds_per_step(x.node);
  return result;
}

double device_seconds_of(const merge_view& view, double quanta) {
  const auto trainers
    = std::max<std::size_t>(view.leases.trainers_at_work(), 1);
  return quanta * fair_shares::quantum_seconds * static_cast<double>(trainers);
}

std::optional<study_no> left_behind(const merge_view& view,
                                    const fair_shares& shares,
                                    const std::vector<study_no>& others) {
  const auto first = shares.next();
  if (!first)
    return std::nullopt;
  const auto slack = device_seconds_of(view, shares.seconds(*first) > 0
                                               ? quanta_behind_max
                                               : first_quanta_behind_max);
  if (std::any_of(others.begin(), others.end(), [&](study_no x) {
        return shares.lag(*first, number_of(x)) <= slack;
      }))
    return std::nullopt;
  return static_cast<study_no>(*first);
}

std::optional<path> next_path(const merge_view& view) {
  auto result = view.chooser.choose();
  if (!result)
    return std::nullopt;
  assert(!result->stages.empty());
  const auto& first = result->stages.front();
  if (const auto study
      = left_behind(view, view.ledger.shares(),
                    view.chooser.waiting_for(first, first.begin)))
    return view.chooser.choose_for(*study);
  return result;
}

std::uint32_t lanes_worth(const merge_view& view, trainer_id trainer) {
  const auto lanes =
    static_cast<std::uint32_t>(view.leases.trainer(trainer).lanes.size());
  return view.estimates.lanes_worth(view.kinds.kind_of_trainer(trainer), lanes);
}

std::vector<trainer_id> full_trainers(const merge_view& view) {
  std::vector<trainer_id> result;
  for (auto x : view.leases.free_trainers())
    if (const auto leases = view.leases.trainer(x).leases;
        leases > 0 && leases >= lanes_worth(view, x))
      result.push_back(x);
  return result;
}

bool has_time(const merge_view& view, trainer_id trainer, const path& path) {
  const auto seconds = seconds_for_steps(view, trainer, path.start);
  if (!seconds)
    return true;
  auto first = path.stages.front();
  first.end = std::min(first.end, first.begin + 1);
  return stage_seconds(view, trainer, first) <= *seconds;
}

void fit_time_limit(const merge_view& view, trainer_id trainer,
                    const checkpoint& start, std::vector<stage>& stages) {
  assert(!stages.empty());
  auto seconds = seconds_for_steps(view, trainer, start);
  if (!seconds)
    return;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    auto& x = stages[i];
    const auto needed = stage_seconds(view, trainer, x);
    if (needed <= *seconds) {
      *seconds -= needed;
      continue;
    }
    const auto steps = x.end - x.begin;
    auto fitting = static_cast<step_t>(std::max(
      0.0, std::floor(*seconds / needed * static_cast<double>(steps))));
    if (i == 0)
      fitting = std::max(fitting, std::min(steps, step_t{1}));
    x.end = x.begin + fitting;
    stages.resize(i + (i == 0 || fitting > 0));
    return;
  }
}

std::string why_short_of_time(const merge_view& view, const path& path) {
  std::optional<double> longest;
  double first = 0;
  for (auto trainer : view.leases.free_trainers()) {
    if (!view.kinds.may_train(trainer, path) || has_time(view, trainer, path))
      continue;
    const auto left = seconds_between(view.ledger.advanced_to(),
                                      *view.leases.trainer(trainer).leaves_at);
    if (longest && *longest >= left)
      continue;
    longest = left;
    first = step_seconds(view, trainer, path.stages.front().node);
  }
  if (!longest)
    return {};
  return "a step takes about " + duration_text(first)
         + ", and the trainers that are free leave sooner, the last of them in "
         + duration_text(std::max(*longest, 0.0))
         + ": start one with a longer time limit (--until)";
}

std::optional<placement> place(const merge_view& view, const path& path) {
  assert(!path.stages.empty());
  const auto own =
    training_seconds(view, path.stages, path.stages.front().begin);
  // A tree that is on a kind has that kind's times.
  const bool is_free =
    view.kinds.kind_of_tree(path.stages.back().node) == nullptr;
  const auto& settings = settings_for(view, path.stages);
  // A trainer was lost over it: those beside it would be suspect as well.
  const bool is_alone = view.retries.is_suspect(path.stages);
  const auto is_shared = [&](trainer_id trainer) {
    const auto running = view.leases.leases_of(trainer);
    return std::none_of(running.begin(), running.end(), [&](lease_id id) {
      return is_alone
             || view.retries.is_suspect(view.leases.find(id)->work.stages);
    });
  };
  std::optional<placement> best;
  std::optional<placement> best_joined;
  for (auto trainer : view.leases.free_trainers()) {
    if (!view.kinds.may_train(trainer, path) || !is_shared(trainer)
        || !has_time(view, trainer, path)
        || view.retries.is_left_to_others(
          trainer, path, settings,
          [&](trainer_id y) { return view.kinds.may_train(y, path); })
        || (members_needed(view, trainer) > 1
            && members_for(view, trainer, path).empty()))
      continue;
    const auto alone = is_free ? own / speed_of(view, trainer) : own;
    const auto leases = view.leases.trainer(trainer).leases;
    const placement next{trainer, alone,
                         alone
                           * view.estimates.slowdown(
                             view.kinds.kind_of_trainer(trainer),
                             static_cast<double>(leases + 1)),
                         leases};
    const auto rank = [](const placement& y) {
      return std::tuple{y.seconds, y.leases};
    };
    auto& known = members_needed(view, trainer) > 1 ? best_joined : best;
    if (!known || rank(next) < rank(*known))
      known = next;
  }
  return best_joined && (!best || best->leases > 0) ? best_joined : best;
}

std::optional<placed_path> next_placement(const merge_view& view) {
  auto chosen = next_path(view);
  if (!chosen)
    return std::nullopt;
  auto where = place(view, *chosen);
  if (where
      && (where->leases == 0 || view.leases.idle_trainers().empty()))
    return placed_path{std::move(*chosen), where};
  std::optional<placement> there;
  const auto is_better = [&](const path& x) {
    there = place(view, x);
    return there && (!where || there->leases == 0);
  };
  const auto is_possible = [&](node_id node) {
    const auto& free = view.leases.free_trainers();
    return std::any_of(free.begin(), free.end(), [&](trainer_id y) {
      return view.kinds.may_train(y, node);
    });
  };
  if (auto other = view.chooser.choose(
        is_better, view.kinds.are_several() ? is_possible
                                            : scheduler::node_filter{}))
    return placed_path{std::move(*other), there};
  return placed_path{std::move(*chosen), where};
}

std::uint32_t lane_for(const lease_table::trainer_entry& trainer,
                       const path& path) {
  std::optional<std::uint32_t> result;
  for (std::uint32_t i = 0; i < trainer.lanes.size(); ++i) {
    const auto& lane = trainer.lanes[i];
    if (!lane.lease
        && (!result
            || (!path.start.file.empty() && lane.present == path.start.file)))
      result = i;
  }
  assert(result);
  return *result;
}

capacity_offers divide_capacity(const merge_view& view,
                                const study_table& studies) {
  capacity_offers result{studies.size()};
  auto shares = view.ledger.shares();
  assert(shares.size() == studies.size());
  for (auto i : studies.ids())
    shares.set_waiting(number_of(i), studies.wants_capacity(i));
  if (!shares.next())
    return {};
  const auto leads = ready_leads(view);
  for (auto trainer : view.leases.free_trainers()) {
    const auto members = members_needed(view, trainer);
    if (members > 1 && !leads.contains(trainer))
      continue;
    const auto lanes = members > 1 ? 1 : lanes_worth(view, trainer);
    for (auto n = view.leases.trainer(trainer).leases; n < lanes; ++n) {
      const auto next = shares.next();
      if (!next)
        return {};
      ++result[static_cast<study_no>(*next)];
      shares.hold(*next,
                  static_cast<double>(members) / static_cast<double>(lanes));
    }
  }
  return result;
}

} // namespace hippo
