#pragma once

#include <cstdint>
#include <initializer_list>

#include "hippo/base/types.hpp"

namespace hippo {

/// Hashes numbers, in order.
std::uint64_t hash_numbers(std::initializer_list<std::uint64_t> xs) noexcept;

/// Hashes a value of a hyper-parameter.
std::uint64_t hash_scalar(const scalar& value);

/// Returns a number of `(0, 1)`, evenly distributed over addresses. What is
/// drawn at one address is always the same, whatever else was drawn before.
double uniform_at(std::uint64_t address) noexcept;

/// Returns a number of the normal distribution with mean 0 and deviation 1.
double normal_at(std::uint64_t address) noexcept;

/// Returns a number of the log-normal distribution with mean 1 and standard
/// deviation `spread`.
double log_normal_at(std::uint64_t address, double spread) noexcept;

} // namespace hippo
