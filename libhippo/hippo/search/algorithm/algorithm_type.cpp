#include "hippo/search/algorithm/algorithm_type.hpp"

#include "hippo/search/algorithm/rungs.hpp"

namespace hippo {

std::unique_ptr<sampler>
algorithm_settings::make_sampler(const study_spec& study,
                                 const sampler_settings& sampling,
                                 const sampler_context& context) const {
  return sampling.make(study, course(), context);
}

trial_course algorithm_settings::course() const {
  return {trials, first, marks(), stops_early()};
}

std::vector<step_t> algorithm_settings::marks() const {
  return lengths.size() > 1 ? lengths : rung_steps(first, max, mark_eta);
}

std::vector<step_t> rung_settings::rungs() const {
  return rung_steps(first, max, eta);
}

first_comparison rung_settings::compares() const {
  return first < max ? first_comparison{first, trials} : first_comparison{};
}

} // namespace hippo
