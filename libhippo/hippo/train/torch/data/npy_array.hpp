#pragma once

#include <torch/types.h>

#include <string>
#include <string_view>

namespace hippo {

/// Reads an array of NumPy's format .npy (versions 1 to 3): numbers of 32 or 64
/// bits, little-endian, row by row. Throws `std::invalid_argument` for anything
/// else.
/// @param bytes of the file
/// @param path for messages
at::Tensor npy_array(std::string_view bytes, const std::string& path);

} // namespace hippo
