#include "hippo/search/sampler/client_sampler.hpp"

namespace hippo {

trial_parameters client_sampler::draw(trial_no trial) {
  const auto found = given_.find(trial);
  return found == given_.end() ? others_->draw(trial)
                               : std::move(given_.extract(found).mapped());
}

std::optional<trial_parameters> client_sampler::recall(trial_no trial) const {
  return was_given_.contains(trial) ? std::nullopt : others_->recall(trial);
}

} // namespace hippo
