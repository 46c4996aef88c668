#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/base/types.hpp"

namespace hippo {

/// A function to be minimised, of which less is known after fewer steps: what
/// is measured is biased, or noisy, but for the last of `test_steps`.
struct test_function {
  std::string name;
  std::size_t ranges = 0;  ///< values from 0 to 1
  std::size_t choices = 0; ///< values of 0 or 1, after these
  double least = 0;        ///< what the best values measure
  /// The measurement of `values` at step `at`: a function of all arguments.
  double (*measured)(const std::vector<double>& values, step_t at,
                     std::uint64_t seed) = nullptr;
  /// The same after all steps, without noise.
  double (*exact)(const std::vector<double>& values) = nullptr;
  /// Whether a training with these values fails; null: none does.
  bool (*fails)(const std::vector<double>& values) = nullptr;
  /// The distance to a limit, below 0 where it is broken; null: there is none.
  /// `least` is that of values which keep it.
  double (*slack)(const std::vector<double>& values) = nullptr;
};

inline constexpr step_t test_steps = 81;

namespace test_functions {

/// Uniform from 0 to 1, by its address.
inline double drawn(const std::vector<double>& point, std::uint64_t seed,
                    std::uint64_t index, std::uint64_t second) {
  const std::uint64_t address[]{
    hash_bytes(point.data(), point.size() * sizeof(double), seed), index,
    second};
  return static_cast<double>(hash_bytes(address, sizeof(address)) >> 11)
         * 0x1p-53;
}

/// How much is known after so many steps: 0 after the first one, 1 in the end.
inline double known(step_t at) {
  return std::log(static_cast<double>(at))
         / std::log(static_cast<double>(test_steps));
}

/// Branin, on the unit square. Its b is too small by up to 0.01, as in BOCA
/// (Kandasamy et al., arXiv 1703.06240).
inline double branin(const std::vector<double>& point, double fidelity) {
  constexpr auto pi = std::numbers::pi;
  const auto u = 15 * point[0] - 5, v = 15 * point[1];
  const auto b = 5.1 / (4 * pi * pi) - 0.01 * (1 - fidelity);
  return std::pow(v - b * u * u + 5 / pi * u - 6, 2)
         + 10 * (1 - 1 / (8 * pi)) * std::cos(u) + 10;
}

inline double measured_branin(const std::vector<double>& point, step_t at,
                              std::uint64_t) {
  return branin(point, static_cast<double>(at) / test_steps);
}

/// Hartmann in 3 or 6 dimensions, the heights of its hills less by `bias`.
template <std::size_t Dimensions>
double hartmann(const std::vector<double>& point, double bias) {
  constexpr std::array<double, 4> height{1, 1.2, 3, 3.2};
  constexpr std::array<std::array<double, 3>, 4> width3{
    {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}}};
  constexpr std::array<std::array<double, 3>, 4> place3{{{3689, 1170, 2673},
                                                         {4699, 4387, 7470},
                                                         {1091, 8732, 5547},
                                                         {381, 5743, 8828}}};
  constexpr std::array<std::array<double, 6>, 4> width6{
    {{10, 3, 17, 3.5, 1.7, 8},
     {0.05, 10, 17, 0.1, 8, 14},
     {3, 3.5, 1.7, 10, 17, 8},
     {17, 8, 0.05, 10, 0.1, 14}}};
  constexpr std::array<std::array<double, 6>, 4> place6{
    {{1312, 1696, 5569, 124, 8283, 5886},
     {2329, 4135, 8307, 3736, 1004, 9991},
     {2348, 1451, 3522, 2883, 3047, 6650},
     {4047, 8828, 8732, 5743, 1091, 381}}};
  double result = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double distance = 0;
    for (std::size_t j = 0; j < Dimensions; ++j)
      if constexpr (Dimensions == 3)
        distance += width3[i][j] * std::pow(point[j] - 1e-4 * place3[i][j], 2);
      else
        distance += width6[i][j] * std::pow(point[j] - 1e-4 * place6[i][j], 2);
    result -= (height[i] - bias) * std::exp(-distance);
  }
  return result;
}

/// The multi-fidelity form of mf-prior-bench: bias 0.5 and noise 0.1, both of
/// which vanish with the logarithm of the step.
template <std::size_t Dimensions>
double measured_hartmann(const std::vector<double>& point, step_t at,
                         std::uint64_t seed) {
  const auto left = 1 - known(at);
  // Box and Muller's method.
  const auto normal =
    std::sqrt(-2 * std::log(1 - drawn(point, seed, at, 0)))
    * std::cos(2 * std::numbers::pi * drawn(point, seed, at, 1));
  return hartmann<Dimensions>(point, 0.5 * left)
         + 0.1 * left * std::abs(normal);
}

