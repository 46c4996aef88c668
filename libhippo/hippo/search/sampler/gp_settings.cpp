#include "hippo/search/sampler/gp_settings.hpp"

#include <string>
#include <utility>

namespace hippo {

namespace {

constexpr option gp_startup{.name = "startup",
                            .low = 1,
                            .high = max_trials,
                            .fallback_text = "5 with `gp` alone, else 10",
                            .meaning =
                              "trials with a result before the sampler learns"};

constexpr option gp_mean{.name = "mean",
                         .type = option_type::word,
                         .words = {"schedules", "zero"},
                         .fallback = "schedules",
                         .meaning =
                           "`schedules`: losses are expected to follow a law of"
                           " learning-rate schedules, where it predicts them;"
                           " `zero`: no expectation"};

/// Where each trial is trained to its end ten cost a lot, and with less than a
/// block of the Latin hypercube optima away from the corners are found late.
std::uint64_t usual_startup(const study_spec& study) {
  return study.algorithm.name == gp_sampler_type.name ? 5 : 10;
}

constexpr option gp_own_options[]{gp_startup, gp_mean};

std::string gp_space_refusal(const study_spec& study) {
  const auto leaves = study.space.leaves();
  if (leaves <= gp_leaves_max)
    return {};
  return "gp takes at most " + std::to_string(gp_leaves_max)
         + " choices and ranges, and the space has " + std::to_string(leaves)
         + ": use tpe";
}

std::string gp_goals_refusal(const study_spec& study) {
  return study.objective.further.empty()
           ? std::string{}
           : "gp takes one metric: use tpe or nsga2";
}

} // namespace

gp_options gp_settings::options_of(const study_spec& study,
                                   const trial_course& course) const {
  gp_options options;
  options.seed = study.seed;
  options.startup = startup;
  options.has_schedule_mean = has_schedule_mean;
  options.better = study.objective.direction;
  options.marks = course.marks;
  options.first = course.first;
  options.trials = course.trials;
  if (prefer_shared == sharing_preference::price)
    options.price = course.stops_early ? step_price::full : step_price::falling;
  return options;
}

std::unique_ptr<sampler>
gp_settings::make(const study_spec& study, const trial_course& course,
                  const sampler_context& context) const {
  return std::make_unique<gp_sampler>(study.space, context.defaults,
                                      options_of(study, course), context.work,
                                      context.outcomes);
}

const sampler_type gp_sampler_type{
  .name = "gp",
  .meaning = "values are learned from results by a Gaussian process over"
             " schedules",
  .learns = true,
  .options = gp_own_options,
  .has_price = true,
  .is_slow = true,
  .takes_prior = true,
  .space_refusal = gp_space_refusal,
  .goals_refusal = gp_goals_refusal,
  .read = [](option_reader& from) -> std::shared_ptr<sampler_settings> {
    auto result = std::make_shared<gp_settings>();
    result->startup =
      from.whole(gp_startup, 1, max_trials, usual_startup(from.study()));
    result->has_schedule_mean = from.word(gp_mean) == "schedules";
    return result;
  }};

} // namespace hippo
