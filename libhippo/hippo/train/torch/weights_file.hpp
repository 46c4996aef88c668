#pragma once

#include <string>

#include "hippo/train/torch/model.hpp"

namespace hippo {

/// Writes the tensors to `path` in the order given, so that Python's
/// `torch.load(path, weights_only=True)` reads them as a dict.
/// Throws `std::runtime_error` if it cannot.
void write_weights(const std::string& path, const named_tensors& tensors);

} // namespace hippo
