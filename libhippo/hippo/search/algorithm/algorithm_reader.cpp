#include "hippo/search/algorithm/algorithm_reader.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

namespace hippo {

namespace {

/// The trials of a space without an end whose study only time limits.
constexpr std::uint64_t trials_of_a_time_budget = 10'000;

/// The same of a study that steps limit too: each trial has a measurement.
std::uint64_t trials_max_of(const study_spec& study) {
  const auto& steps = study.budget.steps;
  const auto shortest = study.repeats.seeds * study.objective.every;
  return steps ? std::clamp<std::uint64_t>(*steps / shortest, 1,
                                           trials_of_a_time_budget)
               : trials_of_a_time_budget;
}

constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();

bool may_end_early(const study_spec& study) {
  return study.budget.seconds || study.budget.device_seconds
         || study.budget.cost || study.budget.deadline || study.budget.steps
         || study.stop_when.value || study.stop_when.no_gain;
}

} // namespace

step_t algorithm_reader::read_max() {
  const auto longest = study().max_steps;
  return declares(max_option) ? whole(max_option, 1, longest, longest)
                              : longest;
}

void algorithm_reader::read_rungs(rung_settings& to) {
  to.eta = whole(eta_option);
  to.max = read_max();
  to.first = whole(min_option, 1, to.max, 1);
  read_lengths(to);
}

/// Trials of several lengths are compared with those of their own, where they
/// end: algorithms that compare them on the way do not take them.
void algorithm_reader::read_lengths(algorithm_settings& to) {
  to.lengths = {to.max};
  if (study().several_lengths.empty())
    return;
  if (!type_.takes_lengths) {
    error("algorithm", std::string{type_.name}
                         + " takes trials of one length: use grid, random, tpe,"
                           " gp or client, or give max_steps one number");
    return;
  }
  if (!sampler_.lengths_refusal.empty())
    error(path_of(sampler_option), std::string{sampler_.lengths_refusal});
  if (has(max_option))
    error(path_of(max_option), "says how long trials are, as max_steps does:"
                               " give one of them");
  to.lengths = study().several_lengths;
}

/// A sampler that learns must not have to decide everything before it could.
std::optional<std::uint64_t> algorithm_reader::read_concurrent() {
  const auto* declared =
    find_option(type_.options, auto_concurrent_option.name);
  assert(declared != nullptr);
  const bool has_auto = !declared->words.front().empty();
  const bool is_auto =
    has_auto
    && (has(*declared) ? says(*declared, "auto")
                       : declared->fallback_text.empty() || sampler_.learns);
  if (is_auto)
    return std::nullopt;
  return whole(*declared, 0, static_cast<std::uint64_t>(whole_max), 0);
}

void algorithm_reader::read_sampling() {
  auto preference =
    sampler_.has_price ? sharing_preference::price : sharing_preference::ties;
  if (declares(prefer_shared_option)) {
    const auto name =
      word(prefer_shared_option, sampler_.has_price ? "price" : "ties");
    if (name == "price" && !sampler_.has_price)
      error(path_of(prefer_shared_option),
            "price is for the sampler gp, which says what a trial is worth: use"
            " ties, or `sampler: gp`");
    preference = name == "off"     ? sharing_preference::off
                 : name == "price" ? sharing_preference::price
                                   : sharing_preference::ties;
  }
  sampling_ = sampler_.read(*this);
  sampling_->prefer_shared = preference;
}

bool algorithm_reader::check_space_is_finite() {
  if (!sampler_.needs_finite_space || study().space.size())
    return true;
  error(sampler_path(), "a grid needs a finite space: give each continuous"
                        " range `points`, or use random");
  return false;
}

std::uint64_t algorithm_reader::count_trials(std::optional<std::uint64_t> own,
                                             const few_trials& few) {
  if (!check_space_is_finite())
    return 0;
  const auto size = study().space.size();
  auto budget = study().budget.trials;
  if (!size && !budget && !own && may_end_early(study())) {
    budget = trials_max_of(study());
    if (budget == trials_of_a_time_budget)
      warn("budget", "there are at most " + std::to_string(*budget)
                       + " trials: give another number as `trials`");
  }
  if (!size && !budget && !own) {
    error("algorithm", std::string{type_.name}
                         + " needs `budget.trials`: the space holds any number"
                           " of combinations");
    return 0;
  }
  const auto wanted =
    std::min(own.value_or(unlimited), budget.value_or(unlimited));
  const auto result = std::min(size.value_or(unlimited), wanted);
  if (result > max_trials)
    error(budget ? "budget.trials" : "algorithm",
          std::to_string(result)
            + " trials are too many: `budget.trials` may be up to "
            + std::to_string(max_trials));
  else if (result == 0)
    error("budget.trials", "must be at least 1, found 0");
  else if (result < few.below)
    warn(budget && *budget == result ? "budget.trials" : "algorithm",
         std::string{few.taker} + " takes " + std::to_string(few.below)
           + " trials: with " + std::to_string(result) + " "
           + std::string{few.outcome});
  else if (size && wanted != unlimited && *size < wanted)
    warn(budget ? "budget.trials" : "algorithm",
         "the space has only " + std::to_string(*size)
           + " combinations, so there will be that many trials, not "
           + std::to_string(wanted));
  else if (size && budget && *size > *budget && sampler_.needs_finite_space)
    warn("budget.trials", "the grid has " + std::to_string(*size)
                            + " combinations, of which only the first "
                            + std::to_string(*budget) + " will be tried");
  return result;
}

void algorithm_reader::warn_of_blind_start(
  std::optional<std::uint64_t> concurrent) {
  if (concurrent == 0 && sampler_.learns && !has_errors())
    warn(path_of(auto_concurrent_option),
         "with 0 all trials start at once, before " + std::string{sampler_.name}
           + " could learn: all will be random");
}

} // namespace hippo
