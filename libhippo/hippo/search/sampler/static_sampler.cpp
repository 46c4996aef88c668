#include "hippo/search/sampler/static_sampler.hpp"

#include <cassert>
#include <utility>

namespace hippo {

namespace {

class static_settings final : public sampler_settings {
public:
  explicit static_settings(bool shuffled) : shuffled_(shuffled) {}

  [[nodiscard]] bool is_shuffled() const override { return shuffled_; }

  [[nodiscard]] std::unique_ptr<sampler>
  make(const study_spec& study, const trial_course&,
       const sampler_context&) const override {
    return std::make_unique<static_sampler>(study, shuffled_);
  }

private:
  bool shuffled_;
};

} // namespace

static_sampler::static_sampler(const study_spec& study, bool shuffled)
  : space_(study.space), order_(study.space, study.seed, shuffled) {}

void static_sampler::follow(trial_no next,
                            const std::vector<tried_trial>& tried) {
  std::vector<leaf_decisions> values;
  for (const auto& x : tried)
    values.push_back(x.values);
  order_.follow(next, std::move(values));
}

trial_parameters static_sampler::draw(trial_no trial) {
  return space_.decide(order_(trial));
}

std::optional<trial_parameters> static_sampler::recall(trial_no trial) const {
  return space_.decide(order_(trial));
}

trial_parameters static_sampler::branch(const fork&) {
  assert(false && "no algorithm with this sampler forks");
  return {};
}

const sampler_type random_sampler_type{
  .name = "random",
  .meaning = "values are drawn without replacement from a finite space, and"
             " independently where a range is continuous",
  .read = [](option_reader&) -> std::shared_ptr<sampler_settings> {
    return std::make_shared<static_settings>(true);
  }};

const sampler_type grid_sampler_type{
  .name = "grid",
  .meaning = "all combinations of a finite space in order; the first"
             " hyper-parameter of the file varies slowest",
  .needs_finite_space = true,
  .read = [](option_reader&) -> std::shared_ptr<sampler_settings> {
    return std::make_shared<static_settings>(false);
  }};

} // namespace hippo
