#include "hippo/search/algorithm/freeze_thaw.hpp"

#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/sampler/freeze_thaw_sampler.hpp"
#include "hippo/search/sampler/gp_settings.hpp"

namespace hippo {

namespace {

/// Each rung has so many times the steps of the one before.
constexpr std::uint64_t rung_growth = 2;

/// The last rung has so many times the steps of the first one, at most.
constexpr step_t rungs_range = 8;

} // namespace

freeze_thaw::freeze_thaw(std::uint64_t trials, std::vector<step_t> rungs,
                         direction better,
                         std::optional<std::uint64_t> concurrent,
                         const trial_states* states)
  : asha(trials, std::move(rungs), rung_growth, better, concurrent),
    states_(states) {}

void freeze_thaw::on_lost(trial_no trial, trial_phase before) {
  if (before == trial_phase::resting)
    resting_.erase(trial);
}

void freeze_thaw::on_taken_back(trial_no trial) {
  if (state(trial).rung > 0)
    thawed_.insert(trial);
}

void freeze_thaw::on_longer(const std::vector<trial_no>& finished) {
  for (const auto trial : finished)
    rest(trial);
}

std::vector<placed_trial> freeze_thaw::going() {
  std::erase_if(thawed_, [this](trial_no trial) {
    return state(trial).phase != trial_phase::training;
  });
  std::vector<placed_trial> result;
  for (const auto trial : thawed_)
    result.push_back({trial, rung_step(state(trial).rung)});
  return result;
}

bool freeze_thaw::resume(std::vector<action>& out) {
  std::vector<placed_trial> resting;
  for (const auto& [trial, at] : resting_)
    resting.push_back({trial, at});
  const auto fresh = next_fresh();
  const auto next = states_ != nullptr ? states_->next(resting, going(), fresh)
                                       : trial_states::first_of(resting, fresh);
  if (!next || next == fresh)
    return false;
  resting_.erase(*next);
  thawed_.insert(*next);
  train(*next, state(*next).rung + 1, out);
  return true;
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option freeze_thaw_min{.name = "min",
                                 .low = 1,
                                 .high_text = "`max`",
                                 .fallback_text =
                                   "an eighth of `max`, rounded up",
                                 .meaning = "the first rung, in steps"};

constexpr option freeze_thaw_options[]{
  freeze_thaw_min, max_option, auto_concurrent_option, prefer_shared_option};

std::shared_ptr<algorithm_settings> read_freeze_thaw(algorithm_reader& from) {
  auto result = std::make_shared<freeze_thaw_settings>();
  result->eta = rung_growth;
  result->max = from.read_max();
  result->first = from.whole(freeze_thaw_min, 1, result->max,
                             (result->max - 1) / rungs_range + 1);
  from.read_lengths(*result);
  result->concurrent = from.read_concurrent();
  from.read_sampling();
  result->trials = from.count_trials();
  // Either would have to be computed alike by every CPU.
  if (!from.study().prior.empty())
    from.error("prior", "freeze-thaw does not use a prior: use asha with"
                        " `sampler: gp`");
  const auto& options = from.study().algorithm.options;
  if (const auto mean = options.find("mean");
      mean != options.end() && mean->second == scalar{"schedules"})
    from.error(from.path_of(mean->first),
               "freeze-thaw does not use a law of schedules: leave `mean` out,"
               " or use asha with `sampler: gp`");
  from.warn_of_blind_start(result->concurrent);
  return result;
}

} // namespace

std::unique_ptr<algorithm>
freeze_thaw_settings::make(const study_spec& study, const trial_states* states,
                           const trial_outcomes*) const {
  return std::make_unique<freeze_thaw>(
    trials, rungs(), study.objective.direction, concurrent, states);
}

std::unique_ptr<sampler>
freeze_thaw_settings::make_sampler(const study_spec& study,
                                   const sampler_settings& sampling,
                                   const sampler_context& context) const {
  auto options =
    dynamic_cast<const gp_settings&>(sampling).options_of(study, course());
  // A law of schedules is not computed alike by every CPU.
  options.has_schedule_mean = false;
  return std::make_unique<freeze_thaw_sampler>(study.space, context.defaults,
                                               std::move(options), context.work,
                                               context.outcomes);
}

const algorithm_type freeze_thaw_type{
  .name = "freeze-thaw",
  .meaning = "the trial goes on, or begins, of which a model expects most for"
             " its steps",
  .options = freeze_thaw_options,
  .sampler = "gp",
  .read = read_freeze_thaw};

} // namespace hippo