/// Counting ones (Falkner et al., arXiv 1807.01774): of each range as many
/// tosses are seen as the fidelity says, of 100. The share of those that are
/// not one.
template <std::size_t Half>
double measured_ones(const std::vector<double>& point, step_t at,
                     std::uint64_t seed) {
  const auto tosses = static_cast<std::uint64_t>(
    std::max<long>(1, std::lround(100. * static_cast<double>(at)
                                  / static_cast<double>(test_steps))));
  double ones = 0;
  for (std::size_t i = 0; i < Half; ++i) {
    std::uint64_t heads = 0;
    for (std::uint64_t j = 0; j < tosses; ++j)
      heads += drawn(point, seed, i, j) < point[i];
    ones += static_cast<double>(heads) / static_cast<double>(tosses)
            + point[Half + i];
  }
  return 1 - ones / (2 * Half);
}

/// The two functions with a limit of Gardner et al., *Bayesian Optimization
/// with Inequality Constraints*, ICML 2014, on the unit square.
inline double gardner_waves(const std::vector<double>& point) {
  const auto u = 6 * point[0], v = 6 * point[1];
  return std::cos(2 * u) * std::cos(v) + std::sin(u);
}

inline double gardner_slope(const std::vector<double>& point) {
  return std::sin(6 * point[0]) + 6 * point[1];
}

template <std::size_t Half>
double exact_ones(const std::vector<double>& point) {
  double ones = 0;
  for (auto y : point)
    ones += y;
  return 1 - ones / (2 * Half);
}

inline const std::vector<test_function>& all() {
  static const std::vector<test_function> result{
    {"hartmann3", 3, 0, -3.86277978, measured_hartmann<3>,
     [](const std::vector<double>& x) { return hartmann<3>(x, 0); }},
    {"hartmann6", 6, 0, -3.32236801, measured_hartmann<6>,
     [](const std::vector<double>& x) { return hartmann<6>(x, 0); }},
    {"branin", 2, 0, 0.39788735772, measured_branin,
     [](const std::vector<double>& x) { return branin(x, 1); }},
    {"ones4", 4, 4, 0, measured_ones<4>, exact_ones<4>},
    {"ones8", 8, 8, 0, measured_ones<8>, exact_ones<8>},
    {"ones16", 16, 16, 0, measured_ones<16>, exact_ones<16>},
    // Half of the space fails, `least` is that of the other half. The best
    // values lie within a disc, away from a plane, on a plane; the last one's
    // halves are told apart by two choices together.
    {"branin-disc", 2, 0, 0.39788735772, measured_branin,
     [](const std::vector<double>& x) { return branin(x, 1); },
     [](const std::vector<double>& x) {
       return std::pow(x[0] - 0.5, 2) + std::pow(x[1] - 0.5, 2)
              > 0.5 / std::numbers::pi;
     }},
    {"hartmann6-plane", 6, 0, -3.32236801, measured_hartmann<6>,
     [](const std::vector<double>& x) { return hartmann<6>(x, 0); },
     [](const std::vector<double>& x) {
       return x[0] + x[1] + x[2] + x[3] + x[4] + x[5] > 3;
     }},
    {"hartmann3-edge", 3, 0, -2.77245634, measured_hartmann<3>,
     [](const std::vector<double>& x) { return hartmann<3>(x, 0); },
     [](const std::vector<double>& x) { return x[2] > 0.5; }},
    {"ones4-pair", 4, 4, 0, measured_ones<4>, exact_ones<4>,
     [](const std::vector<double>& x) { return x[4] != x[5]; }},
    // Limits that are measured. The best values keep the first by much; they
    // lie at the border of the second one, which 1 of 60 points keeps; 1 of 12
    // keeps the third.
    {"gardner-waves", 2, 0, -2,
     [](const std::vector<double>& x, step_t, std::uint64_t) {
       return gardner_waves(x);
     },
     gardner_waves, nullptr,
     [](const std::vector<double>& x) {
       return 0.5 - std::cos(6 * x[0] + 6 * x[1]);
     }},
    {"gardner-slope", 2, 0, std::asin(0.95) - 1,
     [](const std::vector<double>& x, step_t, std::uint64_t) {
       return gardner_slope(x);
     },
     gardner_slope, nullptr,
     [](const std::vector<double>& x) {
       return -0.95 - std::sin(6 * x[0]) * std::sin(6 * x[1]);
     }},
    {"hartmann6-ball", 6, 0, -3.32236801, measured_hartmann<6>,
     [](const std::vector<double>& x) { return hartmann<6>(x, 0); }, nullptr,
     [](const std::vector<double>& x) {
       return 1
              - (x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]
                 + x[4] * x[4] + x[5] * x[5]);
     }},
  };
  return result;
}

/// @returns null if there is none of that name
inline const test_function* find(const std::string& name) {
  for (const auto& x : all())
    if (x.name == name)
      return &x;
  return nullptr;
}

} // namespace test_functions

} // namespace hippo
