#include "hippo/tune/sampler.hpp"

#include <cassert>
#include <utility>

#include "hippo/tune/client_algorithm.hpp"
#include "hippo/tune/evolving_sampler.hpp"
#include "hippo/tune/perturbing_sampler.hpp"
#include "hippo/tune/settings.hpp"
#include "hippo/tune/static_order.hpp"
#include "hippo/tune/tpe_sampler.hpp"

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

} // namespace

trial_parameters sampler::cross(const hippo::cross&) {
  assert(false && "no algorithm with this sampler crosses");
  return {};
}

std::unique_ptr<sampler> make_sampler(const study_spec& study,
                                      const untrained_work* work) {
  const auto x = read_settings(study);
  const bool shuffled = x.sampling != sampling_kind::grid;
  if (x.kind == algorithm_kind::pbt)
    return std::make_unique<perturbing_sampler>(study.space, study.seed,
                                                shuffled, x.resample);
  if (x.kind == algorithm_kind::dehb)
    return std::make_unique<evolving_sampler>(study.space, study.seed);
  std::unique_ptr<sampler> result;
  if (x.sampling == sampling_kind::tpe)
    result = std::make_unique<tpe_sampler>(
      study.space, study.seed, x.startup, x.candidates, x.better, x.min,
      x.prefer_shared ? work : nullptr);
  else
    result = std::make_unique<static_sampler>(study, shuffled);
  if (x.kind == algorithm_kind::client)
    return std::make_unique<client_sampler>(std::move(result));
  return result;
}

} // namespace hippo
