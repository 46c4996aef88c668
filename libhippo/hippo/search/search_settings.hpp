#pragma once

#include <memory>

namespace hippo {

struct algorithm_type;
class algorithm_settings;
struct sampler_type;
class sampler_settings;

/// The algorithm and the sampler of a study, with their options read: see
/// `read_search`.
struct search_settings {
  const algorithm_type* algorithm = nullptr;
  std::shared_ptr<const algorithm_settings> options;
  const sampler_type* sampler = nullptr;
  std::shared_ptr<const sampler_settings> sampling;
};

} // namespace hippo
