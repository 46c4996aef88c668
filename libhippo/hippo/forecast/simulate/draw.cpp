#include "hippo/forecast/simulate/draw.hpp"

#include <bit>
#include <cmath>
#include <numbers>
#include <string>
#include <variant>

#include "hippo/base/hash.hpp"

namespace hippo {

std::uint64_t hash_numbers(std::initializer_list<std::uint64_t> xs) noexcept {
  return hash_bytes(xs.begin(), xs.size() * sizeof(std::uint64_t));
}

std::uint64_t hash_scalar(const scalar& value) {
  if (const auto* word = std::get_if<std::string>(&value))
    return hash_bytes(word->data(), word->size());
  return hash_numbers({std::bit_cast<std::uint64_t>(std::get<double>(value))});
}

double uniform_at(std::uint64_t address) noexcept {
  const auto bits = hash_numbers({address}) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

double normal_at(std::uint64_t address) noexcept {
  // Box and Muller.
  const auto radius = std::sqrt(-2 * std::log(uniform_at(address)));
  const auto angle =
    2 * std::numbers::pi * uniform_at(hash_numbers({address, 1}));
  return radius * std::cos(angle);
}

double log_normal_at(std::uint64_t address, double spread) noexcept {
  const auto variance = std::log1p(spread * spread);
  return std::exp(std::sqrt(variance) * normal_at(address) - variance / 2);
}

} // namespace hippo
