#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hippo {

/// The cost of all trainers on machines of one kind.
struct trainers_cost {
  std::string kind;  ///< of machine, its name
  double price = 0;  ///< of a trainer and an hour
  std::uint64_t trainers = 0; ///< that there ever were
  std::size_t on_each = 1;    ///< trainers on a machine
  double work = 0;   ///< of the time for which they had work
  double idle = 0;   ///< of the rest

  [[nodiscard]] double total() const { return work + idle; }
};

/// Returns the cost of a trainer.
/// @param price of an hour
inline double cost_of(double price, double seconds) {
  constexpr double hour = 3600;
  return price * seconds / hour;
}

/// Returns the sum over all kinds.
template <class Cost>
double total_cost(const std::vector<Cost>& costs) {
  double result = 0;
  for (const auto& x : costs)
    result += x.total();
  return result;
}

} // namespace hippo
