#include "hippo/model/parts.hpp"

#include <algorithm>
#include <bit>
#include <variant>

namespace hippo {

unsigned parts_of_batch(const workload_descriptor& known,
                        const workload_spec& spec) {
  const auto i = spec.options.find(parts_option);
  const auto* number =
    i == spec.options.end() ? nullptr : std::get_if<double>(&i->second);
  if (number == nullptr || !(*number >= 1 && *number <= parts_max)
      || std::ranges::none_of(known.hyper_parameters, [](const auto& x) {
           return x.min_option == parts_option;
         }))
    return 1;
  const auto result = static_cast<unsigned>(*number);
  return std::has_single_bit(result) ? result : 1;
}

unsigned parts_of_batch(const workload_spec& spec) {
  const auto& all = built_in_workloads();
  const auto known =
    std::ranges::find(all, spec.name, &workload_descriptor::name);
  return known == all.end() ? 1 : parts_of_batch(*known, spec);
}

std::string check_members(const std::string& text) {
  for (unsigned count = 1; count <= parts_max; count *= 2)
    if (text == std::to_string(count))
      return {};
  return "must be a power of two from 1 to " + std::to_string(parts_max)
         + ", found '" + text + "'";
}

} // namespace hippo
