#include "hippo/model/averaging.hpp"

#include <variant>

namespace hippo {

averaging averaging_of(const workload_spec& spec) {
  const auto number = [&](const char* name, double fallback) {
    const auto i = spec.options.find(name);
    const auto* x =
      i == spec.options.end() ? nullptr : std::get_if<double>(&i->second);
    return static_cast<std::uint64_t>(x == nullptr ? fallback : *x);
  };
  return {number(averaged_option, 0), number(averaged_every_option, 1)};
}

} // namespace hippo
