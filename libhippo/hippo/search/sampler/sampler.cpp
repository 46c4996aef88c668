#include "hippo/search/sampler/sampler.hpp"

#include <cassert>
#include <utility>

#include "hippo/search/algorithm/client_algorithm.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "hippo/search/sampler/differential_evolution.hpp"
#include "hippo/search/sampler/gp_sampler.hpp"
#include "hippo/search/sampler/nsga2_sampler.hpp"
#include "hippo/search/sampler/pbt_explore.hpp"
#include "hippo/search/sampler/static_order.hpp"
#include "hippo/search/sampler/tpe_sampler.hpp"
#include "hippo/search/settings.hpp"

namespace hippo {

namespace {

/// `grid` and `random`.
class static_sampler final : public sampler {
public:
  static_sampler(const study_spec& study, bool shuffled)
    : space_(study.space), order_(study.space, study.seed, shuffled) {}

  [[nodiscard]] bool is_static() const override { return true; }

  trial_parameters draw(trial_no trial) override {
    return space_.decide(order_(trial));
  }

  [[nodiscard]] std::optional<trial_parameters>
  recall(trial_no trial) const override {
    return space_.decide(order_(trial));
  }

  trial_parameters branch(const fork&) override {
    assert(false && "no algorithm with this sampler forks");
    return {};
  }

private:
  search_space space_;
  static_order order_;
};

/// The steps whose results a model learns from.
std::vector<step_t> marks_of(const tune_settings& x) {
  if (x.lengths.size() > 1)
    return x.lengths;
  return rung_steps(x.kind == algorithm_kind::median ? x.grace : x.min, x.max,
                    x.eta);
}

/// Whether trials may end before the last step.
bool stops_early(const tune_settings& x) {
  return x.min < x.max || x.kind == algorithm_kind::median;
}

std::unique_ptr<sampler>
make_gp(const study_spec& study, const tune_settings& x,
        const untrained_work* work,
        const std::map<std::string, sequence>& defaults) {
  gp_options options;
  options.seed = study.seed;
  options.startup = x.startup;
  options.better = x.better;
  options.marks = marks_of(x);
  options.first = x.min;
  options.trials = x.trials;
  if (x.prefer_shared == sharing_preference::price)
    options.price = stops_early(x) ? step_price::full : step_price::falling;
  return std::make_unique<gp_sampler>(study.space, defaults, options, work);
}

} // namespace

trial_parameters sampler::cross(const hippo::cross&) {
  assert(false && "no algorithm with this sampler crosses");
  return {};
}

std::unique_ptr<sampler>
make_sampler(const study_spec& study, const untrained_work* work,
             const std::map<std::string, sequence>& defaults,
             const trial_outcomes* outcomes) {
  const auto x = read_settings(study);
  const bool shuffled = x.sampling != sampling_kind::grid;
  if (x.kind == algorithm_kind::pbt)
    return std::make_unique<pbt_explore>(study.space, study.seed, shuffled,
                                         x.resample, study.algorithm.resample);
  if (x.kind == algorithm_kind::dehb)
    return std::make_unique<differential_evolution>(study.space, study.seed);
  if (x.prefer_shared == sharing_preference::off)
    work = nullptr;
  std::unique_ptr<sampler> result;
  if (x.sampling == sampling_kind::tpe)
    result = std::make_unique<tpe_sampler>(study.space, study.seed, x.startup,
                                           x.candidates, x.better, x.min, work,
                                           outcomes);
  else if (x.sampling == sampling_kind::nsga2)
    result = std::make_unique<nsga2_sampler>(study.space, study.seed,
                                             x.parents, x.min, work, *outcomes);
  else if (x.sampling == sampling_kind::gp)
    result = make_gp(study, x, work, defaults);
  else
    result = std::make_unique<static_sampler>(study, shuffled);
  if (x.kind == algorithm_kind::client)
    return std::make_unique<client_sampler>(std::move(result));
  return result;
}

} // namespace hippo
