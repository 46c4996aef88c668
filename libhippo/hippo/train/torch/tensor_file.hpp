#pragma once

#include <torch/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hippo {

/// Tensors with their names, in the order of a PyTorch module.
using named_tensors = std::vector<std::pair<std::string, at::Tensor>>;

/// A state as tensors by name.
using tensor_map = std::map<std::string, at::Tensor>;

/// Returns the tensors as bytes, little-endian: equal tensors give equal bytes.
std::string to_bytes(const tensor_map& tensors);

/// Reads what `to_bytes` wrote; the tensors are on the CPU.
/// Throws `std::runtime_error` if the bytes are anything else.
tensor_map tensors_from_bytes(const std::string& bytes);

/// Copies `from` into `to`, which must have the same names, shapes and types.
/// Throws `std::runtime_error`, before it changes anything, if it has not.
void copy_into(const tensor_map& to, const tensor_map& from);

} // namespace hippo
