#pragma once

// What tests of parts of a training step have in common.

#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/step_values.hpp"

namespace hippo {

/// Updates the weights by a rule.
inline void update(optimizer& optimizer, const update_rule& rule) {
  step_values values{at::kCPU};
  optimizer.plan(rule, values);
  optimizer.apply(values);
}

/// Returns the values of a step with that dropout.
inline step_values dropping(const dropout_source& drop) {
  step_values values{at::kCPU};
  values.reset(drop);
  return values;
}

} // namespace hippo
