#pragma once

#include "hippo/search/sampler/sampler.hpp"
#include "hippo/search/sampler/sampler_type.hpp"
#include "hippo/search/sampler/static_order.hpp"

namespace hippo {

/// The samplers `random` and `grid`: values follow from a trial's number.
class static_sampler final : public sampler {
public:
  /// @param shuffled else it counts through; REQUIRES a finite space then
  static_sampler(const study_spec& study, bool shuffled);

  [[nodiscard]] bool is_static() const override { return true; }
  void begin_with(const std::vector<leaf_decisions>& first) override {
    order_.begin_with(first);
  }
  void give(trial_no trial, leaf_decisions values) override {
    order_.give(trial, std::move(values));
  }
  [[nodiscard]] std::optional<leaf_decisions>
  given(trial_no trial) const override {
    return order_.given(trial);
  }
  void follow(trial_no next, const std::vector<tried_trial>& tried) override;
  trial_parameters draw(trial_no trial) override;
  [[nodiscard]] std::optional<trial_parameters>
  recall(trial_no trial) const override;
  trial_parameters branch(const fork& fork) override;
  void lengthen(const search_space& space,
                const std::vector<step_t>&) override {
    space_ = space;
    order_.lengthen(space);
  }

private:
  search_space space_;
  static_order order_;
};

extern const sampler_type random_sampler_type;
extern const sampler_type grid_sampler_type;

} // namespace hippo
