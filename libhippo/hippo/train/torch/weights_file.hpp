#pragma once

#include <string>

#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// Writes the tensors to `path` in the order given, so that Python's
/// `torch.load(path, weights_only=True)` reads them as a dict.
/// Throws `std::runtime_error` if it cannot.
void write_weights(const std::string& path, const named_tensors& tensors);

/// Reads the tensors of a dict that `write_weights` wrote, or Python's
/// `torch.save(dict(model.state_dict()), path)`; what else is in it is left
/// out.
/// Throws `std::runtime_error` if there is no such dict.
tensor_map read_weights(const std::string& path);

} // namespace hippo
