#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hippo/base/content_source.hpp"
#include "hippo/base/scratch_folder.hpp"

namespace hippo {

/// Makes a folder for states that come and go, or for another purpose.
/// @param name as of `scratch_folder::make`
/// @throws std::runtime_error if it cannot be made
scratch_folder make_exchange_folder(const std::string& name = "hippo-states");

/// The most bytes of a state.
inline constexpr std::uint64_t state_bytes_max = 64ull << 30;

/// Opens a file that code of a study has left. It may have left anything: only
/// a regular file is read, so that nobody waits for a pipe.
/// @throws std::runtime_error if it is none, cannot be read or is larger than
///         `bytes_max`
file_source open_exchanged(const std::string& path, std::uint64_t bytes_max);

/// @throws std::runtime_error if it cannot be read
std::string read_whole(const file_source& file);

/// Reads a file into memory. @throws as `open_exchanged` and `read_whole`
std::string read_exchanged(const std::string& path, std::uint64_t bytes_max);

/// @throws std::runtime_error if it cannot be written
void write_exchanged(const std::string& path, std::string_view bytes);

} // namespace hippo
