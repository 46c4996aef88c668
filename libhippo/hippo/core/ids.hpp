#pragma once

#include <cstdint>

namespace hippo {

/// A trainer, by the number that the pool gave it; from 1.
enum class trainer_id : std::uint64_t {};

/// A lease, by its number; from 1, unique in a service.
enum class lease_id : std::uint64_t {};

/// Returns the number behind an id, for messages, records and text.
template <class Id>
constexpr std::uint64_t number_of(Id x) noexcept {
  return static_cast<std::uint64_t>(x);
}

} // namespace hippo
