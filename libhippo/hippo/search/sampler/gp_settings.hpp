#pragma once

#include <cstdint>
#include <memory>

#include "hippo/search/sampler/gp_sampler.hpp"
#include "hippo/search/sampler/sampler_type.hpp"

namespace hippo {

/// The options of `gp`.
class gp_settings final : public sampler_settings {
public:
  std::uint64_t startup = 10;
  bool has_schedule_mean = true;

  [[nodiscard]] gp_options options_of(const study_spec& study,
                                      const trial_course& course) const;
  [[nodiscard]] std::unique_ptr<sampler>
  make(const study_spec& study, const trial_course& course,
       const sampler_context& context) const override;
};

extern const sampler_type gp_sampler_type;

} // namespace hippo
