#pragma once

#include <span>

namespace hippo {

/// How well logits foretell clicks.
struct click_scores {
  double log_loss = 0; ///< mean cross-entropy
  /// The chance that a clicked impression has a higher logit than one that was
  /// not, ties counting half; 1/2 if all are of one kind.
  double auc = 0;
};

/// @param labels 1 or 0, as many as logits
click_scores click_scores_of(std::span<const float> logits,
                             std::span<const float> labels);

} // namespace hippo
