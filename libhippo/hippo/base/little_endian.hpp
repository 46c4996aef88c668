#pragma once

#include <concepts>
#include <cstddef>

namespace hippo {

/// Writes a number, its lowest byte first, on every machine.
/// @param to room for it
template <std::unsigned_integral T>
void put_little_endian(T value, std::byte* to) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    to[i] = static_cast<std::byte>(value >> (8 * i));
}

/// Reads what `put_little_endian` has written.
template <std::unsigned_integral T>
T get_little_endian(const std::byte* from) {
  T result = 0;
  for (std::size_t i = 0; i < sizeof result; ++i)
    result = static_cast<T>(result | static_cast<T>(from[i]) << (8 * i));
  return result;
}

} // namespace hippo
