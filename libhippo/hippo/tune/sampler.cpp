#include "hippo/tune/algorithm.hpp"
#include "hippo/tune/settings.hpp"

namespace hippo {

sampler::sampler(const study_spec& study)
  : space_(study.space),
    seed_(study.seed),
    shuffled_(read_settings(study).random_order) {
  if (const auto size = space_.size(); size && shuffled_)
    order_.emplace(*size, seed_);
}

trial_parameters sampler::parameters(trial_no trial) const {
  if (order_)
    return space_.at((*order_)(trial));
  return shuffled_ ? space_.sample(seed_, trial) : space_.at(trial);
}

} // namespace hippo
